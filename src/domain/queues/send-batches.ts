/**
 * Puts received messages into batches, and says which of them may be deleted.
 *
 * For each queue: {@link nextBatch} until nothing is left, each followed by {@link afterBatch}. Then
 * {@link deletableMessages}, once for all queues.
 *
 * Not here: what is sent (forwarded-message.ts).
 */

import { type DestinationQueue, type ForwardedMessage, forwardedMessage, messageSize } from "./forwarded-message.ts"
import type { ReceivedMessage } from "./queue-message.ts"

/** One message on its way to one queue. */
export interface QueuedSend {
  readonly source: ReceivedMessage
  /** An entry of `SendMessageBatch`. */
  readonly entry: ForwardedMessage & { readonly Id: string }
  /** Bytes that count against the limit of a batch. */
  readonly size: number
  /** The group whose order counts; `undefined` on queues that keep no order. */
  readonly group: string | undefined
}

/** Entries of one batch, at most (AWS, SendMessageBatch and DeleteMessageBatch). */
export const maxEntries = 10
/** Bytes of one batch that every queue takes. A queue that takes larger messages takes a batch as large as one. */
const safeBatchSize = 262_144

/** The largest batch that a queue takes, in bytes. */
export const batchSize = ({ maximumMessageSize }: DestinationQueue): number =>
  Math.max(safeBatchSize, maximumMessageSize)

/** The sends to one queue, in the order in which the messages were received. */
export const queuedSends = (
  messages: ReadonlyArray<ReceivedMessage>,
  queue: DestinationQueue
): ReadonlyArray<QueuedSend> =>
  messages.map((source, index) => {
    const forwarded = forwardedMessage(source, queue)
    return {
      source,
      entry: { Id: String(index), ...forwarded },
      size: messageSize(forwarded.MessageBody, forwarded.MessageAttributes),
      group: queue.isFifo ? forwarded.MessageGroupId : undefined
    }
  })

export interface Batch {
  readonly batch: ReadonlyArray<QueuedSend>
  readonly rest: ReadonlyArray<QueuedSend>
}

/**
 * The next batch to a queue. It has one message of a group at most: a message that fails inside of a batch would be
 * overtaken by a later one of its group. `size`: bytes of one batch; a message that is larger goes alone.
 */
export const nextBatch = (waiting: ReadonlyArray<QueuedSend>, size: number): Batch => {
  const batch: Array<QueuedSend> = []
  const rest: Array<QueuedSend> = []
  const groups = new Set<string>()
  let left = size
  for (const send of waiting) {
    const isBehind = send.group !== undefined && groups.has(send.group)
    const fits = batch.length === 0 || (batch.length < maxEntries && send.size <= left)
    if (send.group !== undefined) groups.add(send.group)
    if (isBehind || !fits) {
      rest.push(send)
      continue
    }
    batch.push(send)
    left -= send.size
  }
  return { batch, rest }
}

/**
 * After a batch: the sends that succeeded, and those that are still to be made. Messages of a group stay where they are
 * as soon as one of them failed. `ids`: those that the answer names as successful; all others count as failed.
 */
export const afterBatch = (
  { batch, rest }: Batch,
  ids: ReadonlySet<string>
): { readonly sent: ReadonlyArray<QueuedSend>; readonly waiting: ReadonlyArray<QueuedSend> } => {
  const stopped = new Set(batch.filter(({ entry }) => !ids.has(entry.Id)).map(({ group }) => group))
  return {
    sent: batch.filter(({ entry }) => ids.has(entry.Id)),
    waiting: rest.filter(({ group }) => group === undefined || !stopped.has(group))
  }
}

/** The messages that may be deleted from the original: those whose every send succeeded, and that had one. */
export const deletableMessages = (
  sends: ReadonlyArray<QueuedSend>,
  sent: ReadonlySet<QueuedSend>
): ReadonlyArray<ReceivedMessage> => {
  const failed = new Set(sends.filter((send) => !sent.has(send)).map(({ source }) => source))
  return [...new Set(sends.map(({ source }) => source))].filter((source) => !failed.has(source))
}
