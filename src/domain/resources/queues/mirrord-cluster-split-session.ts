/**
 * The published kind MirrordClusterSplitSession: a session's part in queues of any broker. Here it only makes the
 * definition in `crds/`.
 */

import * as Schema from "effect/Schema"
import { anySplitting } from "../chart-switches.ts"
import { ageColumn, column, type CustomResource } from "../custom-resource.ts"
import { eachNamed, exactlyOne, literals, nullable, text, textMap, uint16 } from "../field-schemas.ts"
import { ObjectMeta } from "../object-meta.ts"
import { SessionOwner, objectReference } from "../session-shapes.ts"
import { QueueKind } from "./queue-shapes.ts"

/** Published fields (published-chart.md §1.13). */
const MirrordClusterSplitSessionSpec = Schema.Struct({
  namespace: text("Namespace of the target."),
  owner: SessionOwner,
  target: Schema.Struct({
    ...objectReference,
    container: nullable(text("Name of the container."))
  }).annotate({ description: "The workload that reads the queues." }),
  queues: Schema.Array(
    Schema.Struct({
      id: text("The id in the split configuration."),
      kind: QueueKind,
      headersFilter: nullable(textMap("Header → regular expression.")),
      jqFilter: nullable(text("A jq program that says whether a message is wanted.")),
      mode: Schema.optionalKey(literals(["steal", "mirror"], "Who gets the messages."))
    })
  ).annotate({ description: "Messages that the session wants." }),
  sessionKey: nullable(text("Session key of the user."))
}).annotate({ description: "What the session wants from queues." })

const Resources = Schema.Struct({
  envUpdates: Schema.optionalKey(
    Schema.Record(
      Schema.String,
      Schema.Array(Schema.Struct({ name: text("Name of the variable."), value: text("Its new value.") }))
    ).annotate({ description: "By container." })
  ),
  tmpResources: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        queueId: text("The id in the split configuration."),
        ...eachNamed(["queue", "topic", "subscription", "channel", "taskQueue"], () =>
          Schema.optionalKey(textMap("Original name → name for the session."))
        )
      })
    ).annotate({ description: "What was made for the session." })
  )
})
const SplitError = Schema.Struct({
  code: uint16("As of an HTTP answer."),
  reason: text("One word for a program."),
  message: text("A sentence for a person.")
})

/** Exactly one phase; nothing may be added, as with {@link import("./queue-sessions.ts").mirrordSqsSessions}. */
const MirrordClusterSplitSessionStatus = Schema.Struct({
  starting: Schema.optionalKey(Schema.Struct({ start_time_utc: text("When it began.") })),
  resourcesReady: Schema.optionalKey(Resources),
  ready: Schema.optionalKey(Resources),
  startError: Schema.optionalKey(SplitError),
  cleanupError: Schema.optionalKey(Schema.Struct({ error: SplitError, details: nullable(Resources) }))
}).annotate({
  description: "The phase of the split.",
  ...exactlyOne("starting", "resourcesReady", "ready", "startError", "cleanupError")
})

export const MirrordClusterSplitSession = Schema.Struct({
  metadata: ObjectMeta,
  spec: MirrordClusterSplitSessionSpec,
  status: nullable(MirrordClusterSplitSessionStatus)
})
/** One session's part in a workload's queues, of any broker. */
export type MirrordClusterSplitSession = typeof MirrordClusterSplitSession.Type

export const mirrordClusterSplitSessions: CustomResource<MirrordClusterSplitSession> = {
  group: "queues.mirrord.metalbear.co",
  version: "v1",
  kind: "MirrordClusterSplitSession",
  plural: "mirrordclustersplitsessions",
  scope: "Cluster",
  schema: MirrordClusterSplitSession,
  description: "One session's part in a workload's queues.",
  installedWith: anySplitting,
  columns: [
    column("NAMESPACE", ".spec.namespace"),
    column("TARGET", ".spec.target.name"),
    column("K8S USER", ".spec.owner.k8sUsername"),
    column("ERROR", ".status.startError.message"),
    ageColumn
  ]
}
