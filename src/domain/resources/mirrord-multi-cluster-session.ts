/**
 * The published kind MirrordMultiClusterSession: the parent of a session over many clusters. Primaries create it and
 * write its status.
 */

import * as Schema from "effect/Schema"
import { textLimits } from "../clean-text.ts"
import { multiCluster } from "./chart-switches.ts"
import { Condition } from "./condition.ts"
import { type CustomResource, ageColumn, column } from "./custom-resource.ts"
import { int64, shortText, time } from "./field-schemas.ts"
import { keptBy } from "./kept-fields.ts"
import { ObjectMeta } from "./object-meta.ts"
import { operatorGroup } from "./operator-api.ts"
import type { WatchedResource } from "./resource-descriptor.ts"
import { KubeResourceTarget, SessionOwner } from "./session-shapes.ts"

export const sessionPhases = ["Initializing", "Pending", "Ready", "Failed", "Terminating"] as const
export const SessionPhase = Schema.Literals(sessionPhases).annotate({
  description: "Where the session is in its life."
})
export type SessionPhase = typeof SessionPhase.Type

/**
 * `spec` of a multi-cluster session. Published fields and requirements (published-chart.md §1.5) with these optional
 * additions: `target` may be missing (a targetless session), and `key`, `clientCliVersion`, `httpFilter`, `ciInfo`,
 * `copyTarget` are what a child's published spec holds beyond the parent's.
 */
export const MirrordMultiClusterSessionSpec = Schema.Struct({
  owner: SessionOwner,
  namespace: shortText(textLimits.name, "Namespace of the target, the same in every cluster."),
  target: Schema.optionalKey(KubeResourceTarget),
  targetAlias: shortText(
    textLimits.targetName,
    "The target as the client's connect request names it, for example `deployment.my-app`."
  ),
  clusters: Schema.Array(shortText(textLimits.name)).annotate({ description: "Names of the workload clusters." }),
  primaryCluster: shortText(textLimits.name, "Name of the cluster that holds this object."),
  defaultCluster: Schema.optionalKey(
    shortText(textLimits.name, "Cluster that serves environment, files, DNS and outgoing connections.")
  ),
  key: Schema.optionalKey(shortText(textLimits.parameter, "Session key of the user.")),
  clientCliVersion: Schema.optionalKey(shortText(textLimits.name, "Version of the mirrord CLI.")),
  httpFilter: Schema.optionalKey(Schema.Struct({ headerFilter: Schema.optionalKey(shortText(textLimits.parameter)) })),
  ciInfo: Schema.optionalKey(
    Schema.Struct({
      provider: Schema.optionalKey(shortText(textLimits.parameter)),
      environment: Schema.optionalKey(shortText(textLimits.parameter)),
      pipeline: Schema.optionalKey(shortText(textLimits.parameter)),
      triggeredBy: Schema.optionalKey(shortText(textLimits.parameter))
    })
  ),
  copyTarget: Schema.optionalKey(Schema.Struct({ scaledown: Schema.Boolean })).annotate({
    description: "Set if the target is the pod of a copy, which has the same name in every cluster."
  })
}).annotate({ description: "What the session is for." })
export type MirrordMultiClusterSessionSpec = typeof MirrordMultiClusterSessionSpec.Type

/** One entry of `status.clusterSessions` (published-chart.md §1.5). */
export const ClusterSessionStatus = Schema.Struct({
  sessionName: shortText(textLimits.name, "Name of the MirrordClusterSession in that cluster."),
  ready: Schema.Boolean.annotate({ description: "Whether that cluster's agents are usable." }),
  agentEndpoint: Schema.optionalKey(shortText(textLimits.name)),
  error: Schema.optionalKey(shortText(textLimits.message, "Why the cluster is left out of the session.")),
  lastHeartbeat: Schema.optionalKey(time("When the cluster's session was last seen.")),
  scaledownOnly: Schema.optionalKey(Schema.Boolean)
})
export type ClusterSessionStatus = typeof ClusterSessionStatus.Type

/**
 * `status` of a multi-cluster session (published-chart.md §1.5); `conditions`, `observedGeneration` and `readyClusters`
 * are our additions. Nothing in it may be null.
 */
const MirrordMultiClusterSessionStatus = Schema.Struct({
  phase: Schema.optionalKey(SessionPhase),
  clusterSessions: Schema.optionalKey(Schema.Record(Schema.String, ClusterSessionStatus)),
  readyClusters: Schema.optionalKey(
    shortText(textLimits.name, "How many of the session's clusters are ready, as kubectl shows it: 1/2.")
  ),
  connectedTimestamp: Schema.optionalKey(time("Heartbeat: when a client's connection was last seen.")),
  closed: Schema.optionalKey(shortText(textLimits.message, "Why the session ended.")),
  conditions: Schema.optionalKey(Schema.Array(Condition)),
  observedGeneration: Schema.optionalKey(int64("The `metadata.generation` that this status was written for."))
}).annotate({ description: "What the operator of the primary cluster observed." })
export type MirrordMultiClusterSessionStatus = typeof MirrordMultiClusterSessionStatus.Type

export const MirrordMultiClusterSession = Schema.Struct({
  metadata: ObjectMeta,
  spec: MirrordMultiClusterSessionSpec,
  status: Schema.optionalKey(MirrordMultiClusterSessionStatus)
})
/** The parent of one session over many clusters. Lives in the primary cluster. */
export type MirrordMultiClusterSession = typeof MirrordMultiClusterSession.Type

export const mirrordMultiClusterSessions: CustomResource<MirrordMultiClusterSession> &
  WatchedResource<MirrordMultiClusterSession> = {
  group: operatorGroup,
  version: "v1alpha",
  kind: "MirrordMultiClusterSession",
  plural: "mirrordmulticlustersessions",
  scope: "Cluster",
  schema: MirrordMultiClusterSession,
  keeps: keptBy(MirrordMultiClusterSession),
  description: "One mirrord session over many clusters, seen from the primary cluster.",
  installedWith: [multiCluster],
  shortNames: ["mmcs"],
  columns: [
    column("Target Alias", ".spec.targetAlias"),
    column("Phase", ".status.phase"),
    column("Primary Cluster", ".spec.primaryCluster"),
    ageColumn,
    column("Clusters", ".status.readyClusters")
  ]
}
