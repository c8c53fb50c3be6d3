/**
 * The published kind MirrordClusterSession: a session in one cluster. A primary creates it for a parent, or an operator
 * for a user's own session; the operator of the cluster writes its status.
 */

import * as Schema from "effect/Schema"
import { textLimits } from "../clean-text.ts"
import { type CustomResource, column, dateColumn } from "./custom-resource.ts"
import { nullable, shortText, time } from "./field-schemas.ts"
import { keptBy } from "./kept-fields.ts"
import { ObjectMeta } from "./object-meta.ts"
import { observations } from "./observations.ts"
import type { WatchedResource } from "./resource-descriptor.ts"
import { SessionOwner, SessionTarget } from "./session-shapes.ts"

/**
 * `spec` of one session in one cluster: published fields only, optional ones nullable too (published-chart.md §1.6).
 */
export const MirrordClusterSessionSpec = Schema.Struct({
  namespace: shortText(textLimits.name, "Namespace of the target."),
  owner: SessionOwner,
  target: nullable(SessionTarget),
  key: nullable(shortText(textLimits.parameter, "Session key of the user.")),
  clientCliVersion: nullable(shortText(textLimits.name, "Version of the mirrord CLI.")),
  multiClusterParentName: nullable(
    shortText(textLimits.name, "Name of the MirrordMultiClusterSession in the primary cluster.")
  ),
  copyTarget: nullable(Schema.Struct({ scaledown: Schema.Boolean })),
  httpFilter: nullable(Schema.Struct({ headerFilter: nullable(shortText(textLimits.parameter)) })),
  jiraMetrics: nullable(Schema.Struct({ branchName: shortText(textLimits.parameter) })),
  ciInfo: nullable(
    Schema.Struct({
      provider: nullable(shortText(textLimits.parameter)),
      environment: nullable(shortText(textLimits.parameter)),
      pipeline: nullable(shortText(textLimits.parameter)),
      triggeredBy: nullable(shortText(textLimits.parameter))
    })
  )
}).annotate({ description: "What the session is for." })
export type MirrordClusterSessionSpec = typeof MirrordClusterSessionSpec.Type

/**
 * `status` of one session in one cluster. `conditions` and `observedGeneration` are our additions: the published kind
 * has no readiness field, and a primary needs one.
 */
const MirrordClusterSessionStatus = Schema.Struct({
  connectedTimestamp: nullable(time("When a client's connection was last seen.")),
  closed: nullable(
    Schema.Struct({
      reason: shortText(textLimits.name, "One CamelCase word."),
      message: nullable(shortText(textLimits.message, "A sentence for a person."))
    }).annotate({ description: "Why the session ended." })
  ),
  copyTarget: nullable(
    Schema.Struct({
      name: shortText(textLimits.name),
      copiedPodStatus: nullable(
        Schema.Struct({
          name: shortText(textLimits.name),
          namespace: shortText(textLimits.name),
          targetContainer: shortText(textLimits.name)
        })
      )
    })
  ),
  ...observations
}).annotate({ description: "What the operator of this cluster observed." })
export type MirrordClusterSessionStatus = typeof MirrordClusterSessionStatus.Type

export const MirrordClusterSession = Schema.Struct({
  metadata: ObjectMeta,
  spec: MirrordClusterSessionSpec,
  status: nullable(MirrordClusterSessionStatus)
})
/** One session in one cluster: a developer's own, or the child of a multi-cluster session. */
export type MirrordClusterSession = typeof MirrordClusterSession.Type

export const mirrordClusterSessions: CustomResource<MirrordClusterSession> & WatchedResource<MirrordClusterSession> = {
  group: "mirrord.metalbear.co",
  version: "v1alpha",
  kind: "MirrordClusterSession",
  plural: "mirrordclustersessions",
  scope: "Cluster",
  schema: MirrordClusterSession,
  keeps: keptBy(MirrordClusterSession),
  description: "One mirrord session in this cluster.",
  installedWith: [],
  columns: [
    column("USER ID", ".spec.owner.userId"),
    column("USERNAME", ".spec.owner.username"),
    column("HOSTNAME", ".spec.owner.hostname"),
    column("K8S USER", ".spec.owner.k8sUsername"),
    column("NAMESPACE", ".spec.namespace"),
    column("TARGET", ".spec.target"),
    dateColumn("STARTED AT", ".metadata.creationTimestamp"),
    dateColumn("CLOSED AT", ".metadata.deletionTimestamp"),
    column("CLOSE REASON", ".status.closed.reason")
  ]
}

/** Type of the condition by which an operator says that the agents of a session are usable. */
export const readyCondition = "Ready"
