/**
 * Client-facing ids of incoming connections and requests. Every agent counts its own ids from 0, separately for
 * mirrored and stolen traffic (wire.md §7.3). The client gets ids from one counter for both channels, and no id twice,
 * because messages for a freed id may still be under way (wire.md §6.15, §6.12).
 *
 * Not here: reading and replacing ids in messages (connection-id.ts).
 */

import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { MemberName } from "./member.ts"

/** Mirrored or stolen traffic. */
export type Channel = "Tcp" | "TcpSteal"

/** The member that owns a client-facing id, and the member's own id of the connection. */
export interface Route {
  readonly member: MemberName
  readonly channel: Channel
  readonly memberId: bigint
}

/**
 * The ids in use. An entry is freed when either side ends the connection, or when the member is lost. The caller bounds
 * the number of entries.
 */
export interface Ids {
  readonly next: bigint
  readonly routes: HashMap.HashMap<bigint, Route>
  readonly byMember: HashMap.HashMap<string, HashMap.HashMap<bigint, bigint>>
}

export const noIds: Ids = { next: 0n, routes: HashMap.empty(), byMember: HashMap.empty() }

const spaceOf = (member: MemberName, channel: Channel): string => `${channel} ${member}`

const space = (ids: Ids, member: MemberName, channel: Channel): HashMap.HashMap<bigint, bigint> =>
  Option.getOrElse(HashMap.get(ids.byMember, spaceOf(member, channel)), () => HashMap.empty<bigint, bigint>())

/** How many connections and requests are open. */
export const openIds = (ids: Ids): number => HashMap.size(ids.routes)

/** The client-facing id of a member's connection; `undefined` if it has none. */
export const clientIdOf = (ids: Ids, member: MemberName, channel: Channel, memberId: bigint): bigint | undefined =>
  Option.getOrUndefined(HashMap.get(space(ids, member, channel), memberId))

/** The connection that the client means; `undefined` for an id that is unknown, freed or of the other channel. */
export const routeOf = (ids: Ids, channel: Channel, clientId: bigint): Route | undefined => {
  const route = Option.getOrUndefined(HashMap.get(ids.routes, clientId))
  return route?.channel === channel ? route : undefined
}

/** A new client-facing id for a member's connection that has none. */
export const openId = (ids: Ids, member: MemberName, channel: Channel, memberId: bigint): readonly [Ids, bigint] => {
  const clientId = ids.next
  const own = HashMap.set(space(ids, member, channel), memberId, clientId)
  return [
    {
      next: clientId + 1n,
      routes: HashMap.set(ids.routes, clientId, { member, channel, memberId }),
      byMember: HashMap.set(ids.byMember, spaceOf(member, channel), own)
    },
    clientId
  ]
}

/** Forgets an id in both directions. An unknown id is no error. */
export const freeId = (ids: Ids, clientId: bigint): Ids => {
  const route = Option.getOrUndefined(HashMap.get(ids.routes, clientId))
  if (route === undefined) return ids
  const own = HashMap.remove(space(ids, route.member, route.channel), route.memberId)
  const key = spaceOf(route.member, route.channel)
  return {
    next: ids.next,
    routes: HashMap.remove(ids.routes, clientId),
    byMember: HashMap.isEmpty(own) ? HashMap.remove(ids.byMember, key) : HashMap.set(ids.byMember, key, own)
  }
}

/** Forgets all ids of a member, and returns the client-facing ones in the order in which they were opened. */
export const freeMember = (
  ids: Ids,
  member: MemberName
): readonly [Ids, ReadonlyArray<{ readonly clientId: bigint; readonly channel: Channel }>] => {
  const open = (["Tcp", "TcpSteal"] as const).flatMap((channel) =>
    Array.from(HashMap.values(space(ids, member, channel)), (clientId) => ({ clientId, channel }))
  )
  open.sort((a, b) => (a.clientId < b.clientId ? -1 : 1))
  return [open.reduce((left, { clientId }) => freeId(left, clientId), ids), open]
}
