/**
 * Amazon SQS in memory, as the port of queues shows it, under the time of Effect's clock: calls take time and fail,
 * polls outlive their client, deleted queues swallow messages for a while. A stand-in for one account and region.
 */

import { Clock, Effect, Fiber } from "effect"
import { messageSize } from "../../src/domain/queues/forwarded-message.ts"
import type { GivenMessage } from "../../src/domain/queues/queue-message.ts"
import {
  type BatchAnswer,
  type MessageQueues,
  QueueError,
  type QueueErrorReason,
  type Receive,
  type SendEntry
} from "../../src/ports/message-queues.ts"
import { type Chance, MemoryQueue } from "./memory-queue.ts"

/** Faults as probabilities, and times in ms. */
export interface QueueFaults {
  /** One way between client and server. */
  latency: number
  /** Of a message that is given, to stay visible. Of a receive, to give the newest messages first. */
  duplicates: number
  reorder: number
  /** Of an entry, to fail alone. Of a call, to be throttled, and to end with a failure of the server. */
  partial: number
  throttles: number
  outages: number
  /** How old counts of messages are. */
  countLag: number
}

export interface QueueCall {
  readonly at: number
  readonly operation: string
  readonly queue: string
  /** The body of the message, or its handle, for each entry of a batch; `undefined` about a call as a whole. */
  readonly entry: string | undefined
}

const defaultBase = "https://sqs.eu-central-1.amazonaws.com/123456789012/"
/** How long a name is not free after its queue was deleted, in ms. */
const tail = 60_000
const maxEntries = 10
const minBatchSize = 262_144

const isEqual = (a: MemoryQueue["attributes"], b: MemoryQueue["attributes"]): boolean =>
  Object.entries(a).every(([key, value]) => b[key] === value)

export class MemoryQueues {
  readonly faults: QueueFaults = {
    latency: 5,
    duplicates: 0,
    reorder: 0,
    partial: 0,
    throttles: 0,
    outages: 0,
    countLag: 0
  }
  /** Decides that a call or an entry fails; chance decides where the answer is `undefined`. */
  refuse: (call: QueueCall) => QueueErrorReason | undefined = () => undefined
  /** Calls and entries in the order in which they reached the server. */
  readonly calls: Array<QueueCall> = []
  /** Bodies of messages that were sent to a deleted queue, and of all that are gone with a deleted queue. */
  readonly lost: Array<string> = []
  /** The beginning of all URLs of the account in the region, with a slash at the end. */
  readonly base: string
  readonly #chance: Chance
  readonly #queues = new Map<string, MemoryQueue>()

  constructor(chance: Chance, base = defaultBase) {
    this.#chance = chance
    this.base = base
  }

  /** Makes a queue at once. Gives its URL. */
  add(name: string, attributes: MemoryQueue["attributes"] = {}, tags: MemoryQueue["tags"] = {}): string {
    this.#queues.set(name, new MemoryQueue(name, { attributes, tags }, this.#chance))
    return `${this.base}${name}`
  }

