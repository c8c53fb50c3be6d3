/**
 * The port for the queues of Amazon SQS, as this operator's credentials may use them. Messages have the form of its API
 * (domain/queues/queue-message.ts).
 *
 * A call is made once and repeated by its caller alone: a send that is repeated out of sight could arrive after its
 * message has become visible again. A call ends within {@link callLimit}, a poll within its wait beside that. A call
 * that is interrupted may still be carried out, and a poll that is interrupted still takes the next messages.
 */

import { Context, Data, type Effect } from "effect"
import type { ForwardedMessage } from "../domain/queues/forwarded-message.ts"
import type { queueFailureReasons } from "../domain/queues/queue-failure-reason.ts"
import type { GivenMessage } from "../domain/queues/queue-message.ts"

/** How long a call may take, in ms. After that it fails as `Unavailable`. */
export const callLimit = 10_000

/** The reason why a call failed. */
export type QueueErrorReason = (typeof queueFailureReasons)[number]

/** The failure of a call. `detail` is a clause without a full stop, and holds nothing of a message. */
export class QueueError extends Data.TaggedError("QueueError")<{
  /** The operation by its name in the API of SQS. */
  readonly operation: string
  /** URL of the queue, or its name where there is no URL yet. */
  readonly queue: string
  readonly reason: QueueErrorReason
  readonly detail: string
}> {
  override get message(): string {
    return `${this.operation} of ${this.queue}: ${this.detail}`
  }
}

export interface Receive {
  readonly url: string
  /** Messages, from 1 to 10. */
  readonly max: number
  /** How long the server waits for a first message, in whole seconds from 0 to 20. */
  readonly waitSeconds: number
  /** How long the messages are hidden from others, in whole seconds; the queue's own timeout does not count. */
  readonly visibilitySeconds: number
}

/** An entry of a batch that failed while the call did not. */
export interface FailedEntry {
  readonly Id: string
  readonly reason: QueueErrorReason
  readonly detail: string
}

/** The answer to a batch. An entry that is in neither list counts as failed. */
export interface BatchAnswer {
  /** Ids of the entries that succeeded. */
  readonly succeeded: ReadonlySet<string>
  readonly failed: ReadonlyArray<FailedEntry>
}

export type SendEntry = ForwardedMessage & { readonly Id: string }

export interface DeleteEntry {
  readonly Id: string
  readonly ReceiptHandle: string
}

/** A queue to make. */
export interface NewQueue {
  readonly name: string
  /** URL of a queue whose region and account the new queue gets. */
  readonly beside: string
  readonly attributes: Readonly<Record<string, string>>
  readonly tags: Readonly<Record<string, string>>
}

type Call<A> = Effect.Effect<A, QueueError>

export class MessageQueues extends Context.Service<
  MessageQueues,
  {
    /** All attributes of each message are asked for. */
    readonly receive: (receive: Receive) => Call<ReadonlyArray<GivenMessage>>
    /** Entries: from 1 to 10, with different ids. */
    readonly sendBatch: (url: string, entries: ReadonlyArray<SendEntry>) => Call<BatchAnswer>
    readonly deleteBatch: (url: string, entries: ReadonlyArray<DeleteEntry>) => Call<BatchAnswer>
    /** URL of the queue of this name, in the account and region of the credentials. */
    readonly urlOf: (name: string) => Call<string>
    /** All attributes by their names in the API of SQS. Counts of messages are approximate, and may be minutes old. */
    readonly attributes: (url: string) => Call<Readonly<Record<string, string>>>
    readonly tags: (url: string) => Call<Readonly<Record<string, string>>>
    /** The URL of the queue, also if there was one with the same attributes already. */
    readonly create: (queue: NewQueue) => Call<string>
    /** Until 60 s later, sends to the queue may succeed and be lost. */
    readonly delete: (url: string) => Call<void>
  }
>()("braid/ports/MessageQueues") {}
