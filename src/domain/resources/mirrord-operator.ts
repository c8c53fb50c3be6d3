/**
 * The virtual object MirrordOperator, by which an operator describes itself. Operators serve it; clients and primaries
 * read it.
 */

import * as Schema from "effect/Schema"
import { Condition, findCondition } from "./condition.ts"
import { CopyTarget } from "./copy-target.ts"
import { ObjectMeta } from "./object-meta.ts"
import { operatorGroup } from "./operator-api.ts"
import type { ResourceDescriptor } from "./resource-descriptor.ts"
import { SessionInfo } from "./session.ts"

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** Feature flags that the real client knows (operator-api.md §3.7). It tolerates others: reading accepts any text. */
export type Feature =
  | "ProxyApi"
  | "CopyTarget"
  | "CopyTargetExcludeContainers"
  | "SessionManagement"
  | "SqsQueueSplitting"
  | "KafkaQueueSplitting"
  | "LayerReconnect"
  | "KafkaQueueSplittingDirect"
  | "SqsQueueSplittingDirect"
  | "MySqlBranching"
  | "ExtendableUserCredentials"
  | "PgBranching"
  | "CockroachdbBranching"
  | "BypassCiCertificateVerification"
  | "MongodbBranching"
  | "MultiClusterPrimary"
  | "MultiClusterRemote"
  | "SqsQueueSplittingWithJqFilter"
  | "KafkaQueueSplittingWithJqFilter"
  | "PreviewEnv"
  | "UnifiedBranchDbCrd"
  | "RmqQueueSplitting"
  | "GcpPubSubQueueSplitting"
  | "RedisPubSubQueueSplitting"
  | "TemporalQueueSplitting"
  | "ConnectParamsInHeader"
  | "BullMqQueueSplitting"
  | "GenericDbBranching"
  | "CopyTargetFilterIsolation"
  | "LabelTargeting"
  | "MariaDbBranching"
  | "DbBranchCustomImage"
  | "DbBranchProfiles"
  | "DiagnosticPing"
  | "KafkaQueueSplittingWithProtobufDecoding"
  | "PgBranchQueryParams"

/**
 * snake_case (operator-api.md §3.3). The fingerprint must be there: clients cache their certificate under it (§5.6).
 */
const License = Schema.Struct({
  name: Schema.String,
  organization: Schema.String,
  /** `YYYY-MM-DD`. */
  expire_at: Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}$/u)),
  fingerprint: optional(Schema.String),
  subscription_id: optional(Schema.String)
})
export type License = typeof License.Type

/** snake_case (operator-api.md §3.2). */
const MirrordOperatorSpec = Schema.Struct({
  operator_version: Schema.String,
  default_namespace: Schema.String,
  /** Deprecated, `ProxyApi` is the only legal element; anything else breaks every command of the client. */
  features: optional(Schema.Array(Schema.Literal("ProxyApi"))),
  supported_features: optional(Schema.Array(Schema.String)),
  license: License,
  protocol_version: optional(Schema.String),
  copy_target_enabled: optional(Schema.Boolean),
  /** Only on a management-only primary: clients put the custom resources of branches into this namespace. */
  operator_namespace: optional(Schema.String),
  /** Our own; clients pass over it: primaries may use this cluster. */
  multi_cluster_member: optional(Schema.Boolean)
})
export type MirrordOperatorSpec = typeof MirrordOperatorSpec.Type

/**
 * One member's health (operator-api.md §3.5): exactly one of `connected` and `error`. Inside `connected` the names are
 * **camelCase**; snake_case there breaks every command.
 */
export const ConnectedCluster = Schema.Union([
  Schema.Struct({
    name: Schema.String,
    lastCheck: Schema.String,
    connected: Schema.Struct({ operatorVersion: Schema.String, licenseFingerprint: optional(Schema.String) })
  }),
  Schema.Struct({ name: Schema.String, lastCheck: Schema.String, error: Schema.Struct({ message: Schema.String }) })
])
export type ConnectedCluster = typeof ConnectedCluster.Type

