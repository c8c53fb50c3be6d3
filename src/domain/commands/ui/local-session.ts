/**
 * A session of this machine as its own program describes it at its socket (mirrord 3.250.0, `GET /info`): by its id the
 * page of `braid ui` says which local process belongs to a session of the fleet.
 *
 * Not here: the sockets (app/commands/ui/read-local-sessions.ts). The configuration that stands beside these fields is
 * never read, since values of variables are in it.
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const LocalSession = Schema.Struct({
  session_id: Schema.String,
  mirrord_version: Schema.String,
  processes: optional(Schema.Array(Schema.Struct({ pid: Schema.Int, process_name: Schema.String }))),
  port_subscriptions: optional(Schema.Array(Schema.Struct({ port: Schema.Int, mode: Schema.String })))
})
export type LocalSession = typeof LocalSession.Type

/** Reads the answer of a socket; `undefined` if it describes no session. */
export const readLocalSession = (answer: unknown): LocalSession | undefined =>
  Result.getOrUndefined(Schema.decodeUnknownResult(LocalSession)(answer))

/** The local side of a session, in lines. */
export const localLines = ({
  mirrord_version: version,
  port_subscriptions: ports,
  processes
}: LocalSession): ReadonlyArray<string> => [
  ...(processes ?? []).map(({ pid, process_name: name }) => `process ${pid}, ${name}`),
  ...(ports ?? []).map(({ mode, port }) => `port ${port} (${mode})`),
  `mirrord ${version}`
]
