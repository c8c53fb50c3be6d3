/**
 * Forwards bulk messages, unread, by the route that the router chose for the first message of their kind
 * (relay/learnt-routes.ts).
 *
 * Not here: all other messages, which message-path.ts handles.
 */

import { mustHear } from "../../domain/protocol/message-filter.ts"
import { peekClient, peekDaemon } from "../../domain/protocol/peek.ts"
import { Passages } from "../../domain/relay/learnt-routes.ts"
import type { MemberName } from "../../domain/relay/member.ts"
import { restsUntil, type RouterState, type step } from "../../domain/relay/router.ts"
import type { FrameHandlers, Passage } from "../../ports/frame-channel.ts"
import type { ClientConnection, RouterInputBody } from "./client-connection.ts"

type Judgement = Required<Pick<FrameHandlers, "judge" | "passed" | "tally">>

/** Judges the client's messages; `passed` follows each read in which a message passed. */
export const judgeClient = (connection: ClientConnection, passed: () => void): Judgement => {
  const { counts, passages } = connection
  return { ...judgement(connection, passages.client, passed), tally: counts.received.client }
}

/** As {@link judgeClient}, for the messages of a member's new channel. */
export const judgeMember = (connection: ClientConnection, member: MemberName, passed: () => void): Judgement => {
  const passages = new Passages<Passage>("member")
  connection.passages.members.set(member, passages)
  return { ...judgement(connection, passages, passed), tally: connection.counts.received.member }
}

/**
 * Nothing is judged after the connection's end, while an input is under way, or when a deadline of the router has come:
 * then the router must see the message. The clock is read once for the messages that pass in one read.
 */
const judgement = (
  connection: ClientConnection,
  passages: Passages<Passage>,
  passed: () => void
): Omit<Judgement, "tally"> => {
  let state: RouterState | undefined
  let until = -Infinity
  let isRested = false
  return {
    judge: (head, length) => {
      if (connection.isOver || connection.isFeeding) return undefined
      if (state !== connection.state) {
        state = connection.state
        until = restsUntil(state)
        isRested = false
      }
      isRested ||= connection.clock.currentTimeMillisUnsafe() < until
      const passage = isRested ? passages.judge(state, head, length) : undefined
      if (passage === undefined) isRested = false
      return passage
    },
    passed: () => {
      isRested = false
      passed()
    }
  }
}

/** Remembers the way of a bulk message, for those that follow it; not of one whose like a filter must hear. */
export const learnWay = (
  connection: ClientConnection,
  input: RouterInputBody,
  before: RouterState,
  decided: ReturnType<typeof step>
): void => {
  const { channels, filters, options, passages } = connection
  if (input._tag !== "FromClient" && input._tag !== "FromMember") return
  const known = input._tag === "FromClient" ? passages.client : passages.members.get(input.member)
  known?.learn(before, input.bytes, decided, ({ member, ...way }) => {
    const isHeard =
      input._tag === "FromClient"
        ? mustHear(filters, "fromClient", peekClient(input.bytes))
        : mustHear(filters, "toClient", peekDaemon(input.bytes))
    if (isHeard) return undefined
    const channel = member === undefined ? options.client : channels.get(member)
    return channel === undefined ? undefined : { ...way, to: channel.direct ?? channel }
  })
}
