/**
 * Decides which client owns a port, a connection or a request, as pure functions over immutable subscriptions. Shared
 * by the reference agent and the simulated agent.
 */

import type { RequestHead, RequestMatcher } from "./http-filter.ts"

/** One client connection of the agent. */
export type ClientId = number

/**
 * The clients that steal a port: one client everything, or any number of clients what their filters match (wire.md
 * §7.7).
 */
export type PortSteal =
  | { readonly _tag: "Unfiltered"; readonly client: ClientId }
  | { readonly _tag: "Filtered"; readonly clients: ReadonlyMap<ClientId, RequestMatcher> }

/** The clients that mirror a port; `undefined` stands for "no filter". */
export type PortMirrors = ReadonlyMap<ClientId, RequestMatcher | undefined>

/** All subscriptions of one agent. Immutable. */
export interface Subscriptions {
  readonly steals: ReadonlyMap<number, PortSteal>
  readonly mirrors: ReadonlyMap<number, PortMirrors>
}

export const noSubscriptions: Subscriptions = { steals: new Map(), mirrors: new Map() }

const put = <K, V>(map: ReadonlyMap<K, V>, key: K, value: V): ReadonlyMap<K, V> => new Map(map).set(key, value)
const without = <K, V>(map: ReadonlyMap<K, V>, key: K): ReadonlyMap<K, V> => {
  const rest = new Map(map)
  rest.delete(key)
  return rest
}

/** Subscribes a client. The newcomer always succeeds; clients in its way lose the port and are not told. */
export const steal = (
  all: Subscriptions,
  port: number,
  client: ClientId,
  filter: RequestMatcher | undefined
): Subscriptions => {
  const before = all.steals.get(port)
  const clients = before?._tag === "Filtered" ? before.clients : new Map<ClientId, RequestMatcher>()
  const after: PortSteal =
    filter === undefined ? { _tag: "Unfiltered", client } : { _tag: "Filtered", clients: put(clients, client, filter) }
  return { ...all, steals: put(all.steals, port, after) }
}

/** Unsubscribes a client, if it steals the port. */
export const stopStealing = (all: Subscriptions, port: number, client: ClientId): Subscriptions => {
  const before = all.steals.get(port)
  if (before === undefined) return all
  if (before._tag === "Unfiltered") {
    return before.client === client ? { ...all, steals: without(all.steals, port) } : all
  }
  const clients = without(before.clients, client)
  if (clients.size === 0) return { ...all, steals: without(all.steals, port) }
  return { ...all, steals: put(all.steals, port, { _tag: "Filtered", clients }) }
}

/**
 * Subscribes a mirroring client. Mirrors never compete; a second subscription of the same client replaces its filter.
 */
export const mirror = (
  all: Subscriptions,
  port: number,
  client: ClientId,
  filter: RequestMatcher | undefined
): Subscriptions => ({
  ...all,
  mirrors: put(all.mirrors, port, put(all.mirrors.get(port) ?? new Map(), client, filter))
})

export const stopMirroring = (all: Subscriptions, port: number, client: ClientId): Subscriptions => {
  const clients = without(all.mirrors.get(port) ?? new Map(), client)
  return { ...all, mirrors: clients.size === 0 ? without(all.mirrors, port) : put(all.mirrors, port, clients) }
}

/** Removes all subscriptions of a client that is gone. */
export const dropClient = (all: Subscriptions, client: ClientId): Subscriptions => {
  let left = all
  for (const port of subscribedPorts(all)) left = stopMirroring(stopStealing(left, port, client), port, client)
  return left
}

/** The ports that must be redirected to the agent. */
export const subscribedPorts = ({ steals, mirrors }: Subscriptions): ReadonlySet<number> =>
  new Set([...steals.keys(), ...mirrors.keys()])

/** The client that gets a request, and the other clients whose filters match it too (they are logged). */
export interface RequestOwner {
  readonly client: ClientId | undefined
  readonly filtered: boolean
  readonly alsoMatching: ReadonlyArray<ClientId>
}

export const ownerOfRequest = (all: Subscriptions, port: number, request: RequestHead): RequestOwner => {
  const steals = all.steals.get(port)
  if (steals === undefined) return { client: undefined, filtered: false, alsoMatching: [] }
  if (steals._tag === "Unfiltered") return { client: steals.client, filtered: false, alsoMatching: [] }
  const [client, ...alsoMatching] = [...steals.clients].filter(([, matches]) => matches(request)).map(([id]) => id)
  return { client, filtered: true, alsoMatching }
}

/** The client that gets a connection that is not HTTP: only a client that steals without a filter. */
export const ownerOfConnection = (all: Subscriptions, port: number): ClientId | undefined => {
  const steals = all.steals.get(port)
  return steals?._tag === "Unfiltered" ? steals.client : undefined
}

/** The clients that get a copy of a request. */
export const mirrorsOfRequest = (all: Subscriptions, port: number, request: RequestHead): ReadonlyArray<ClientId> =>
  [...(all.mirrors.get(port) ?? [])]
    .filter(([, matches]) => matches === undefined || matches(request))
    .map(([id]) => id)

/** The clients that get a copy of a connection that is not HTTP. */
export const mirrorsOfConnection = (all: Subscriptions, port: number): ReadonlyArray<ClientId> =>
  [...(all.mirrors.get(port) ?? [])].filter(([, matches]) => matches === undefined).map(([id]) => id)
