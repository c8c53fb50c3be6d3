/**
 * Follows the members of a connection besides their frames: they join and leave the session, and they fall silent.
 * Channels are opened and closed by `message-path.ts`.
 */

import { Effect, type Scope } from "effect"
import type { MemberName } from "../../domain/relay/member.ts"
import type { ClientConnection, MemberNews } from "./client-connection.ts"
import { attach, detach, feed, lose, redial } from "./message-path.ts"

/** Rounds of the router's own pings after which a silent member counts as lost. */
const missedPings = 3

/**
 * Attaches the open channels, the default first: the client's first messages need a destination. Dials the other
 * members.
 */
export const connectMembers = (connection: ClientConnection): void => {
  const { connected, router } = connection.options
  const { defaultMember } = router
  const first = connected.get(defaultMember)
  if (first !== undefined) attach(connection, defaultMember, first)
  for (const [member, channel] of connected) if (member !== defaultMember) attach(connection, member, channel)
  for (const member of router.members) {
    if (!connected.has(member) && member !== defaultMember) redial(connection, member, 0)
  }
}

/** The members as of the last news, against which the next news is compared. */
interface KnownMembers {
  /** Members as of the last news. */
  members: ReadonlySet<MemberName>
  /** Members that were not ready at the last news. */
  readonly awaited: Set<MemberName>
}

/** Follows members that come and go until the scope closes. */
export const followMembers = (
  connection: ClientConnection,
  news: MemberNews
): Effect.Effect<void, never, Scope.Scope> => {
  const known: KnownMembers = { members: new Set(connection.options.router.members), awaited: new Set() }
  const follow = (): void => takeNews(connection, news, known)
  return Effect.acquireRelease(
    Effect.sync(() => news.listen(follow)),
    (stop) => Effect.sync(stop)
  ).pipe(Effect.andThen(Effect.sync(follow)))
}

/** Gives up channels that the news calls lost; a member whose channel is lost is dialled again. */
const loseChannels = (connection: ClientConnection, { lost }: MemberNews): void => {
  if (lost === undefined) return
  for (const [member, channel] of [...connection.channels]) {
    const reason = lost(channel)
    if (reason !== undefined) lose(connection, member, channel, reason)
  }
}

const takeNews = (connection: ClientConnection, news: MemberNews, known: KnownMembers): void => {
  loseChannels(connection, news)
  const { isReady, now } = news
  const { channels, isOver, options, run } = connection
  const { defaultMember } = options.router
  const current = new Set(now())
  // Without its default member a connection cannot go on: it ends by itself, or the session is being prepared again.
  if (isOver || !current.has(defaultMember)) return
  const left = [...known.members].filter((member) => !current.has(member))
  const ready = [...current].filter((member) => {
    if (isReady(member)) return known.awaited.delete(member) || !known.members.has(member)
    known.awaited.add(member)
    return false
  })
  known.members = current
  for (const member of left) {
    detach(connection, member)
    run(`dial ${member}`, Effect.void)
    feed(connection, { _tag: "MemberLeft", member, reason: "its pod is gone" })
  }
  for (const member of ready) {
    if (!channels.has(member) && member !== defaultMember) redial(connection, member, 0)
  }
}

/**
 * Gives up members that leave the router's own pings unanswered. Checks are counted and not time, so that neither a
 * clock that jumps nor a process that stood still makes a member silent. A member that is not read is not silent.
 */
export const watchMembers = (connection: ClientConnection, pingMembersEvery: number): void => {
  const { channels, quietChecks } = connection
  const check = (): void => {
    for (const [member, channel] of channels) {
      const isUnread = connection.isClientFull || channel.waitsForRoom?.() === true
      const quiet = isUnread ? 0 : (quietChecks.get(member) ?? 0) + 1
      quietChecks.set(member, quiet)
      if (quiet > missedPings) lose(connection, member, channel, "it does not answer any more")
    }
  }
  connection.run("silence", Effect.forever(Effect.andThen(Effect.sleep(pingMembersEvery), () => Effect.sync(check))))
}
