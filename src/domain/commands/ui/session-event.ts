/**
 * The deeds of the processes of a mirrord session, as its program tells them at its socket (mirrord 3.250.0, `GET
 * /events`): each says what a process asked for, not what was answered. Producers and readers share this form.
 *
 * Not here: the session itself (local-session.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { cleanText, textLimits } from "../../clean-text.ts"

const Port = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 65_535 }))
const Pid = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** A process of the session on this machine. */
export const SessionProcess = Schema.Struct({
  pid: Pid,
  parent_pid: Schema.optionalKey(Schema.NullOr(Pid)),
  process_name: Schema.String,
  cmdline: Schema.optionalKey(Schema.Array(Schema.String))
})

/** A process without its arguments: a password may be among them. */
export const withoutArguments = <P extends typeof SessionProcess.Type>({ cmdline: _arguments, ...process }: P) =>
  process

/** A port at which a local process listens, and what its traffic is: `steal` or `mirror`. */
export const SessionPort = Schema.Struct({ port: Port, mode: Schema.String })

const kind = <Name extends string, Fields extends Schema.Struct.Fields>(name: Name, fields: Fields) =>
  Schema.Struct({ type: Schema.Literal(name), ...fields })

export const SessionEvent = Schema.Union([
  /** Path: of an operation that names a file; null for one on an open file. */
  kind("file_op", { path: Schema.NullOr(Schema.String), operation: Schema.String }),
  kind("dns_query", { host: Schema.String }),
  /** Path without its query; host as in the header, or empty. */
  kind("incoming_request", { method: Schema.String, path: Schema.String, host: Schema.String }),
  /** Address with its port; port 0 where it has none. */
  kind("outgoing_connection", { address: Schema.String, port: Port }),
  kind("port_subscription", SessionPort.fields),
  /** Names or patterns of the variables that were asked for. */
  kind("env_var", { vars: Schema.Array(Schema.String) }),
  kind("layer_connected", SessionProcess.fields),
  kind("layer_disconnected", { pid: Pid })
])
export type SessionEvent = typeof SessionEvent.Type

/**
 * Reads an event; `undefined` for an unknown kind. Fields beside the known ones are dropped, and the arguments of
 * processes.
 */
export const readSessionEvent = (event: unknown): SessionEvent | undefined => {
  const read = Result.getOrUndefined(Schema.decodeUnknownResult(SessionEvent)(event))
  return read?.type === "layer_connected" ? withoutArguments(read) : read
}

const sentence = (event: SessionEvent): string => {
  switch (event.type) {
    case "file_op":
      return `${event.operation} ${event.path ?? "an open file"}`
    case "dns_query":
      return `looks up ${event.host}`
    case "incoming_request":
      return `gets ${event.method} ${event.host}${event.path}`
    case "outgoing_connection":
      return `connects to ${event.address}`
    case "port_subscription":
      return `subscribes to port ${event.port} (${event.mode})`
    case "env_var":
      return `asks for variables ${event.vars.join(", ")}`
    case "layer_connected":
      return `process ${event.pid}, ${event.process_name}, begins`
    case "layer_disconnected":
      return `process ${event.pid} ends`
  }
}

/** An event for a person, in one line. */
export const sessionEventText = (event: SessionEvent): string => cleanText(sentence(event), textLimits.message)
