/** How long messages are under way from their send until a reader has them: straight, and through a split. */

import { Deferred, Effect } from "effect"
import { MessageQueues } from "../../../src/ports/message-queues.ts"
import { median } from "../spread.ts"
import { attributes, forward, makeQueues } from "./bench-split.ts"

/** Senders at the same time. Each sends its next messages when those before them have come. */
interface Load {
  readonly senders: number
  /** Messages of one send. */
  readonly size: number
  /** Sends of one sender. */
  readonly turns: number
}

/** ms. */
export interface Delay {
  readonly p50: number
  readonly p99: number
}

interface Sent {
  readonly at: number
  left: number
  readonly came: Deferred.Deferred<void>
}

const delayOf = (times: ReadonlyArray<number>): Delay => {
  const sorted = times.toSorted((a, b) => a - b)
  return { p50: median(sorted), p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0 }
}

/** Sends to a queue, and reads the others until all has come. Gives the delays at each of them. */
const measure = Effect.fnUntraced(function* (from: string, to: ReadonlyArray<string>, { senders, size, turns }: Load) {
  const queues = yield* MessageQueues
  const underWay = new Map<string, Sent>()
  const read = Effect.fnUntraced(function* (url: string, times: Array<number>) {
    for (;;) {
      const messages = yield* queues.receive({ url, max: 10, waitSeconds: 5, visibilitySeconds: 30 })
      for (const { Body = "" } of messages) {
        const sent = underWay.get(Body)
        if (sent === undefined) throw new Error(`a message came that was not sent: ${Body}`)
        times.push(performance.now() - sent.at)
        if (--sent.left === 0) yield* Deferred.succeed(sent.came, undefined)
      }
      const entries = messages.map(({ ReceiptHandle = "" }, at) => ({ Id: String(at), ReceiptHandle }))
      if (entries.length > 0) yield* queues.deleteBatch(url, entries)
    }
  })
  const send = Effect.fnUntraced(function* (sender: number) {
    for (let turn = 0; turn < turns; turn++) {
      const body = `${sender} ${turn}`
      const sent: Sent = { at: performance.now(), left: size, came: yield* Deferred.make<void>() }
      underWay.set(body, sent)
      // Half of the messages that are sent alone are the session's, and one of ten that are sent together.
      const entries = Array.from({ length: size }, (_, at) => ({
        Id: String(at),
        MessageBody: body,
        MessageAttributes: attributes(5 * turn + at)
      }))
      yield* queues.sendBatch(from, entries)
      yield* Deferred.await(sent.came)
    }
  })
  const times = new Map(to.map((url) => [url, new Array<number>()]))
  const reading = Effect.forEach(times, ([url, list]) => read(url, list), { concurrency: "unbounded" })
  const sending = Effect.forEach(Array.from({ length: senders }).keys(), send, { concurrency: "unbounded" })
  yield* Effect.raceFirst(sending, reading)
  return to.map((url) => delayOf(times.get(url) ?? []))
})

/** The delays of the same messages, straight and at the queues of a split. `name`: of new queues on the server. */
export const measureDelays = Effect.fnUntraced(function* (beside: string, name: string, load: Load) {
  const direct = yield* makeQueues(beside, `${name}-straight`)
  const [straight] = yield* measure(direct.main, [direct.main], load)
  const split = yield* makeQueues(beside, `${name}-split`)
  yield* forward(split)
  const [main, session] = yield* measure(split.original, [split.main, split.session], load)
  return { straight, main, session }
}, Effect.scoped)
