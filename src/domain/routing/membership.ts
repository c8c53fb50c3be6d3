/**
 * How the router loses members and what they owe it. A member that comes is `router.ts`'s business.
 */
import { warnUser } from "./handshake.ts"
import { limits } from "./limits.ts"
import type { MemberName } from "./member.ts"
import { disconnect, end, type Link, nameOf, setLink, type Turn, update } from "./state.ts"
import { loseSubscriber } from "./subscriptions.ts"
import { loseTraffic } from "./traffic.ts"

/**
 * The member's connection is gone. Of the default nothing can be made good behind the client's back (wire.md §8.12).
 */
export const lose = (turn: Turn, member: MemberName, reason: string): void => {
  if (member === turn.state.options.defaultMember) {
    return end(turn, "DropClient", `the default ${nameOf(turn.state, member)} was lost: ${reason}`)
  }
  const links = new Map(turn.state.links)
  links.delete(member)
  update(turn, { links })
  loseTraffic(turn, member)
  loseSubscriber(turn, member)
  warnUser(turn, `${nameOf(turn.state, member)} was lost: ${reason}; its traffic is missing until it returns`)
}

/** As {@link lose}, for a member whose socket is still open. */
export const giveUp = (turn: Turn, member: MemberName, reason: string): void => {
  if (member !== turn.state.options.defaultMember) disconnect(turn, member, reason)
  lose(turn, member, reason)
}

/** Notes what a member will owe. A member that owes too much is given up, which `false` says. */
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
