/** The virtual object Session, which operators serve for `mirrord session list`. */

import * as Schema from "effect/Schema"
import { ObjectMeta } from "./object-meta.ts"
import { operatorGroup } from "./operator-api.ts"
import type { ResourceDescriptor } from "./resource-descriptor.ts"

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/**
 * One session as users see it (operator-api.md §4.1). Field names are snake_case on the wire, but not inside
 * `http_filter`.
 */
export const SessionInfo = Schema.Struct({
  /** Upper-case hex without padding, so that the client joins local and remote rows (operator-api.md §8.2). */
  id: optional(Schema.String),
  duration_secs: Schema.Int,
  user: Schema.String,
  /** Path form, such as `deployment/web`. */
  target: Schema.String,
  namespace: optional(Schema.String),
  locked_ports: optional(
    Schema.Array(Schema.Struct({ port: Schema.Int, kind: Schema.String, filter: optional(Schema.String) }))
  ),
  user_id: optional(Schema.String),
  key: optional(Schema.String),
  http_filter: optional(Schema.Struct({ headerFilter: optional(Schema.String) })),
  /** Its parts in splits of queues of SQS, as whole objects (operator-api.md §4.1). */
  sqs: optional(Schema.Array(Schema.Unknown))
})
export type SessionInfo = typeof SessionInfo.Type

export const Session = Schema.Struct({ metadata: ObjectMeta, spec: Schema.Struct({ session: SessionInfo }) })
/** The virtual object behind `mirrord session list` (operator-api.md §4.2). */
export type Session = typeof Session.Type

export const sessions: ResourceDescriptor<Session> = {
  group: operatorGroup,
  version: "v1",
  kind: "Session",
  plural: "sessions",
  scope: "Namespaced",
  schema: Session
}
