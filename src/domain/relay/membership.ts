/**
 * How the router loses members, and how it notes the answers that they owe.
 *
 * Not here: a member that connects (router.ts), and what the loss means for pings, subscriptions and traffic (files
 * beside this).
 */

import { warnUser } from "./handshake.ts"
import { limits } from "./limits.ts"
import type { MemberName } from "./member.ts"
import { disconnect, end, type Link, nameOf, setLink, type Turn, update } from "./state.ts"
import { loseSubscriber } from "./subscriptions.ts"
import { loseTraffic } from "./traffic.ts"

/**
 * The member's connection is gone. The loss of the default ends the client's connection: no other member can take its
 * place unnoticed (wire.md §8.12).
 */
export const lose = (turn: Turn, member: MemberName, reason: string): void => {
  if (member === turn.state.options.defaultMember) {
    return end(turn, "DropClient", `the session lost the default ${nameOf(turn.state, member)}: ${reason}`)
  }
  const links = new Map(turn.state.links)
  links.delete(member)
  update(turn, { links })
  loseTraffic(turn, member)
  loseSubscriber(turn, member)
  const name = nameOf(turn.state, member)
  warnUser(turn, `the session goes on without ${name}: ${reason}; its traffic is missing until it returns`)
}

/** As {@link lose}, for a member whose socket is still open. */
export const giveUp = (turn: Turn, member: MemberName, reason: string): void => {
  if (member !== turn.state.options.defaultMember) disconnect(turn, member, reason)
  lose(turn, member, reason)
}

/**
 * Notes an answer that a member will owe. `false`: the member must not be asked, because it is not connected, or
 * because it owed too much and was given up.
 */
export const owe =
  (turn: Turn) =>
  (member: MemberName, change: (link: Link) => Link): boolean => {
    const link = turn.state.links.get(member)
    if (link === undefined) return false
    const next = change(link)
    const longest = Math.max(
      next.pings.length,
      next.versionSwitches.length,
      next.results.Tcp.length,
      next.results.TcpSteal.length
    )
    if (longest > limits.unanswered) {
      giveUp(turn, member, `it has not answered ${limits.unanswered} requests`)
      return false
    }
    setLink(turn, member, next)
    return true
  }
