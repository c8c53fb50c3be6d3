import { Effect, Exit, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import { MemoryQueues } from "../../../lab/queues/memory-queues.ts"
import { RandomStream } from "../../../lab/simulation/kernel/random-stream.ts"
import { provideBrokers } from "../../../src/app/queues/brokers.ts"
import { drainSession } from "../../../src/app/queues/drain-session.ts"
import type { SourceQueue } from "../../../src/app/queues/forward-batch.ts"
import { type Forwarder, type ForwarderReport, makeForwarder } from "../../../src/app/queues/forwarder.ts"
import type { QueueSession } from "../../../src/app/queues/split-table.ts"
import type { DestinationQueue } from "../../../src/domain/queues/forwarded-message.ts"
import { readMessageFilter } from "../../../src/domain/queues/message-filter.ts"
import { JqFailed, type JqPrograms } from "../../../src/ports/jq-programs.ts"
import { StoredObjectError, type StoredObjects } from "../../../src/ports/stored-objects.ts"

/** Programs of these tests: a text that the body or the limit has, or the word for what goes wrong. */
export const jq: JqPrograms["Service"] = {
  check: () => Effect.void,
  run: ({ inputs, limit, program }) => {
    if (program === "endless") return Effect.never
    const answers = Effect.succeed(
      inputs.map((input) => ["no verdict", JSON.stringify([input, limit]).includes(program), true])
    )
    if (program === "slow") return Effect.delay(answers, 400 * inputs.length)
    if (program === "late")
      return Effect.fail(new JqFailed({ reason: "TooSlow", detail: "it took longer than 200 ms" }))
    return answers
  }
}

/** A server of objects that has none. */
export const noObjects: StoredObjects["Service"] = {
  metadata: ({ bucket }) => Effect.fail(new StoredObjectError({ bucket, detail: "the object is gone" }))
}

export interface SessionOptions {
  readonly mode?: "steal" | "mirror"
  readonly startedAt?: number
  readonly program?: string
}

/** A split queue on the twin of SQS: `orders`, with a main queue and sessions that want messages `to` them. */
export class SplitWorld {
  readonly sqs: MemoryQueues
  readonly reports: Array<ForwarderReport> = []
  readonly bodies: Array<string> = []
  readonly isFifo: boolean
  storedObjects = noObjects
  readonly orders: string
  readonly main: DestinationQueue
  /** Messages that a call found in no queue: there must never be any. */
  readonly missing = new Set<string>()
  options: Partial<SourceQueue> = {}
  refuse: MemoryQueues["refuse"] = () => undefined
  allows: (operation: string, name: string) => boolean = () => true

  constructor(isFifo = false, seed = "split", attributes: Readonly<Record<string, string>> = {}) {
    this.sqs = new MemoryQueues(new RandomStream(seed))
    this.sqs.refuse = (call) => {
      this.look()
      return this.refuse(call)
    }
    this.isFifo = isFifo
    this.orders = this.sqs.add(this.#name("orders"), attributes)
    this.main = this.queue("main")
  }

  look(): void {
    const there = new Set(this.sqs.bodies)
    for (const body of this.bodies) if (!there.has(body)) this.missing.add(body)
  }

  #name = (name: string): string => (this.isFifo ? `${name}.fifo` : name)

  queue(name: string, sessionKey?: string): DestinationQueue {
    const url = this.sqs.add(this.#name(name))
    return { url, isFifo: this.isFifo, maximumMessageSize: 262_144, sessionKey }
  }

  /** A session that wants the messages to it, or those that its program finds. Each call makes a new queue. */
  session(name: string, { mode = "steal", program, startedAt = 1 }: SessionOptions = {}): QueueSession {
    const attributes = program === undefined ? { to: `(^|,)${name}(,|$)` } : {}
    const filter = Result.getOrThrow(readMessageFilter({ attributes, program }))
    const id = BigInt(name.charCodeAt(0))
    return { id, startedAt, mode, filter, queue: this.queue(name, name) }
  }

  /** Puts a message into the original at once. */
  put(body: string, { to = "", group = "g", dedup = body, attributes = 1 } = {}): void {
    this.bodies.push(body)
    const text = { DataType: "String", StringValue: to }
    const names = Array.from({ length: attributes }, (_, i) => (i === 0 ? "to" : `other${i}`))
    const refused = this.sqs.at(this.orders)?.send(
      {
        MessageBody: body,
        MessageAttributes: Object.fromEntries(names.map((name) => [name, text])),
        ...(this.isFifo && { MessageGroupId: group, MessageDeduplicationId: dedup })
      },
      this.now
    )
    if (refused !== undefined) throw new Error(`the twin refused ${body}: ${refused}`)
  }

  /** The time, ms. */
  now = 0

  pass(ms: number): Effect.Effect<void> {
    this.now += ms
    return TestClock.adjust(ms)
  }

  /** The bodies in a queue, in its order. */
  in(queue: { readonly url: string } | string): ReadonlyArray<string> {
    return this.sqs.at(typeof queue === "string" ? queue : queue.url)?.bodies ?? []
  }

  provide = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(provideBrokers({ queues: this.sqs.port(this.allows), jq, storedObjects: this.storedObjects }))

  /** Starts a forwarder. `crash` ends it in the middle of what it does. */
  start(
    ...sessions: ReadonlyArray<QueueSession>
  ): Effect.Effect<{ readonly forwarder: Forwarder; readonly crash: Effect.Effect<void> }> {
    return Effect.gen({ self: this }, function* () {
      const scope = yield* Scope.make()
      const source = {
        url: this.orders,
        isFifo: this.isFifo,
        sns: false,
        jqLimit: 200,
        ...this.options
      }
      const report = (news: ForwarderReport): void => void this.reports.push(news)
      const forwarder = yield* this.provide(makeForwarder({ source, main: this.main, report })).pipe(
        Scope.provide(scope)
      )
      yield* forwarder.changeSessions(sessions)
      return { forwarder, crash: Scope.close(scope, Exit.void) }
    })
  }

  /** Deletes a queue, with all that is in it. */
  remove({ url }: { readonly url: string }): Effect.Effect<void> {
    return Effect.orDie(this.sqs.port().delete(url))
  }

  drain(session: QueueSession) {
    return this.provide(drainSession(session, this.main))
  }

  /** Entries of one operation that reached a queue, as the twin noted them. */
  entries(operation: string, queue: { readonly url: string } | string) {
    const name = this.sqs.at(typeof queue === "string" ? queue : queue.url)?.name
    return this.sqs.calls.filter((call) => call.operation === operation && call.queue === name)
  }
}
