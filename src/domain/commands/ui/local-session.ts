/**
 * A session of this machine as its own program describes it at its socket (mirrord 3.250.0, `GET /info`): by its id the
 * page of `braid ui` says which local process belongs to a session of the fleet.
 *
 * Not here: the sockets (app/commands/ui/read-local-sessions.ts). The configuration that stands beside these fields is
 * never read, since values of variables are in it.
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { cleanText, textLimits } from "../../clean-text.ts"
import { asNumber, asString, asStrings, type JsonObject } from "../../json.ts"

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

/** Something that a local process of a session did. */
export interface LocalEvent {
  /** Epoch ms. */
  readonly at: number
  readonly text: string
  /** How often it happened without anything between. */
  readonly count: number
}

const pathText = (path: unknown): string => asString(path) ?? "an open file"

/** By type: the text of an event. Arguments of processes are left out, since a password may be among them. */
const eventTexts: Readonly<Record<string, (event: JsonObject) => string>> = {
  file_op: ({ operation, path }) => `${asString(operation) ?? "uses"} ${pathText(path)}`,
  dns_query: ({ host }) => `looks up ${asString(host) ?? ""}`,
  incoming_request: ({ host, method, path }) =>
    `gets ${asString(method) ?? ""} ${asString(host) ?? ""}${asString(path) ?? ""}`,
  outgoing_connection: ({ address }) => `connects to ${asString(address) ?? ""}`,
  port_subscription: ({ mode, port }) => `subscribes to port ${asNumber(port) ?? ""} (${asString(mode) ?? ""})`,
  env_var: ({ vars }) => `asks for variables ${asStrings(vars).join(", ")}`,
  layer_connected: ({ pid, process_name: name }) => `process ${asNumber(pid) ?? ""}, ${asString(name) ?? ""}, begins`,
  layer_disconnected: ({ pid }) => `process ${asNumber(pid) ?? ""} ends`
}

/** The text of an event as the socket sends it; `undefined` for an unknown kind. */
export const localEventText = (event: JsonObject): string | undefined => {
  const text = new Map(Object.entries(eventTexts)).get(asString(event["type"]) ?? "")?.(event)
  return text === undefined ? undefined : cleanText(text, textLimits.message)
}

/** Most events of a session that are remembered. */
const maxEvents = 200

/** The events so far, newest first, with one more. The same again only counts. */
export const withLocalEvent = (
  events: ReadonlyArray<LocalEvent>,
  text: string,
  at: number
): ReadonlyArray<LocalEvent> => {
  const [last, ...others] = events
  return last?.text === text
    ? [{ at, text, count: last.count + 1 }, ...others]
    : [{ at, text, count: 1 }, ...events].slice(0, maxEvents)
}
