/**
 * Sends received messages to one queue, and deletes them where they came from, with repetitions.
 *
 * Not here: which messages, and where they go (forward-batch.ts, drain-session.ts).
 */

import { Array as Arr, Clock, Effect, Random, Result } from "effect"
import type { ReceivedMessage } from "../../domain/queues/queue-message.ts"
import { afterBatch, batchSize, maxEntries, nextBatch, type QueuedSend } from "../../domain/queues/send-batches.ts"
import { visibilitySeconds } from "../../domain/queues/shared-queue.ts"
import { type BatchAnswer, callLimit, type MessageQueues, QueueError } from "../../ports/message-queues.ts"
import { elapsedOf } from "../kernel/term.ts"
import type { Outlet } from "./outlet.ts"

/** The moment after which no message is sent: a call that has begun ends before the message becomes visible again. */
export const sendUntil = (askedAt: number): number => askedAt + visibilitySeconds * 1_000 - callLimit - 2_000

/** How long a batch waits for one queue that fails, in ms. Longer pauses are left to later batches. */
const patience = 1_000
/** Tries of a delete, and the pause before the second in ms. */
const deleteTries = 4
const deletePause = 100

/** Whether a failure may pass by itself soon. */
export const mayPass = ({ reason }: Pick<QueueError, "reason">): boolean =>
  reason === "Throttled" || reason === "Unavailable"

/** A batch of which no entry succeeded is a failure of its queue, unless the messages themselves are refused. */
const failureOf = (url: string, { failed, succeeded }: BatchAnswer): QueueError | undefined => {
  const [first] = failed.filter(({ reason }) => reason !== "Invalid")
  if (succeeded.size > 0 || first === undefined) return undefined
  return new QueueError({ operation: "SendMessageBatch", queue: url, reason: first.reason, detail: first.detail })
}

/** Waits for the queue's pause. False if nothing may be sent there now. */
const isOpen = Effect.fnUntraced(function* (outlet: Outlet, until: number): Effect.fn.Return<boolean> {
  const elapsed = elapsedOf(yield* Clock.Clock)
  const pause = outlet.backOff.wait(elapsed())
  if (pause > patience) return false
  if (pause > 0) yield* Effect.sleep(pause)
  return !outlet.isClosed && elapsed() < until
})

/**
 * Makes sends to one queue, none after the moment `until` of the steady clock. Gives those that succeeded; the others'
 * messages have to stay where they are. A queue that does not exist is closed.
 */
export const sendAll = Effect.fnUntraced(function* (
  queues: MessageQueues["Service"],
  outlet: Outlet,
  sends: ReadonlyArray<QueuedSend>,
  until: number
): Effect.fn.Return<ReadonlySet<QueuedSend>> {
  const { backOff, queue } = outlet
  const sent = new Set<QueuedSend>()
  let waiting = sends
  while (waiting.length > 0 && (yield* isOpen(outlet, until))) {
    const next = nextBatch(waiting, batchSize(queue))
    const answer = yield* Effect.result(
      queues.sendBatch(
        queue.url,
        next.batch.map(({ entry }) => entry)
      )
    )
    const error = Result.isFailure(answer) ? answer.failure : failureOf(queue.url, answer.success)
    if (error === undefined) backOff.succeeded()
    else yield* backOff.failed(error)
    if (Result.isSuccess(answer)) {
      const after = afterBatch(next, answer.success.succeeded)
      for (const send of after.sent) sent.add(send)
      waiting = after.waiting
    } else if (!mayPass(answer.failure)) {
      outlet.isClosed ||= answer.failure.reason === "NoQueue"
      break
    }
  }
  outlet.hasSent(sent.size)
  return sent
})

const deleteBatch = Effect.fnUntraced(function* (
  queues: MessageQueues["Service"],
  url: string,
  messages: ReadonlyArray<ReceivedMessage>
): Effect.fn.Return<void, QueueError> {
  let left = messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }))
  for (let tries = 1; left.length > 0; tries++) {
    const answer = yield* Effect.result(queues.deleteBatch(url, left))
    if (Result.isSuccess(answer)) {
      const passing = new Set(answer.success.failed.filter(mayPass).map(({ Id }) => Id))
      left = left.filter(({ Id }) => passing.has(Id))
    } else if (!mayPass(answer.failure) || tries === deleteTries) return yield* answer.failure
    if (left.length === 0 || tries === deleteTries) return
    yield* Effect.sleep(deletePause * 2 ** tries * (yield* Random.nextBetween(0.5, 1)))
  }
})

/**
 * Deletes messages that have gone elsewhere. Those that cannot be deleted come again, and so do all of a batch if it
 * fails, which is when its last try failed or no other can succeed.
 */
export const deleteAll = Effect.fnUntraced(function* (
  queues: MessageQueues["Service"],
  url: string,
  messages: ReadonlyArray<ReceivedMessage>
): Effect.fn.Return<void, QueueError> {
  const results = yield* Effect.forEach(
    Arr.chunksOf(messages, maxEntries),
    (some) => Effect.result(deleteBatch(queues, url, some)),
    { concurrency: "unbounded" }
  )
  for (const result of results) yield* Effect.fromResult(result)
})
