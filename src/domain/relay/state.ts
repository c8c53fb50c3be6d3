/**
 * The router's inputs, outputs and state, and the few ways to change the state and to send something during a step.
 *
 * Not here: decisions, which stand in the other files of this folder.
 */

import { cleanText, textLimits } from "../clean-text.ts"
import { type ClientMessage, clientMessage } from "../protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../protocol/daemon-message.ts"
import type { ResponseError } from "../protocol/response-error.ts"
import { type CollectedResponses, nothingCollected } from "./collected-response.ts"
import { type Channel, type Ids, noIds } from "./ids.ts"
import { limits } from "./limits.ts"
import type { MemberName } from "./member.ts"
import type { SessionKeyHeader } from "./session-key.ts"

export interface RouterOptions {
  /** All members of the session, connected or not; others join by connecting. */
  readonly members: ReadonlyArray<MemberName>
  readonly defaultMember: MemberName
  /** For the texts of warnings. */
  readonly memberKind: "cluster" | "agent"
  /** Milliseconds that a merged answer waits for the other members once the default has answered. */
  readonly mergeBound: number
  /** Milliseconds between the router's own pings to its members; `undefined` if it sends none (wire.md §8.21). */
  readonly pingMembersEvery: number | undefined
  /** The header that stolen requests get; `undefined` if they stay as they are. */
  readonly keyHeader?: SessionKeyHeader | undefined
}

/** `now` is epoch milliseconds and never goes back. */
export type RouterInput = { readonly now: number } & (
  | { readonly _tag: "FromClient"; readonly bytes: Uint8Array }
  | { readonly _tag: "FromMember"; readonly member: MemberName; readonly bytes: Uint8Array }
  | { readonly _tag: "MemberConnected"; readonly member: MemberName }
  | { readonly _tag: "MemberLost"; readonly member: MemberName; readonly reason: string }
  /** The member has left the session for good. A connected member is lost as well. */
  | { readonly _tag: "MemberLeft"; readonly member: MemberName; readonly reason: string }
  /** A sentence for the user's log, said as soon as the client's phase allows it. */
  | { readonly _tag: "WarnUser"; readonly message: string }
  | { readonly _tag: "Tick" }
)

/** Why something was not passed on; the label of a counter. */
export const dropReasons = [
  "unknownClientTag",
  "unknownDaemonTag",
  "malformedClientMessage",
  "oversizeClientMessage",
  "rejected",
  "strayId",
  "unansweredPong",
  "latePong",
  "strayResult",
  "strayVersion",
  "notDefault",
  "notLive",
  "notForClients",
  "earlyLog",
  "infoLog",
  "heldLog",
  "unsolicitedTraffic",
  "tooManyConnections",
  "collectedTooMuch"
] as const
export type DropReason = (typeof dropReasons)[number]

export type RouterOutput =
  | { readonly _tag: "ToClient"; readonly bytes: Uint8Array }
  | { readonly _tag: "ToMember"; readonly member: MemberName; readonly bytes: Uint8Array }
  | { readonly _tag: "DisconnectMember"; readonly member: MemberName; readonly reason: string }
  | { readonly _tag: "DropClient"; readonly reason: string }
  | { readonly _tag: "EndSession"; readonly reason: string }
  | { readonly _tag: "WakeAt"; readonly at: number }
  | { readonly _tag: "Warn"; readonly message: string }
  | { readonly _tag: "Dropped"; readonly what: DropReason }

/** A ping that the client waits for. */
export interface Ping {
  readonly number: number
  /** When the default answered it, epoch milliseconds. */
  readonly answeredAt: number | undefined
}

/** A port that the client is subscribed to now. It is replayed to members that connect. */
export interface Subscription {
  readonly channel: Channel
  readonly port: number
  readonly filtered: boolean
  /** The least version of a member that can read `bytes`. */
  readonly needs: string | undefined
  /** The client's message. */
  readonly bytes: Uint8Array
  /** Number of the {@link SubscriptionRequest} that made the subscription. */
  readonly request: number
  /** Members that got `bytes` on their present connection. */
  readonly sent: ReadonlySet<MemberName>
  /** Members that refused the subscription after the client had its result. */
  readonly leftOut: ReadonlyMap<MemberName, LeftOut>
}

/**
 * `untilFree`: another session has the port at that member, which is asked again later. `untilBack`: a policy there
 * forbids it; a member whose policies change ends its connection. `forGood`: its agent answered by ending the
 * connection.
 */
export type LeftOut = "forGood" | "untilFree" | "untilBack"

/** A PortSubscribe whose result the client waits for. */
export interface SubscriptionRequest {
  readonly number: number
  readonly key: string
  readonly channel: Channel
  readonly port: number
  /** Members whose answer the result waits for. */
  readonly waiting: ReadonlySet<MemberName>
  readonly accepted: ReadonlySet<MemberName>
  /** When the default had accepted or dropped out, epoch ms. From then on the others have `mergeBound` to answer. */
  readonly boundFrom: number | undefined
  /** The refusal that the client will get. */
  readonly error: ResponseError | undefined
}

/**
 * A connected member, with the answers that it owes. The queues are in the order of the requests, as a connection
 * answers in order.
 */
export interface Link {
  /** The highest version that it has answered; `undefined` until its first answer. */
  readonly version: string | undefined
  readonly versionSwitches: ReadonlyArray<VersionSwitch>
  /** Numbers of the client's pings; 0 for the router's own pings. */
  readonly pings: ReadonlyArray<number>
  readonly results: Readonly<Record<Channel, ReadonlyArray<ExpectedResult>>>
}

