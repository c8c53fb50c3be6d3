/** The immutable state of the strict client, and the small steps (send, event, fatal) of which its turns are made. */

import { type ClientMessage, clientMessage } from "../../src/domain/protocol/client-message.ts"
import type { FileRequest } from "../../src/domain/protocol/file-messages.ts"
import type { HttpResponseFramed } from "../../src/domain/protocol/http-messages.ts"
import { atLeast, unannouncedVersion } from "../../src/domain/protocol/version.ts"
import type { Channel, ClientOptions, ClientRequest, Transport } from "./client-input.ts"
import type { ClientEvent, ClientOutput, QueueName } from "./client-output.ts"

/** Columns of wire.md §6.2: A, B, C, D, and E to I together as `main`, where the kind of client tells them apart. */
export type Phase = "idle" | "handshake" | "env" | "firstPing" | "branchEnv" | "main" | "finished" | "failed"

export interface PortSubscription {
  readonly channel: Channel
  readonly confirmed: boolean
  /** `listen()` calls that wait for the result. */
  readonly calls: number
  readonly request: Extract<ClientRequest, { readonly _tag: "Steal" | "Mirror" }>
}

/** A stolen or mirrored connection. HTTP requests on it are keyed by request id. */
export interface Incoming {
  readonly port: number
  /** Whether bytes pass as they are: from the beginning, or since an upgrade. */
  readonly raw: boolean
  readonly requests: ReadonlyMap<number, IncomingRequest>
}

export interface IncomingRequest {
  readonly bodyOpen: boolean
  /** The response as far as it is known; kept whole only where it may not travel in pieces. */
  readonly response: HttpResponseFramed | undefined
  readonly responded: boolean
}

export interface PendingConnect {
  readonly transport: Transport
  readonly uid: bigint
  readonly request: ClientRequest
}

export interface Pings {
  readonly expected: number
  readonly nextAt: number | undefined
  readonly lastOtherMessageAt: number
  /** Pong timeouts since the last Pong. */
  readonly timeouts: number
}

/** The state of one client. */
export interface ClientState {
  readonly options: ClientOptions
  readonly phase: Phase
  /** `false` between a loss and `Reconnected`. */
  readonly online: boolean
  /** Attempts to reconnect since the loss. */
  readonly attempts: number
  readonly startedAt: number
  /** The version negotiated on this socket; `undefined` until the answer. */
  readonly version: string | undefined
  /** The version to announce: the client's own, after a negotiation the negotiated one (wire.md §5.5). */
  readonly announces: string
  /** Requests that wait for the first version answer or for the socket. */
  readonly held: ReadonlyArray<ClientRequest>
  readonly envRetryAt: number | undefined
  readonly pings: Pings
  readonly files: ReadonlyArray<FileRequest>
  /**
   * Added to the agent's descriptors, so that descriptors of an earlier socket are not taken for new ones (wire.md
   * §6.14).
   */
  readonly fdOffset: bigint
  readonly highestFd: bigint
  readonly lookups: ReadonlyArray<{ readonly node: string; readonly request: ClientRequest }>
  /** Pending env requests; the request of phase D may be among them. */
  readonly envs: ReadonlyArray<ClientRequest>
  readonly connects: ReadonlyArray<PendingConnect>
  readonly legacyConnects: Readonly<Record<"Tcp" | "Udp", ReadonlyArray<PendingConnect>>>
  readonly outgoing: Readonly<Record<Transport, ReadonlySet<bigint>>>
  readonly subscriptions: ReadonlyMap<number, PortSubscription>
  readonly incoming: Readonly<Record<Channel, ReadonlyMap<bigint, Incoming>>>
}

/** One step under way; lives only inside `step`. */
export interface Turn {
  readonly now: number
  state: ClientState
  readonly outputs: Array<ClientOutput>
}

export const initialState = (options: ClientOptions): ClientState => ({
  options,
  phase: "idle",
  online: true,
  attempts: 0,
  startedAt: 0,
  version: undefined,
  announces: options.version,
  held: [],
  envRetryAt: undefined,
  pings: { expected: 0, nextAt: undefined, lastOtherMessageAt: 0, timeouts: 0 },
  files: [],
  fdOffset: 0n,
  highestFd: -1n,
  lookups: [],
  envs: [],
  connects: [],
  legacyConnects: { Tcp: [], Udp: [] },
  outgoing: { Tcp: new Set(), Udp: new Set(), Seqpacket: new Set() },
  subscriptions: new Map(),
  incoming: { Tcp: new Map(), TcpSteal: new Map() }
})

export const update = (turn: Turn, patch: Partial<ClientState>): void => {
  turn.state = { ...turn.state, ...patch }
}

export const send = (turn: Turn, queue: QueueName, message: ClientMessage): void => {
  turn.outputs.push({ _tag: "Send", queue, bytes: clientMessage.encode(message) })
}

export const event = (turn: Turn, happened: ClientEvent): void => {
  turn.outputs.push({ _tag: "Event", event: happened })
}

export const notDone = (turn: Turn, request: ClientRequest, reason: string): void =>
  event(turn, { _tag: "NotDone", request, reason })

/** Ends the client for good (wire.md §6.1). */
export const fatal = (turn: Turn, rule: string, message: string): void => {
  if (turn.state.phase === "failed") return
  turn.outputs.push({ _tag: "Fatal", rule, message })
  update(turn, { phase: "failed" })
}

/** Whether the negotiated version is new enough; before the answer only the oldest forms are (wire.md §5.5). */
export const speaks = (state: ClientState, least: string): boolean =>
  atLeast(state.version ?? unannouncedVersion, least)

export const mapWith = <K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> =>
  new Map(map).set(key, value)

export const mapWithout = <K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> => {
  const rest = new Map(map)
  rest.delete(key)
  return rest
}
