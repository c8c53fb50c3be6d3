/**
 * The queues as a leader may change them. A receive changes too: it hides messages from the next leader.
 *
 * Not here: the rest of the world (while-leading.ts).
 */

import { Effect } from "effect"
import { type MessageQueues, QueueError } from "../../ports/message-queues.ts"
import type { Term } from "../kernel/term.ts"
import { whyNotLeading } from "./while-leading.ts"

/** A port whose calls fail as `NotLeading` once the term does not last, at the moment when they would leave. */
export const queuesWhileLeading = (term: Term, queues: MessageQueues["Service"]): MessageQueues["Service"] => {
  const led = <A>(operation: string, queue: string, call: Effect.Effect<A, QueueError>): Effect.Effect<A, QueueError> =>
    Effect.suspend(() => {
      const error = new QueueError({ operation, queue, reason: "NotLeading", detail: whyNotLeading })
      return term.lasts() ? call : Effect.fail(error)
    })
  return {
    ...queues,
    receive: (receive) => led("ReceiveMessage", receive.url, queues.receive(receive)),
    sendBatch: (url, entries) => led("SendMessageBatch", url, queues.sendBatch(url, entries)),
    deleteBatch: (url, entries) => led("DeleteMessageBatch", url, queues.deleteBatch(url, entries)),
    create: (queue) => led("CreateQueue", queue.name, queues.create(queue)),
    delete: (url) => led("DeleteQueue", url, queues.delete(url))
  }
}