export interface VersionSwitch {
  readonly announced: string
  /** Whether the client waits for the answer. */
  readonly forClient: boolean
}

export interface ExpectedResult {
  readonly port: number
  /** Number of the client's request. A replay has the number of the request that it repeats. */
  readonly request: number
  readonly filtered: boolean
}

/** How far the client is (wire.md §6.2). */
export interface ClientPhase {
  /** As announced; `undefined` counts as 1.2.2. */
  readonly version: string | undefined
  readonly unansweredSwitches: number
  readonly readyForLogs: boolean
  readonly postponedLogs: ReadonlyArray<Uint8Array>
  /** Channels in which the client has ever subscribed. It cannot handle traffic of another channel. */
  readonly subscribed: Readonly<Record<Channel, boolean>>
}

/** Immutable. `ended`: the client's socket is to be closed; every further input is ignored. */
export interface RouterState {
  readonly options: RouterOptions
  readonly ended: boolean
  readonly links: ReadonlyMap<MemberName, Link>
  readonly client: ClientPhase
  /** Messages of the client from before the default was connected. */
  readonly postponed: ReadonlyArray<Uint8Array>
  readonly postponedCost: number
  readonly ids: Ids
  readonly pings: ReadonlyArray<Ping>
  readonly nextPing: number
  readonly nextOwnPing: number | undefined
  readonly subscriptions: ReadonlyMap<string, Subscription>
  readonly requests: ReadonlyArray<SubscriptionRequest>
  readonly nextRequest: number
  /**
   * When members that are left out until a port is free are asked again, epoch milliseconds; `undefined` if there are
   * none.
   */
  readonly askAgainAt: number | undefined
  readonly collected: CollectedResponses
  readonly warned: ReadonlySet<string>
  readonly wakeAt: number | undefined
}

export const initialState = (options: RouterOptions): RouterState => ({
  options,
  ended: false,
  links: new Map(),
  client: {
    version: undefined,
    unansweredSwitches: 0,
    readyForLogs: false,
    postponedLogs: [],
    subscribed: { Tcp: false, TcpSteal: false }
  },
  postponed: [],
  postponedCost: 0,
  ids: noIds,
  pings: [],
  nextPing: 1,
  nextOwnPing: undefined,
  subscriptions: new Map(),
  requests: [],
  nextRequest: 1,
  askAgainAt: undefined,
  collected: nothingCollected,
  warned: new Set(),
  wakeAt: undefined
})

/** One step under way: the state so far and what is to be done. Lives only inside `step`. */
export interface Turn {
  readonly now: number
  state: RouterState
  readonly outputs: Array<RouterOutput>
}

export const update = (turn: Turn, patch: Partial<RouterState>): void => {
  turn.state = { ...turn.state, ...patch }
}

export const updateClient = (turn: Turn, patch: Partial<ClientPhase>): void =>
  update(turn, { client: { ...turn.state.client, ...patch } })

const emit = (turn: Turn, output: RouterOutput): void => {
  if (!turn.state.ended) turn.outputs.push(output)
}

export const toClient = (turn: Turn, bytes: Uint8Array): void => emit(turn, { _tag: "ToClient", bytes })
export const sayToClient = (turn: Turn, message: DaemonMessage): void => toClient(turn, daemonMessage.encode(message))
export const wakeAt = (turn: Turn, at: number): void => emit(turn, { _tag: "WakeAt", at })
export const drop = (turn: Turn, what: DropReason): void => emit(turn, { _tag: "Dropped", what })
/** Words of a client or a member may be in the message, so it is cut. */
export const warnOperator = (turn: Turn, message: string): void =>
  emit(turn, { _tag: "Warn", message: cleanText(message, textLimits.message) })
export const disconnect = (turn: Turn, member: MemberName, reason: string): void =>
  emit(turn, { _tag: "DisconnectMember", member, reason: cleanText(reason, textLimits.message) })

/** Does nothing if the member is not connected. */
export const toMember = (turn: Turn, member: MemberName, bytes: Uint8Array): void => {
  if (turn.state.links.has(member)) emit(turn, { _tag: "ToMember", member, bytes })
}
export const sayToMember = (turn: Turn, member: MemberName, message: ClientMessage): void =>
  toMember(turn, member, clientMessage.encode(message))

/** The connected members, in the order of the options. */
export const liveMembers = (state: RouterState): ReadonlyArray<MemberName> =>
  state.options.members.filter((member) => state.links.has(member))

export const setLink = (turn: Turn, member: MemberName, link: Link): void =>
  update(turn, { links: new Map(turn.state.links).set(member, link) })

/** `cluster cluster-b`, for messages to people. */
export const nameOf = (state: RouterState, member: MemberName): string => `${state.options.memberKind} ${member}`

/** Ends the client's connection. The state lets go of everything that it held. */
export const end = (turn: Turn, how: "DropClient" | "EndSession", reason: string): void => {
  emit(turn, { _tag: how, reason: cleanText(reason, textLimits.message) })
  turn.state = { ...initialState(turn.state.options), ended: true }
}

/** Whether this is the first time for this kind of warning. */
export const firstTime = (turn: Turn, kind: string): boolean => {
  const { warned } = turn.state
  if (warned.has(kind) || warned.size >= limits.warnings) return false
  update(turn, { warned: new Set(warned).add(kind) })
  return true
}
