import * as Schema from "effect/Schema"
import { Condition } from "./condition.ts"
import { ObjectMeta } from "./object-meta.ts"
import type { ResourceDescriptor } from "./resource-descriptor.ts"
import { KubeResourceTarget, SessionOwner } from "./session-shapes.ts"

const text = (description: string) => Schema.String.annotate({ description })
const time = (description: string) => Schema.String.annotate({ format: "date-time", description })
/** Optional and nullable: every optional field of the published CRD of this kind is both (helm-chart.md §6.3). */
const nullable = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** `spec` of one session in one cluster: published fields only (helm-chart.md §6.3). */
export const MirrordClusterSessionSpec = Schema.Struct({
  namespace: text("Namespace of the target."),
  owner: SessionOwner,
  target: nullable(KubeResourceTarget),
  key: nullable(text("Session key of the user.")),
  clientCliVersion: nullable(text("Version of the mirrord CLI.")),
  multiClusterParentName: nullable(text("Name of the MirrordMultiClusterSession in the primary cluster.")),
  copyTarget: nullable(Schema.Struct({ scaledown: Schema.Boolean })),
  httpFilter: nullable(Schema.Struct({ headerFilter: nullable(Schema.String) })),
  jiraMetrics: nullable(Schema.Struct({ branchName: Schema.String })),
  ciInfo: nullable(
    Schema.Struct({
      provider: nullable(Schema.String),
      environment: nullable(Schema.String),
      pipeline: nullable(Schema.String),
      triggeredBy: nullable(Schema.String)
    })
  )
}).annotate({ description: "What the session is for." })
export type MirrordClusterSessionSpec = typeof MirrordClusterSessionSpec.Type

/**
 * `status` of one session in one cluster. `conditions` is our addition: the published kind has no readiness field, and
 * a primary needs one (design.md §5).
 */
export const MirrordClusterSessionStatus = Schema.Struct({
  connectedTimestamp: nullable(time("When a client's connection was last seen.")),
  closed: nullable(
    Schema.Struct({
      reason: text("One CamelCase word."),
      message: nullable(text("A sentence for a person."))
    }).annotate({ description: "Why the session ended." })
  ),
  copyTarget: nullable(
    Schema.Struct({
      name: Schema.String,
      copiedPodStatus: nullable(
        Schema.Struct({ name: Schema.String, namespace: Schema.String, targetContainer: Schema.String })
      )
    })
  ),
  conditions: nullable(Schema.Array(Condition))
}).annotate({ description: "What the operator of this cluster observed." })
export type MirrordClusterSessionStatus = typeof MirrordClusterSessionStatus.Type

export const MirrordClusterSession = Schema.Struct({
  metadata: ObjectMeta,
  spec: MirrordClusterSessionSpec,
  status: nullable(MirrordClusterSessionStatus)
})
/** One session in one cluster: a developer's own, or the child of a multi-cluster session. */
export type MirrordClusterSession = typeof MirrordClusterSession.Type

export const mirrordClusterSessions: ResourceDescriptor<MirrordClusterSession> = {
  group: "mirrord.metalbear.co",
  version: "v1alpha",
  kind: "MirrordClusterSession",
  plural: "mirrordclustersessions",
  scope: "Cluster",
  schema: MirrordClusterSession
}

/** Type of the condition by which a member says that the agents' sockets of a session are usable. */
export const readyCondition = "Ready"
