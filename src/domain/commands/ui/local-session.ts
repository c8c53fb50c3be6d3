/**
 * A session of this machine as its own program describes it at its socket (mirrord 3.250.0, `GET /info`): by its id the
 * page of `braid ui` says which local process belongs to a session of the fleet. Producers and readers share this
 * form.
 *
 * Not here: the sockets (app/commands/ui/local-sessions.ts), and what the processes do (session-event.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { asArray, at, isObject } from "../../json.ts"
import { type SessionEvent, SessionPort, SessionProcess, withoutArguments } from "./session-event.ts"

const optional = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

/** mirrord's programs read exactly this; without a field that is not optional, they take the session for dead. */
export const LocalSession = Schema.Struct({
  /** The operator's id of it in upper-case hex, or else a UUID. */
  session_id: Schema.String,
  key: optional(Schema.String),
  /** Such as `deployment/web`, or `targetless`. */
  target: Schema.String,
  namespace: optional(Schema.String),
  /** Context of the kubeconfig. */
  context: optional(Schema.String),
  /** RFC 3339. */
  started_at: Schema.String,
  mirrord_version: Schema.String,
  is_operator: Schema.Boolean,
  processes: optional(Schema.Array(SessionProcess)),
  port_subscriptions: optional(Schema.Array(SessionPort)),
  /** The parts of the configuration that differ from the defaults. */
  config: Schema.Unknown
})
export type LocalSession = typeof LocalSession.Type

const hidden = "(hidden)"
/** Texts of a configuration that readers want, and that say nothing but which session it is. */
const shownTexts: ReadonlySet<string> = new Set(["key", "target.path", "target.namespace", "path", "kube_context"])

/**
 * A configuration without its texts: values of variables, filters and tokens are among them. Names, numbers and
 * switches stay. `path`: the names above, joined by dots.
 */
const withoutTexts = (value: unknown, path: string): unknown => {
  if (typeof value === "string") return shownTexts.has(path) ? value : hidden
  if (Array.isArray(value)) return asArray(value).map((each) => withoutTexts(each, `${path}[]`))
  if (!isObject(value)) return value
  const below = (name: string): string => (path === "" ? name : `${path}.${name}`)
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutTexts(each, below(name))]))
}

/**
 * Reads the answer of a socket, without the texts of its configuration and the arguments of its processes; `undefined`
 * if it describes no session.
 */
export const readLocalSession = (answer: unknown): LocalSession | undefined => {
  const read = Result.getOrUndefined(Schema.decodeUnknownResult(LocalSession)(answer))
  return (
    read && {
      ...read,
      processes: (read.processes ?? []).map(withoutArguments),
      port_subscriptions: read.port_subscriptions ?? [],
      config: withoutTexts(read.config, "")
    }
  )
}

/** The session after an event: processes come and go, and ports are added. */
export const sessionAfter = (session: LocalSession, event: SessionEvent): LocalSession => {
  const processes = session.processes ?? []
  const ports = session.port_subscriptions ?? []
  switch (event.type) {
    case "layer_connected": {
      if (processes.some(({ pid }) => pid === event.pid)) return session
      const { type: _type, ...process } = event
      return { ...session, processes: [...processes, process] }
    }
    case "layer_disconnected":
      return { ...session, processes: processes.filter(({ pid }) => pid !== event.pid) }
    case "port_subscription": {
      const { mode, port } = event
      return { ...session, port_subscriptions: [...ports.filter((one) => one.port !== port), { port, mode }] }
    }
    default:
      return session
  }
}

/**
 * Whether the client would have added the paths of mounted volumes to `feature.fs.read_only` if it had resolved the
 * target itself, and the user has written none.
 */
const lacksMounts = (config: unknown): boolean => {
  const fs = at(config, "feature", "fs")
  const isUsual = fs === undefined || (isObject(fs) && fs["mode"] === undefined && fs["read_only"] === undefined)
  return isUsual && at(config, "feature", "magic", "auto_mount") !== false
}

/** The local side of a session, in lines. `isOverClusters`: whether it is one over several clusters. */
export const localLines = (
  { config, mirrord_version: version, port_subscriptions: ports, processes }: LocalSession,
  isOverClusters: boolean
): ReadonlyArray<string> => [
  ...(processes ?? []).map(({ pid, process_name: name }) => `process ${pid}, ${name}`),
  ...(ports ?? []).map(({ mode, port }) => `port ${port} (${mode})`),
  `mirrord ${version}`,
  ...(isOverClusters && lacksMounts(config)
    ? [
        "files of mounted volumes are read on this machine: feature.magic.auto_mount adds none in a session over " +
          "clusters; list their paths in feature.fs.read_only"
      ]
    : [])
]

/** Something that a local process of a session did. */
export interface LocalEvent {
  /** Epoch ms. */
  readonly at: number
  readonly text: string
  /** How often it happened without anything between. */
  readonly count: number
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
