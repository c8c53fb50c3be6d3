/**
 * Hands back to the workload what a session has left in its queue. The session has to be out of the tables of all
 * forwarders before (forwarder.ts).
 *
 * Not here: the end of the queue itself.
 */

import { Clock, Effect, Result } from "effect"
import { messagesIn } from "../../domain/queues/empty-queue.ts"
import { type DestinationQueue, withoutKey } from "../../domain/queues/forwarded-message.ts"
import { isReceived } from "../../domain/queues/queue-message.ts"
import { deletableMessages, queuedSends } from "../../domain/queues/send-batches.ts"
import { visibilitySeconds } from "../../domain/queues/shared-queue.ts"
import { MessageQueues, type QueueError } from "../../ports/message-queues.ts"
import { elapsedOf } from "../kernel/term.ts"
import { deleteAll, mayPass, sendAll, sendUntil } from "./move-messages.ts"
import { BackOff, Outlet } from "./outlet.ts"
import type { QueueSession } from "./split-table.ts"

/** The queue counts as empty after so many looks in a row that find nothing, because counts lag behind. */
const looks = 3
/** Pause between two such looks, in ms. */
const betweenLooks = 20_000
/** How long each look waits for a message, in seconds. */
const lookSeconds = 5

/** The end of a drain. */
export type DrainEnd =
  /** The queue may be deleted: it is empty or gone, or has nothing but copies. */
  | { readonly _tag: "Drained"; readonly moved: number }
  /** Messages are with the session's process, and come back when it gives them up: drain again later. */
  | { readonly _tag: "Hidden"; readonly moved: number; readonly left: number }
  /** The rest cannot be handed back. `left`: messages in the queue; `undefined` if that could not be read. */
  | { readonly _tag: "Failed"; readonly moved: number; readonly left: number | undefined; readonly error: QueueError }

const countLeft = (queues: MessageQueues["Service"], url: string): Effect.Effect<number, QueueError> =>
  Effect.map(queues.attributes(url), messagesIn)

/** Moves what one receive finds. Gives how many messages, and how many are left if it was none. */
const moveSome = Effect.fnUntraced(function* (
  queues: MessageQueues["Service"],
  from: DestinationQueue,
  main: Outlet
): Effect.fn.Return<{ readonly moved: number; readonly left: number }, QueueError> {
  const askedAt = elapsedOf(yield* Clock.Clock)()
  const given = yield* queues.receive({ url: from.url, max: 10, waitSeconds: lookSeconds, visibilitySeconds })
  const messages = given.filter(isReceived).map((message) => withoutKey(message, from.sessionKey))
  const sends = queuedSends(messages, main.queue)
  const gone = deletableMessages(sends, yield* sendAll(queues, main, sends, sendUntil(askedAt)))
  yield* deleteAll(queues, from.url, gone)
  const { error } = main.backOff
  if (gone.length === 0 && error !== undefined && !mayPass(error)) return yield* error
  return { moved: gone.length, left: gone.length === 0 ? yield* countLeft(queues, from.url) : 0 }
})

/**
 * Moves what is left of a session that stole messages to the main queue. Copies of a session that mirrored stay where
 * they are: the workload has these messages already. Failures that may pass are tried again for as long as it takes.
 * `isStopped`: whether the drain is to end after its last batch.
 */
export const drainSession = Effect.fnUntraced(function* (
  { mode, queue }: Pick<QueueSession, "mode" | "queue">,
  mainQueue: DestinationQueue,
  isStopped: () => boolean = () => false
): Effect.fn.Return<DrainEnd, never, MessageQueues> {
  const queues = yield* MessageQueues
  const elapsed = elapsedOf(yield* Clock.Clock)
  const main = new Outlet(mainQueue)
  const backOff = new BackOff()
  let moved = 0
  let left = 0
  for (let quiet = 0; mode === "steal" && quiet < looks && !isStopped();) {
    if (quiet > 0) yield* Effect.sleep(betweenLooks)
    const result = yield* Effect.result(moveSome(queues, queue, main))
    if (Result.isSuccess(result)) {
      const some = result.success
      quiet = some.moved > 0 ? 0 : quiet + 1
      moved += some.moved
      left = quiet > 1 ? Math.max(left, some.left) : some.left
      backOff.succeeded()
      continue
    }
    const error = result.failure
    if (error.reason === "NoQueue" && error.queue === queue.url) return { _tag: "Drained", moved }
    if (!mayPass(error)) {
      const count = yield* Effect.result(countLeft(queues, queue.url))
      return { _tag: "Failed", moved, left: Result.isSuccess(count) ? count.success : undefined, error }
    }
    yield* backOff.failed(error)
    yield* Effect.sleep(backOff.wait(elapsed()))
  }
  return left === 0 ? { _tag: "Drained", moved } : { _tag: "Hidden", moved, left }
})
