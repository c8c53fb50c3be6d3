import type { ClientMessage } from "../../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import type { BodyFrame } from "../../../../src/domain/protocol/http-messages.ts"
import type { DaemonTcp } from "../../../../src/domain/protocol/incoming-messages.ts"

/**
 * One connection of an agent as wire.md §7 describes it: six counters from 0, answers in the order rules of wire.md
 * §7.5, HTTP in the variant of the announced version (wire.md §4.4). Everything it says carries its name, so that a
 * test sees where things come from; what comes back must carry it again, else it is a `violation`.
 */

export type Channel = "Tcp" | "TcpSteal"
/** Order is kept inside a source and not between them (wire.md §7.5). */
export type Source = "inline" | "mirror" | "steal" | "tcp" | "udp" | "seqpacket" | "dns"

export interface AgentConnection {
  readonly port: number
  readonly http: boolean
  /** Texts that it has said to the client and waits to hear again, for raw connections. */
  readonly echoes: ReadonlyArray<string>
  readonly said: number
}

export interface Agent {
  readonly name: string
  readonly version: string
  /** The version that the client announced; `undefined` counts as 1.2.2. */
  readonly announced: string | undefined
  readonly readyForLogs: boolean
  readonly counters: Readonly<Record<Channel | "tcp" | "udp" | "seqpacket" | "fd", bigint>>
  readonly ports: Readonly<Record<Channel, ReadonlySet<number>>>
  readonly filtered: ReadonlySet<number>
  readonly open: Readonly<Record<Channel, ReadonlyMap<bigint, AgentConnection>>>
  readonly heard: ReadonlyArray<ClientMessage>
  readonly violations: ReadonlyArray<string>
  /** It dropped the connection because it could not decode this. */
  readonly choked: ClientMessage | undefined
  /** A filter with this text does not compile (wire.md §7.4). */
  readonly badFilter: string
}

export type AgentCommand =
  | { readonly _tag: "Open"; readonly channel: Channel; readonly port: number }
  | { readonly _tag: "Request"; readonly channel: Channel; readonly port: number; readonly pieces: number }
  | { readonly _tag: "Say"; readonly channel: Channel; readonly which: number }
  /** `twice`: a second Close of the same id follows (wire.md §7.3). */
  | { readonly _tag: "End"; readonly channel: Channel; readonly which: number; readonly twice: boolean }
  | { readonly _tag: "Log"; readonly level: "Warn" | "Error" | "Info" }
  /** Any message that the test wants; on the source given. */
  | { readonly _tag: "Raw"; readonly source: Source; readonly message: DaemonMessage }

export type AgentOutput = { readonly source: Source; readonly message: DaemonMessage }

export const makeAgent = (name: string, version: string): Agent => ({
  name,
  version,
  announced: undefined,
  readyForLogs: false,
  counters: { Tcp: 0n, TcpSteal: 0n, tcp: 0n, udp: 0n, seqpacket: 0n, fd: 0n },
  ports: { Tcp: new Set(), TcpSteal: new Set() },
  filtered: new Set(),
  open: { Tcp: new Map(), TcpSteal: new Map() },
  heard: [],
  violations: [],
  choked: undefined,
  badFilter: "("
})

export type Mutable = { -readonly [K in keyof Agent]: Agent[K] } & { readonly outputs: Array<AgentOutput> }
export type Step = readonly [Agent, ReadonlyArray<AgentOutput>]

export const begin = (agent: Agent): Mutable => ({ ...agent, outputs: [] })
export const done = ({ outputs, ...agent }: Mutable): Step => [agent, outputs]

export const say = (a: Mutable, source: Source, message: DaemonMessage): void =>
  void a.outputs.push({ source, message })
export const sourceOf = (channel: Channel): Source => (channel === "Tcp" ? "mirror" : "steal")
export const incoming = (a: Mutable, channel: Channel, value: DaemonTcp): void =>
  say(a, sourceOf(channel), { _tag: channel, value })

export const take = (a: Mutable, space: keyof Agent["counters"]): bigint => {
  const id = a.counters[space]
  a.counters = { ...a.counters, [space]: id + 1n }
  return id
}

export const setOpen = (a: Mutable, channel: Channel, id: bigint, connection: AgentConnection | undefined): void => {
  const map = new Map(a.open[channel])
  if (connection === undefined) map.delete(id)
  else map.set(id, connection)
  a.open = { ...a.open, [channel]: map }
}

export const violation = (a: Mutable, text: string): void => {
  a.violations = [...a.violations, `${a.name}: ${text}`]
}

export const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
export const textOf = (frames: ReadonlyArray<BodyFrame>): string =>
  frames.map((frame) => (frame._tag === "Data" ? new TextDecoder().decode(frame.value) : "")).join("")

/** The URI of a request of this agent; its response must repeat it. */
export const uriOf = (name: string, channel: Channel, id: bigint): string => `/${name}/${channel}/${id}`
