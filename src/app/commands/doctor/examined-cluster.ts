import type { KubeConfig } from "@kubernetes/client-node"
import type { CredentialFacts } from "../../../domain/doctor/cluster-facts.ts"
import type { Role } from "../../../domain/fleet/roles.ts"

/** A cluster that is to be looked at, and how. */
export interface ExaminedCluster {
  readonly name: string
  readonly part: "own" | "member"
  readonly isDefault: boolean
  readonly role: Role
  /** Namespace of the operator in that cluster. */
  readonly namespace: string
  /** Where its agents run. Asked for in the operator's own cluster only. */
  readonly agentNamespace: string
  readonly problems: ReadonlyArray<string>
  readonly credentials: CredentialFacts
  /** Address, CA and credentials. Without usable credentials it holds none, and only the connection is looked at. */
  readonly config: KubeConfig
  /** Whose rights are asked for; missing: those of the credentials. */
  readonly account: { readonly namespace: string; readonly name: string } | undefined
}
