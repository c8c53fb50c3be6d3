/**
 * One Pong for each Ping of the client (wire.md §8.2). A ping goes to every connected member. Its Pong goes out when
 * the default has answered, and the others have answered too or were waited for long enough. A member owes only pings
 * that were sent to it, so no Pong waits for a member that was lost or came later.
 *
 * Not here: whether the client still lives (session/client-pulse.ts).
 */

import type { MemberName } from "./member.ts"
import {
  drop,
  type Link,
  liveMembers,
  type Ping,
  type RouterState,
  sayToClient,
  sayToMember,
  setLink,
  toMember,
  type Turn,
  update
} from "./state.ts"

/** Number of every ping of the router itself. The client's pings are numbered from 1. */
const ownPing = 0

/**
 * The client's Ping, to every live member. `owe` notes the expected answer, and says `false` if the member cannot be
 * asked.
 */
export const pingFromClient = (
  turn: Turn,
  bytes: Uint8Array,
  owe: (member: MemberName, change: (link: Link) => Link) => boolean
): void => {
  const number = turn.state.nextPing
  update(turn, { nextPing: number + 1, pings: [...turn.state.pings, { number, answeredAt: undefined }] })
  for (const member of liveMembers(turn.state)) {
    if (owe(member, (link) => ({ ...link, pings: [...link.pings, number] }))) toMember(turn, member, bytes)
  }
}

export const pongFromMember = (turn: Turn, member: MemberName, link: Link): void => {
  const [number, ...pings] = link.pings
  if (number === undefined) return drop(turn, "unansweredPong")
  setLink(turn, member, { ...link, pings })
  if (number === ownPing) return
  if (!turn.state.pings.some((ping) => ping.number === number)) return drop(turn, "latePong")
  if (member !== turn.state.options.defaultMember) return
  update(turn, {
    pings: turn.state.pings.map((ping) => (ping.number === number ? { number, answeredAt: turn.now } : ping))
  })
}

const due = (state: RouterState, ping: Ping, now: number): boolean => {
  if (ping.answeredAt === undefined) return false
  if (now >= ping.answeredAt + state.options.mergeBound) return true
  return state.options.members.every((member) => !state.links.get(member)?.pings.includes(ping.number))
}

/** Sends the Pongs that have become due, in the order of the pings, and the router's own pings. */
export const settlePings = (turn: Turn): void => {
  for (;;) {
    const [first, ...rest] = turn.state.pings
    if (first === undefined || !due(turn.state, first, turn.now)) break
    update(turn, { pings: rest })
    sayToClient(turn, { _tag: "Pong" })
  }
  const { nextOwnPing, options } = turn.state
  if (options.pingMembersEvery === undefined || nextOwnPing === undefined || turn.now < nextOwnPing) return
  update(turn, { nextOwnPing: turn.now + options.pingMembersEvery })
  for (const member of liveMembers(turn.state)) {
    const link = turn.state.links.get(member)
    // A member has at most one unanswered ping of the router, or a silent member would collect a growing queue.
    if (link === undefined || link.pings.includes(ownPing)) continue
    setLink(turn, member, { ...link, pings: [...link.pings, ownPing] })
    sayToMember(turn, member, { _tag: "Ping" })
  }
}

/** When {@link settlePings} has something to do without any further message. */
export const pingDeadline = (state: RouterState): number | undefined => {
  const answeredAt = state.pings[0]?.answeredAt
  const merge = answeredAt === undefined ? Infinity : answeredAt + state.options.mergeBound
  const at = Math.min(merge, state.nextOwnPing ?? Infinity)
  return at === Infinity ? undefined : at
}
