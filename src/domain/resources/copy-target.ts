/**
 * The virtual object CopyTarget, which a client makes to get a copy of a target's pod, and polls until it is ready
 * (operator-api.md §9). The operator keeps it in the annotations of the copied pod.
 */

import * as Schema from "effect/Schema"
import { operatorGroup } from "./operator-api.ts"
import { SessionInfo } from "./session.ts"

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
const Names = optional(Schema.Array(Schema.String))

const CopySplit = Schema.Struct({
  queue_type: Schema.String,
  queue_mode: optional(Schema.String),
  message_filter: optional(Schema.Record(Schema.String, Schema.String)),
  jq_filter: optional(Schema.String)
})
/** A queue that a copy is to have split; its id, where it comes in a list. */
export type CopySplit = typeof CopySplit.Type & { readonly queue_id?: string }

/** `spec`, snake_case (operator-api.md §9.2). The client compares all of it, so it is given back as it came. */
export const CopyTargetSpec = Schema.Struct({
  /** Read by domain/targets/target-json.ts. */
  target: Schema.Unknown,
  /** Seconds that the copy lives without a session. */
  idle_ttl: optional(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  scale_down: optional(Schema.Boolean),
  /** By the ids of queues, or as a list where ids repeat (operator-api.md §9.2). */
  split_queues: optional(
    Schema.Union([
      Schema.Array(Schema.Struct({ ...CopySplit.fields, queue_id: Schema.String })),
      Schema.Record(Schema.String, CopySplit)
    ])
  ),
  exclude_containers: Names,
  exclude_init_containers: Names,
  auto_queue_splitting: optional(Schema.Boolean),
  session_key: optional(Schema.String)
})
export type CopyTargetSpec = typeof CopyTargetSpec.Type

/** How far a copy is; the client waits while it is `InProgress` and gives up when it is `Failed`. */
export const CopyTargetPhase = Schema.Literals(["InProgress", "Ready", "Failed"])
export type CopyTargetPhase = typeof CopyTargetPhase.Type

/** A copy target as clients read it. */
export const CopyTarget = Schema.Struct({
  apiVersion: Schema.String,
  kind: Schema.Literal("CopyTarget"),
  metadata: Schema.Struct({
    name: Schema.String,
    namespace: Schema.String,
    uid: Schema.optionalKey(Schema.String),
    /** Only on a copy that a primary has ordered (domain/copies/copy-order.ts). */
    annotations: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
    creationTimestamp: optional(Schema.String)
  }),
  spec: Schema.Record(Schema.String, Schema.Unknown),
  status: Schema.Struct({
    /** The session that the copy was made for. Without an id the client makes one at random. */
    creator_session: SessionInfo,
    phase: CopyTargetPhase,
    failure_message: Schema.optionalKey(Schema.String)
  })
})
export type CopyTarget = typeof CopyTarget.Type

/** Where copy targets are asked for, as a primary does in its clusters. */
export const copyTargets = {
  group: operatorGroup,
  version: "v1",
  plural: "copytargets",
  scope: "Namespaced",
  kind: "CopyTarget"
} as const