/** camelCase, all required but for our own fields, which clients pass over (operator-api.md §3.6). */
export const MultiClusterSessionInfo = Schema.Struct({
  id: Schema.String,
  durationSecs: Count,
  user: Schema.String,
  target: Schema.String,
  namespace: Schema.String,
  /** Those that take part. */
  clusters: Schema.Array(Schema.String),
  /** The phase, and for people the clusters that take no part, each with its reason. */
  phase: Schema.String,
  /** Our own: how each cluster stands, as in the status of the session's object. */
  clusterSessions: optional(
    Schema.Record(Schema.String, Schema.Struct({ ready: Schema.Boolean, error: optional(Schema.String) }))
  ),
  /** Our own: why the session is not ready, or why it ended; one sentence. */
  reason: optional(Schema.String)
})
export type MultiClusterSessionInfo = typeof MultiClusterSessionInfo.Type

const MirrordOperatorStatus = Schema.Struct({
  sessions: Schema.Array(SessionInfo),
  statistics: optional(Schema.Struct({ dau: Count, mau: Count, active_ci_sessions_count: optional(Count) })),
  /** Only where copies of targets are made. */
  copy_targets: optional(Schema.Array(Schema.Struct({ pod_name: Schema.String, copy_target: CopyTarget }))),
  /** This field and the next exist only on a primary. */
  connected_clusters: optional(Schema.Array(ConnectedCluster)),
  multi_cluster_sessions: optional(Schema.Array(MultiClusterSessionInfo)),
  /** Our own; clients pass over it. On a primary that follows its configuration, and while {@link collectionsRead}. */
  conditions: optional(Schema.Array(Condition))
})
export type MirrordOperatorStatus = typeof MirrordOperatorStatus.Type

/** The condition that says whether a primary runs with the configuration of its files. */
export const configurationInUse = "ConfigurationInUse"

/** The condition that says whether all clusters that a primary has found are in its fleet. */
export const foundClustersInUse = "FoundClustersInUse"

/** The condition that is there, and false, while credentials of clusters end soon and are not renewed. */
export const credentialsLast = "CredentialsLast"

/** The condition that is there, and false, while the operator cannot list and watch a collection that it keeps. */
export const collectionsRead = "CollectionsRead"

/** Which collections the operator cannot read, and why; `undefined` if it reads all. */
export const unreadCollections = (status: MirrordOperatorStatus | null | undefined): string | undefined =>
  findCondition(status?.conditions ?? undefined, collectionsRead)?.message

/** Why a primary does not use its changed configuration; `undefined` if it does. */
export const refusedConfiguration = (status: MirrordOperatorStatus | null | undefined): string | undefined => {
  const condition = findCondition(status?.conditions ?? undefined, configurationInUse)
  return condition?.status === "False" ? condition.message : undefined
}

/** Which credentials of a primary end soon; `undefined` if none do. */
export const endingCredentials = (status: MirrordOperatorStatus | null | undefined): string | undefined =>
  findCondition(status?.conditions ?? undefined, credentialsLast)?.message

export const MirrordOperator = Schema.Struct({
  metadata: Schema.Struct({ name: Schema.optionalKey(ObjectMeta.fields.name) }),
  spec: MirrordOperatorSpec,
  status: optional(MirrordOperatorStatus)
})
/** The virtual singleton `operator` (operator-api.md §3.1). Every client reads it first, and all of it strictly. */
export type MirrordOperator = typeof MirrordOperator.Type

export const mirrordOperators: ResourceDescriptor<MirrordOperator> = {
  group: operatorGroup,
  version: "v1",
  kind: "MirrordOperator",
  plural: "mirrordoperators",
  scope: "Cluster",
  schema: MirrordOperator
}
