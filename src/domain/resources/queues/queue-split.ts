/**
 * The virtual object QueueSplit: one session's part in the queues of a workload, as users see it. It is served and
 * nowhere stored.
 *
 * Not here: its content (queues/queue-split-object.ts).
 */

import * as Schema from "effect/Schema"
import { ObjectMeta } from "../object-meta.ts"
import { operatorGroup } from "../operator-api.ts"
import type { ResourceDescriptor } from "../resource-descriptor.ts"
import { KubeResourceTarget, SessionOwner } from "../session-shapes.ts"

/** `Ready`: every pod of the target has the names of the temporary queues and is ready. */
const queueSplitPhases = ["Pending", "Ready", "Failed"] as const

/** How a session's part stands. A client that misses a field in one object of a list shows nothing of the list. */
export const QueueSplitStatus = Schema.Struct({
  phase: Schema.Literals(queueSplitPhases),
  /** The thing that it waits for, or why it failed. */
  message: Schema.optionalKey(Schema.String),
  /** The workload's queues, by the ids that they have in the configuration; empty until they are known. */
  queues: Schema.Array(Schema.Struct({ id: Schema.String, type: Schema.String, queue: Schema.String })),
  targetPods: Schema.Array(Schema.Struct({ name: Schema.String, patched: Schema.Boolean, ready: Schema.Boolean }))
})
export type QueueSplitStatus = typeof QueueSplitStatus.Type

const QueueSplit = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.Struct({
    /** The session's id: 16 upper-case hex digits. */
    session: Schema.String,
    target: KubeResourceTarget,
    owner: SessionOwner,
    filters: Schema.Array(
      Schema.Struct({
        id: Schema.String,
        queueType: Schema.String,
        messageFilter: Schema.Record(Schema.String, Schema.String),
        jqFilter: Schema.optionalKey(Schema.String)
      })
    ),
    /** The cluster of the workload, where a primary shows the part of another cluster; our addition. */
    cluster: Schema.optionalKey(Schema.String)
  }),
  status: QueueSplitStatus
})
export type QueueSplit = typeof QueueSplit.Type

export const queueSplits: ResourceDescriptor<QueueSplit> = {
  group: operatorGroup,
  version: "v1",
  kind: "QueueSplit",
  plural: "queuesplits",
  scope: "Namespaced",
  schema: QueueSplit
}
