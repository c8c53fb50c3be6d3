/**
 * A cluster that `braid doctor` examines, and how it is reached: the same for the operator's own cluster
 * (examined-self.ts) and for members (examined-member.ts).
 *
 * Not here: the examination itself (observe-cluster.ts).
 */

import type { KubeConfig } from "@kubernetes/client-node"
import type { CredentialFacts } from "../../../domain/commands/doctor/cluster-facts.ts"
import type { InstalledParts } from "../../../domain/commands/doctor/needed-rights.ts"
import type { Role } from "../../../domain/fleet/roles.ts"

export interface ExaminedCluster {
  readonly name: string
  readonly part: "own" | "member"
  readonly isDefault: boolean
  readonly role: Role
  /** Namespace of the operator in that cluster. */
  readonly namespace: string
  /** Namespace of the agents. Rights in it are asked for only in the operator's own cluster. */
  readonly agentNamespace: string
  /** The parts of the primary's installation, which decide about the rights that are asked for. */
  readonly kept: InstalledParts
  /** Mistakes in the configuration of this cluster, as whole sentences. */
  readonly problems: ReadonlyArray<string>
  readonly credentials: CredentialFacts
  /** Address, CA and credentials. Without usable credentials it holds none, and only the connection is examined. */
  readonly config: KubeConfig
  /** The service account whose rights are asked for; undefined: the rights of the credentials. */
  readonly account: { readonly namespace: string; readonly name: string } | undefined
}
