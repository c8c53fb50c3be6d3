import { type ClientMessage, clientMessage } from "../protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../protocol/daemon-message.ts"

/**
 * Which connection of one session holds which port (wire.md §7.7, §8.22). Two connections of a session are two clients
 * of each agent, and there the later of two subscriptions that exclude each other evicts the earlier silently; so the
 * session decides before an agent is asked. The rules of one agent, without the eviction:
 *
 * - a port is stolen whole by one connection, or with filters by any number;
 * - who asks for what another connection excludes gets `PortAlreadyStolen`, the holder keeps it, unless it fell silent:
 *   then it is most likely the newcomer's own former connection, and loses everything;
 * - a connection may always replace its own subscription, if the others' permit the new one;
 * - mirroring excludes nothing.
 *
 * The session feeds every client message through {@link lockFromClient} before the router of that connection, every
 * message to the client through {@link lockToClient}, and {@link releaseConnection} when a connection ends.
 */

/** A client connection of the session; any name that is unique while it is open. */
export type ConnectionName = string & { readonly ConnectionName: unique symbol }
export const connectionName = (name: string): ConnectionName => name as ConnectionName

export type Claim = "whole" | "filtered"

/** Bounded by the connections of the session times the subscriptions that a router permits each of them. */
export type PortLocks = ReadonlyMap<number, ReadonlyMap<ConnectionName, Claim>>

export const noLocks: PortLocks = new Map()

export type Claimed =
  /** `replaced`: connections that were in the way and hold nothing any more. */
  | { readonly _tag: "Granted"; readonly replaced: ReadonlyArray<ConnectionName> }
  /** `holder`: one of the connections in the way. */
  | { readonly _tag: "Refused"; readonly holder: ConnectionName }

/** Whether a connection that holds a port is silent for so long that another one may replace it (`client-pulse.ts`). */
export type MayBeReplaced = (holder: ConnectionName) => boolean

const nobody: MayBeReplaced = () => false

export const claimPort = (
  locks: PortLocks,
  connection: ConnectionName,
  port: number,
  claim: Claim,
  mayBeReplaced = nobody
): readonly [PortLocks, Claimed] => {
  const inTheWay = [...(locks.get(port) ?? [])].flatMap(([holder, held]) =>
    holder !== connection && (claim === "whole" || held === "whole") ? [holder] : []
  )
  const holder = inTheWay.find((one) => !mayBeReplaced(one))
  if (holder !== undefined) return [locks, { _tag: "Refused", holder }]
  const left = inTheWay.reduce(releaseConnection, locks)
  return [
    new Map(left).set(port, new Map(left.get(port)).set(connection, claim)),
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

/**
 * `TcpSteal` PortSubscribe and PortUnsubscribe by their first two bytes (wire.md §1.5): no other message is decoded.
 */
const concernsLocks = (bytes: Uint8Array): boolean => bytes[0] === 2 && (bytes[1] === 0 || bytes[1] === 2)

/** What a client's message asks for; without `claim` it gives the port back. */
export interface Steal {
  readonly port: number
  readonly claim: Claim | undefined
}

const stealing = (message: ClientMessage): Steal | undefined => {
  if (message._tag !== "TcpSteal") return undefined
  if (message.value._tag === "PortUnsubscribe") return { port: message.value.value, claim: undefined }
  if (message.value._tag !== "PortSubscribe") return undefined
  const type = message.value.value
  return type._tag === "All" ? { port: type.value, claim: "whole" } : { port: type.port, claim: "filtered" }
}

/** The steal or its end in a client's message; `undefined` also for bytes that do not decode. */
export const readSteal = (bytes: Uint8Array): Steal | undefined => {
  if (!concernsLocks(bytes)) return undefined
  const decoded = clientMessage.decode(bytes)
  return decoded._tag === "Decoded" ? stealing(decoded.value) : undefined
}

/** What a client gets in place of a port that somebody else has. */
export const alreadyStolen = (port: number): DaemonMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "SubscribeResult", value: { _tag: "Err", error: { _tag: "PortAlreadyStolen", value: port } } }
})

/**
 * A message of the client before its router sees it. With `answer` the router must not see it: the client gets `answer`
 * instead. Connections in `replaced` are to be ended. Bytes that do not decode are left to the router.
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
  const { port, claim } = steal
  if (claim === undefined) return { locks: releasePort(locks, connection, port) }
  const [next, claimed] = claimPort(locks, connection, port, claim, mayBeReplaced)
  if (claimed._tag === "Refused")
    return { locks, answer: daemonMessage.encode(alreadyStolen(port)), holder: claimed.holder }
  return { locks: next, replaced: claimed.replaced }
}

/** A message of the router to the client: a subscription that failed holds nothing. */
export const lockToClient = (locks: PortLocks, connection: ConnectionName, bytes: Uint8Array): PortLocks => {
  // TcpSteal, SubscribeResult, Err (wire.md §1.5).
  if (bytes[0] !== 2 || bytes[1] !== 3 || bytes[2] !== 1) return locks
  const decoded = daemonMessage.decode(bytes)
  if (decoded._tag !== "Decoded" || decoded.value._tag !== "TcpSteal") return locks
  const result = decoded.value.value
  if (result._tag !== "SubscribeResult" || result.value._tag !== "Err") return locks
  const { error } = result.value
  if (error._tag === "PortAlreadyStolen") return releasePort(locks, connection, error.value)
  if (error._tag !== "Forbidden" && error._tag !== "ForbiddenWithReason") return locks
  if (error.blockedAction._tag !== "Steal") return locks
  const type = error.blockedAction.value
  return releasePort(locks, connection, type._tag === "All" ? type.value : type.port)
}
