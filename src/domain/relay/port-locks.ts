/**
 * Which connection of one session holds which port (wire.md §7.7, §8.22). Two connections of a session are two clients
 * of each agent, and of two subscriptions that exclude each other an agent silently evicts the earlier one. So the
 * session decides before an agent is asked.
 *
 * Not here: the ports of one agent over all sessions (agent-locks.ts).
 */

import { clientMessage } from "../protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../protocol/daemon-message.ts"
import { filterText } from "../protocol/filter-text.ts"
import { portOfError, stealPort } from "../protocol/named-port.ts"
import { peekClient, peekDaemon } from "../protocol/peek.ts"

/** A client connection of the session; any name that is unique while it is open. */
export type ConnectionName = string & { readonly ConnectionName: unique symbol }
export const connectionName = (name: string): ConnectionName => name as ConnectionName

export type Claim = "whole" | "filtered"

/** How a connection has a port. */
export interface Hold {
  readonly claim: Claim
  /** The filter for people, clean and short. */
  readonly filter?: string | undefined
}

/**
 * The held ports, at most the session's connections times the subscriptions that a router permits each of them.
 *
 * The session passes every message of a client through {@link lockFromClient} before the connection's router sees it,
 * and every message of the router to the client through {@link lockToClient}. When a connection ends, it calls
 * {@link releaseConnection}.
 */
export type PortLocks = ReadonlyMap<number, ReadonlyMap<ConnectionName, Hold>>

export const noLocks: PortLocks = new Map()

export type Claimed =
  /** `replaced`: connections that were in the way and hold nothing any more. */
  | { readonly _tag: "Granted"; readonly replaced: ReadonlyArray<ConnectionName> }
  /** `holder`: one of the connections in the way. */
  | { readonly _tag: "Refused"; readonly holder: ConnectionName }

/** A port, and whether it is to be stolen whole or with a filter. */
export interface PortClaim extends Hold {
  readonly port: number
}

/** Whether a connection that holds a port is silent for so long that another one may replace it (`client-pulse.ts`). */
export type MayBeReplaced = (holder: ConnectionName) => boolean

const nobody: MayBeReplaced = () => false

/**
 * Claims a port for a connection, by the rules of one agent without its eviction:
 *
 * - A port is stolen whole by one connection, or with filters by any number.
 * - A port stays with its holder, and a newcomer that the holder excludes gets `PortAlreadyStolen`.
 * - A holder that fell silent is most likely the newcomer's own former connection, and loses all of its ports.
 * - A connection may always replace its own subscription, if the others' permit the new one.
 * - Mirroring excludes nothing.
 */
export const claimPort = (
  locks: PortLocks,
  connection: ConnectionName,
  { claim, filter, port }: PortClaim,
  mayBeReplaced = nobody
): readonly [PortLocks, Claimed] => {
  const inTheWay = [...(locks.get(port) ?? [])].flatMap(([holder, holding]) =>
    holder !== connection && (claim === "whole" || holding.claim === "whole") ? [holder] : []
  )
  const holder = inTheWay.find((rival) => !mayBeReplaced(rival))
  if (holder !== undefined) return [locks, { _tag: "Refused", holder }]
  const left = inTheWay.reduce(releaseConnection, locks)
  return [
    new Map(left).set(port, new Map(left.get(port)).set(connection, { claim, filter })),
    { _tag: "Granted", replaced: inTheWay }
  ]
}

/** Releasing what is not held is no error. */
export const releasePort = (locks: PortLocks, connection: ConnectionName, port: number): PortLocks => {
  const holders = locks.get(port)
  if (holders === undefined || !holders.has(connection)) return locks
  const left = new Map(holders)
  left.delete(connection)
  const next = new Map(locks)
  if (left.size === 0) next.delete(port)
  else next.set(port, left)
  return next
}

export const releaseConnection = (locks: PortLocks, connection: ConnectionName): PortLocks =>
  [...locks.keys()].reduce((left, port) => releasePort(left, connection, port), locks)

/** A port in a list of those that a session steals. */
export interface StolenPort {
  readonly port: number
  readonly filter?: string
}

/** The ports that a session steals, in order. Each port and filter is there once, however many connections have it. */
export const stolenPorts = (locks: PortLocks): ReadonlyArray<StolenPort> =>
  [...locks]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([port, holders]) =>
      [...new Set([...holders.values()].map(({ filter }) => filter))]
        .toSorted()
        .map((filter) => (filter === undefined ? { port } : { port, filter }))
    )

/** The steal that a client's message asks for. Without `claim` the message gives the port back. */
export interface Steal {
  readonly port: number
  readonly claim: Claim | undefined
  readonly filter?: string | undefined
}

/** The steal or its end in a client's message; `undefined` also for bytes that do not decode. */
export const readSteal = (bytes: Uint8Array): Steal | undefined => {
  const key = peekClient(bytes)
  if (key !== "TcpSteal.PortSubscribe" && key !== "TcpSteal.PortUnsubscribe") return undefined
  const decoded = clientMessage.decode(bytes)
  if (decoded._tag !== "Decoded" || decoded.value._tag !== "TcpSteal") return undefined
  const { value: steal } = decoded.value
  if (steal._tag === "PortUnsubscribe") return { port: steal.value, claim: undefined }
  if (steal._tag !== "PortSubscribe") return undefined
  const filter = filterText(steal.value)
  return { port: stealPort(steal.value), claim: filter === undefined ? "whole" : "filtered", filter }
}

/** The answer to a client whose port another session has. */
export const alreadyStolen = (port: number): DaemonMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "SubscribeResult", value: { _tag: "Err", error: { _tag: "PortAlreadyStolen", value: port } } }
})

/**
 * Claims or releases the port of a client's message, before the router sees the message. With `answer` the router must
 * not see the message, and the client gets `answer` instead. Connections in `replaced` are to be ended. Bytes that do
 * not decode are left to the router.
 */
export const lockFromClient = (
  locks: PortLocks,
  connection: ConnectionName,
  bytes: Uint8Array,
  mayBeReplaced = nobody
): {
  readonly locks: PortLocks
  readonly answer?: Uint8Array
  readonly holder?: ConnectionName
  readonly replaced?: ReadonlyArray<ConnectionName>
} => {
  const steal = readSteal(bytes)
  if (steal === undefined) return { locks }
  const { claim, filter, port } = steal
  if (claim === undefined) return { locks: releasePort(locks, connection, port) }
  const [next, claimed] = claimPort(locks, connection, { port, claim, filter }, mayBeReplaced)
  if (claimed._tag === "Refused")
    return { locks, answer: daemonMessage.encode(alreadyStolen(port)), holder: claimed.holder }
  return { locks: next, replaced: claimed.replaced }
}

/** Releases the port of a subscription that failed, as a message of the router to the client says. */
export const lockToClient = (locks: PortLocks, connection: ConnectionName, bytes: Uint8Array): PortLocks => {
  const port = refusedPort(bytes)
  return port === undefined ? locks : releasePort(locks, connection, port)
}

/** The port of a subscription to steal that the message says has failed. */
const refusedPort = (bytes: Uint8Array): number | undefined => {
  if (peekDaemon(bytes) !== "TcpSteal.SubscribeResult") return undefined
  const decoded = daemonMessage.decode(bytes)
  if (decoded._tag !== "Decoded" || decoded.value._tag !== "TcpSteal") return undefined
  const { value: steal } = decoded.value
  return steal._tag === "SubscribeResult" && steal.value._tag === "Err" ? portOfError(steal.value.error) : undefined
}
