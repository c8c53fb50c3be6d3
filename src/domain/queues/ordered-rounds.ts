/**
 * The order in which received messages are forwarded. A message of a FIFO queue goes after those before it in its
 * group, whatever queues they go to: a message that fails may go to another queue when it comes again.
 *
 * Not here: what is sent together (send-batches.ts).
 */

import type { ReceivedMessage } from "./queue-message.ts"

/** The group whose order counts; `undefined` if the message has none. */
export const groupOf = (message: ReceivedMessage): string | undefined => message.Attributes?.["MessageGroupId"]

/**
 * The messages in rounds. Each round has one message of each group at most, and may go as soon as the round before it
 * has gone. A queue that is not FIFO keeps no order, so all its messages are one round.
 */
export const orderedRounds = (
  messages: ReadonlyArray<ReceivedMessage>,
  isFifo: boolean
): ReadonlyArray<ReadonlyArray<ReceivedMessage>> => {
  if (!isFifo) return [messages]
  const rounds: Array<Array<ReceivedMessage>> = []
  const before = new Map<string | undefined, number>()
  for (const message of messages) {
    const group = groupOf(message)
    const index = before.get(group) ?? 0
    before.set(group, index + 1)
    const round = rounds[index]
    if (round === undefined) rounds.push([message])
    else round.push(message)
  }
  return rounds
}