  /** Bodies of all messages in queues that exist. */
  get bodies(): ReadonlyArray<string> {
    return [...this.#queues.values()].flatMap(({ bodies, deletedAt }) => (deletedAt === undefined ? bodies : []))
  }

  /** The names of queues that exist. */
  get names(): ReadonlyArray<string> {
    return [...this.#queues].flatMap(([name, { deletedAt }]) => (deletedAt === undefined ? [name] : []))
  }

  readonly named = (name: string): MemoryQueue | undefined => this.#queues.get(name)

  /** The queue of a URL, also if it was deleted. */
  at(url: string): MemoryQueue | undefined {
    return url.startsWith(this.base) ? this.#queues.get(url.slice(this.base.length)) : undefined
  }

  /** The port for credentials that `allows` permits operations on queues, by their names. */
  port(allows: (operation: string, name: string) => boolean = () => true): MessageQueues["Service"] {
    const call = <A>(
      operation: string,
      url: string,
      act: (queue: MemoryQueue | undefined, now: number) => Effect.Effect<A, QueueError>
    ) => this.#call(operation, url, allows(operation, url.slice(url.lastIndexOf("/") + 1)), act)
    const onQueue = <A>(
      operation: string,
      url: string,
      act: (queue: MemoryQueue, now: number) => Effect.Effect<A, QueueError>
    ) =>
      call(operation, url, (queue, now) => {
        const isThere = queue !== undefined && queue.deletedAt === undefined
        return isThere ? act(queue, now) : failed(operation, url, "NoQueue")
      })
    return {
      receive: (receive) => onQueue("ReceiveMessage", receive.url, (queue) => this.#poll(queue, receive)),
      sendBatch: (url, entries) => call("SendMessageBatch", url, (queue, now) => this.#send(queue, url, entries, now)),
      deleteBatch: (url, entries) =>
        onQueue("DeleteMessageBatch", url, (queue, now) =>
          this.#batch(
            { now, operation: "DeleteMessageBatch", queue },
            entries,
            ({ ReceiptHandle }) => ReceiptHandle,
            (entry) => queue.remove(entry.ReceiptHandle, now)
          )
        ),
      urlOf: (name) => onQueue("GetQueueUrl", `${this.base}${name}`, () => Effect.succeed(`${this.base}${name}`)),
      attributes: (url) =>
        onQueue("GetQueueAttributes", url, (queue, now) =>
          Effect.succeed({
            ...queue.attributes,
            QueueArn: `arn:aws:sqs:eu-central-1:123456789012:${queue.name}`,
            ...queue.counts(this.faults.countLag, now)
          })
        ),
      tags: (url) => onQueue("ListQueueTags", url, (queue) => Effect.succeed(queue.tags)),
      create: ({ attributes, beside, name, tags }) =>
        call("CreateQueue", `${beside.slice(0, beside.lastIndexOf("/") + 1)}${name}`, (queue, now) => {
          if (queue?.deletedAt !== undefined && now < queue.deletedAt + tail)
            return failed("CreateQueue", name, "DeletedRecently")
          if (queue === undefined || queue.deletedAt !== undefined)
            return Effect.sync(() => this.add(name, attributes, tags))
          return isEqual(attributes, queue.attributes)
            ? Effect.succeed(`${this.base}${name}`)
            : failed("CreateQueue", name, "OtherAttributes")
        }),
      delete: (url) =>
        onQueue("DeleteQueue", url, (queue, now) =>
          Effect.sync(() => {
            queue.delete(now)
            this.lost.push(...queue.bodies)
          })
        )
    }
  }

  /** Carries a call out at the server, whether its client waits for the answer or not. */
  #call<A>(
    operation: string,
    url: string,
    isAllowed: boolean,
    act: (queue: MemoryQueue | undefined, now: number) => Effect.Effect<A, QueueError>
  ): Effect.Effect<A, QueueError> {
    const { latency } = this.faults
    const arrive = Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<A, QueueError> => {
      const queue = this.at(url)
      const noted = this.#reason({ operation, queue: queue?.name ?? url, entry: undefined }, now)
      const reason = isAllowed ? noted : "Denied"
      if (reason !== undefined) return failed(operation, url, reason)
      const done = act(queue, now)
      const isLost = this.#chance.chance(this.faults.outages / 2)
      return isLost ? Effect.andThen(done, () => failed(operation, url, "Unavailable")) : done
    })
    const answer = Effect.result(Effect.andThen(Effect.sleep(latency), arrive)).pipe(
      Effect.tap(() => Effect.sleep(latency))
    )
    return Effect.forkDetach(answer).pipe(Effect.flatMap(Fiber.join), Effect.flatMap(Effect.fromResult))
  }

  /** Notes a call or an entry as it arrives. Gives the reason for which it fails, `undefined` if it does not. */
  #reason(call: Omit<QueueCall, "at">, now: number): QueueErrorReason | undefined {
    const { outages, partial, throttles } = this.faults
    const noted = { ...call, at: now }
    this.calls.push(noted)
    const refused = this.refuse(noted)
    if (refused !== undefined) return refused
    if (call.entry !== undefined) return this.#chance.chance(partial) ? "Unavailable" : undefined
    if (this.#chance.chance(throttles)) return "Throttled"
    return this.#chance.chance(outages / 2) ? "Unavailable" : undefined
  }

  #send(
    queue: MemoryQueue | undefined,
    url: string,
    entries: ReadonlyArray<SendEntry>,
    now: number
  ): Effect.Effect<BatchAnswer, QueueError> {
    const operation = "SendMessageBatch"
    const goneSince = queue?.deletedAt
    const isGone = goneSince !== undefined
    const isSwallowing = isGone && now < goneSince + tail && this.#chance.chance(0.5)
    if (queue === undefined || (isGone && !isSwallowing)) return failed(operation, url, "NoQueue")
    const size = entries.reduce((sum, entry) => sum + messageSize(entry.MessageBody, entry.MessageAttributes), 0)
    if (size > Math.max(minBatchSize, queue.maximumMessageSize)) return failed(operation, url, "Invalid")
    const bodyOf = ({ MessageBody }: SendEntry): string => MessageBody
    return this.#batch({ now, operation, queue }, entries, bodyOf, (entry) => {
      if (isGone) this.lost.push(entry.MessageBody)
      return isGone ? undefined : queue.send(entry, now)
    })
  }

  #batch<Entry extends { readonly Id: string }>(
    { now, operation, queue }: { readonly now: number; readonly operation: string; readonly queue: MemoryQueue },
    entries: ReadonlyArray<Entry>,
    textOf: (entry: Entry) => string,
    act: (entry: Entry) => QueueErrorReason | undefined
  ): Effect.Effect<BatchAnswer, QueueError> {
    const isWell = entries.length > 0 && entries.length <= maxEntries
    if (!isWell || new Set(entries.map(({ Id }) => Id)).size < entries.length)
      return failed(operation, `${this.base}${queue.name}`, "Invalid")
    return Effect.sync(() => {
      const succeeded = new Set<string>()
      const failures: Array<BatchAnswer["failed"][number]> = []
      for (const entry of entries) {
        const reason = this.#reason({ operation, queue: queue.name, entry: textOf(entry) }, now) ?? act(entry)
        if (reason === undefined) succeeded.add(entry.Id)
        else failures.push({ Id: entry.Id, reason, detail: `refused with ${reason}` })
      }
      return { succeeded, failed: failures }
    })
  }

  /** Waits for messages as the server does: to the end of the poll, or to the first that becomes visible. */
  #poll(
    queue: MemoryQueue,
    { max, visibilitySeconds, waitSeconds }: Receive
  ): Effect.Effect<ReadonlyArray<GivenMessage>> {
    const take = (until: number): Effect.Effect<ReadonlyArray<GivenMessage>> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const deadLetter = (entry: Parameters<MemoryQueue["send"]>[0]): void => {
          const { deadLetterTargetArn = "" } = JSON.parse(queue.attributes["RedrivePolicy"] ?? "{}")
          const name: unknown = String(deadLetterTargetArn).split(":").at(-1)
          this.at(`${this.base}${String(name)}`)?.send(entry, now)
        }
        const given =
          queue.deletedAt === undefined
            ? queue.receive({ max, hiddenFor: visibilitySeconds * 1_000 }, this.faults, deadLetter, now)
            : []
        if (given.length > 0 || now >= until || queue.deletedAt !== undefined) return Effect.succeed(given)
        const arrival = Effect.callback<void>((resume) => {
          const wake = (): void => resume(Effect.void)
          queue.waiting.add(wake)
          return Effect.sync(() => queue.waiting.delete(wake))
        })
        // Whole milliseconds, so that the wait ends at that moment and not just before it.
        const next = Math.ceil(Math.min(until, queue.nextVisible(now)) - now)
        return Effect.andThen(Effect.timeoutOption(arrival, next), () => take(until))
      })
    return Effect.flatMap(Clock.currentTimeMillis, (now) => take(now + waitSeconds * 1_000))
  }
}

const failed = (operation: string, queue: string, reason: QueueErrorReason): Effect.Effect<never, QueueError> =>
  Effect.fail(new QueueError({ operation, queue, reason, detail: `refused with ${reason}` }))
