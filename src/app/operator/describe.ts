/**
 * The objects by which the operator describes itself, its sessions and their targets. Their status comes from the
 * capabilities; this file has only the part that is the same for every operator.
 */

import type { ActiveUsers } from "../../domain/commands/overview/active-users.ts"
import type { Role } from "../../domain/fleet/roles.ts"
import { protocolVersion } from "../../domain/protocol/version.ts"
import { type Feature, type MirrordOperator, mirrordOperators } from "../../domain/resources/mirrord-operator.ts"
import { apiVersionOf } from "../../domain/resources/resource-descriptor.ts"
import { type SessionInfo, sessions } from "../../domain/resources/session.ts"
import { targetObject } from "../../domain/targets/target-object.ts"
import { formatTargetName, formatTargetPath } from "../../domain/targets/target-path.ts"
import type { Target } from "../../domain/targets/target.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import type { FurtherStatus } from "../services/capability.ts"

/** The client's release that this operator is compatible with, with the operator's own version as build metadata. */
export const operatorVersion = (own: string): string => `3.250.0+braid.${own}`

/** Features of every operator; capabilities add theirs. */
const ownFeatures: ReadonlyArray<Feature> = [
  "ProxyApi",
  "LayerReconnect",
  "ExtendableUserCredentials",
  "ConnectParamsInHeader",
  "SessionManagement",
  "DiagnosticPing",
  // Without it the client leaves branches of Redis, SQL Server and others out, and uses the real database.
  "UnifiedBranchDbCrd"
]

export const sessionObject = (info: SessionInfo): object => ({
  apiVersion: apiVersionOf(sessions),
  kind: sessions.kind,
  metadata: { name: (info.id ?? "").toLowerCase(), namespace: info.namespace },
  spec: { session: info }
})

/** A target with its locked ports (operator-api.md §6.4). */
export const lockedTarget = (namespace: string, target: Target, ports: ReadonlyArray<number>): object => {
  // The same for each container, as they share the ports.
  const shared = target._tag === "Targetless" ? target : { ...target, container: undefined }
  const targetHash = sha256Hex(`target ${namespace}/${formatTargetPath(shared)}`)
  const locks = ports.map((port) => ({ target_hash: targetHash, port }))
  return targetObject(namespace, formatTargetName(target), target, { port_locks: locks })
}

export interface Description {
  /** The operator's version as clients see it. */
  readonly operatorVersion: string
  readonly role: Role
  /** Whether primaries may use this cluster. */
  readonly isMember: boolean
  readonly namespace: string
  readonly fingerprint: string
  /** Constant per installation, so that users keep their key when the authority changes (operator-api.md §5.7). */
  readonly installation: string
  readonly features: ReadonlyArray<Feature>
  /** Every session of a user, once. `mirrord ui` and browser extensions see these alone. */
  readonly sessions: ReadonlyArray<SessionInfo>
  readonly statistics: ActiveUsers & { readonly active_ci_sessions_count: number }
  /** The rest of the status, from the capabilities. */
  readonly status: FurtherStatus
}

/** The `MirrordOperator` object. One wrong field in it breaks every command of every user (operator-api.md §3.1). */
export const describeOperator = ({
  features,
  fingerprint,
  installation,
  isMember,
  namespace,
  operatorVersion: version,
  role,
  sessions: listed,
  statistics,
  status
}: Description): MirrordOperator & { readonly apiVersion: string; readonly kind: string } => ({
  apiVersion: apiVersionOf(mirrordOperators),
  kind: mirrordOperators.kind,
  metadata: { name: "operator" },
  spec: {
    operator_version: version,
    default_namespace: "default",
    supported_features: [...ownFeatures, ...features],
    protocol_version: protocolVersion,
    copy_target_enabled: features.includes("CopyTarget"),
    license: {
      // No licence is needed or checked; the client wants the block all the same (operator-api.md §3.3).
      name: "braid",
      organization: "braid",
      expire_at: "9999-12-31",
      fingerprint,
      subscription_id: installation
    },
    ...(role._tag === "Primary" && role.managementOnly ? { operator_namespace: namespace } : {}),
    ...(isMember ? { multi_cluster_member: true } : {})
  },
  status: { ...status, sessions: listed, statistics }
})
