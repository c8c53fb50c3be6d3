/**
 * Measures the split of a queue on ElasticMQ: messages a second and calls for a message, against bare loops of receive,
 * send and delete on the same server, and how long a message is under way, against a queue without a split. Before, on
 * queues in memory, the memory that a million messages take.
 */

import {
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient
} from "@aws-sdk/client-sqs"
import { Effect, Layer } from "effect"
import { freePort } from "../../lab/playground/free-ports.ts"
import { startElasticMq } from "../../lab/playground/queues/elasticmq.ts"
import { s3Objects } from "../../src/adapters/aws/s3-objects.ts"
import { sqsQueues } from "../../src/adapters/aws/sqs-queues.ts"
import { jqPrograms } from "../../src/adapters/jq/jq-programs.ts"
import { MessageQueues } from "../../src/ports/message-queues.ts"
import { attributes, forward, forwardedBy, makeQueues, oneOf, type Queues } from "./queues/bench-split.ts"
import { measureDelays } from "./queues/delays.ts"
import { heldMemory } from "./queues/held-memory.ts"
import { median, spread } from "./spread.ts"

const bodyBytes = 500
/** Senders of a loaded queue. Each has ten messages under way. */
const busy = 4

type Delays = Effect.Success<ReturnType<typeof measureDelays>>
interface Measured {
  readonly perSecond: number
  readonly callsEach: number
}

const fill = Effect.fnUntraced(function* (url: string, count: number) {
  const queues = yield* MessageQueues
  const batch = (first: number) =>
    queues.sendBatch(
      url,
      Array.from({ length: 10 }, (_, at) => ({
        Id: String(at),
        MessageBody: "x".repeat(bodyBytes),
        MessageAttributes: attributes(first + at)
      }))
    )
  const firsts = Array.from({ length: count / 10 }, (_, at) => at * 10)
  yield* Effect.forEach(firsts, batch, { concurrency: 8, discard: true })
})

const measured = (count: number, began: number, calls: number): Measured => ({
  perSecond: count / ((performance.now() - began) / 1_000),
  callsEach: calls / count
})

const measureOurs = Effect.fnUntraced(function* (queues: Queues, count: number) {
  const began = performance.now()
  const forwarder = yield* forward(queues)
  while (forwardedBy(forwarder) < count) yield* Effect.sleep("1 millis")
  const result = measured(count, began, forwarder.counts().calls)
  yield* forwarder.stop
  return result
})

/** Loops that move everything to one queue, without a look at it. */
const measureBare = async ({ main, original }: Queues, count: number, loops: number): Promise<Measured> => {
  const client = new SQSClient({ region: "us-east-1", useQueueUrlAsEndpoint: false })
  let [moved, calls] = [0, 0]
  const began = performance.now()
  const loop = async (): Promise<void> => {
    while (moved < count) {
      const asked = { QueueUrl: original, MaxNumberOfMessages: 10, MessageAttributeNames: ["All"], WaitTimeSeconds: 1 }
      const { Messages = [] } = await client.send(new ReceiveMessageCommand(asked))
      calls++
      if (Messages.length === 0) continue
      const named = Messages.map((message, at) => ({ ...message, Id: String(at) }))
      await client.send(
        new SendMessageBatchCommand({
          QueueUrl: main,
          Entries: named.map(({ Body, Id, MessageAttributes }) => ({ Id, MessageBody: Body, MessageAttributes }))
        })
      )
      const Entries = named.map(({ Id, ReceiptHandle }) => ({ Id, ReceiptHandle }))
      await client.send(new DeleteMessageBatchCommand({ QueueUrl: original, Entries }))
      calls += 2
      moved += Messages.length
    }
  }
  await Promise.all(Array.from({ length: loops }, loop))
  client.destroy()
  return measured(count, began, calls)
}

const row = (name: string, all: ReadonlyArray<Measured>, base: ReadonlyArray<Measured>): string => {
  const ratio = (of: (one: Measured) => number): string => (median(all.map(of)) / median(base.map(of))).toFixed(2)
  const speed = spread(all.map(({ perSecond }) => perSecond))
  const calls = spread(
    all.map(({ callsEach }) => callsEach),
    2
  )
  return (
    `  ${name.padEnd(14)} ${speed.padEnd(20)} ×${ratio((one) => one.perSecond)}` +
    `   calls each ${calls} ×${ratio((one) => one.callsEach)}`
  )
}

/** ms at p50 and p99 of the rounds, and how much more the p99 is than that of the straight way in the same round. */
const delayRows = (load: string, all: ReadonlyArray<Delays>) =>
  (["straight", "main", "session"] as const).map((way) => {
    const [p50, p99] = (["p50", "p99"] as const).map((at) =>
      spread(
        all.map((one) => one[way]?.[at] ?? NaN),
        1
      )
    )
    const added = all.map((one) => (one[way]?.p99 ?? NaN) - (one.straight?.p99 ?? NaN))
    return (
      `  ${`${load}, ${way}`.padEnd(18)} ${p50?.padEnd(18)} ${p99?.padEnd(20)}` +
      (way === "straight" ? "" : ` ${spread(added, 1)}`)
    )
  })

/** Delays without other messages, and while {@link busy} senders have ten messages under way each. */
const delays = Effect.fnUntraced(function* (beside: string, rounds: number) {
  const idle = { senders: 1, size: 1, turns: 600 }
  const loaded = { senders: busy, size: 10, turns: 50 }
  const all = { idle: new Array<Delays>(), loaded: new Array<Delays>() }
  for (let round = 0; round < rounds; round++) {
    all.idle.push(yield* measureDelays(beside, `idle-${round}`, idle))
    all.loaded.push(yield* measureDelays(beside, `loaded-${round}`, loaded))
  }
  return [...delayRows("idle", all.idle), ...delayRows("loaded", all.loaded)]
})

const throughput = Effect.fnUntraced(function* (beside: string, rounds: number, count: number) {
  const all = { bare: new Array<Measured>(), one: new Array<Measured>(), ours: new Array<Measured>() }
  for (let round = 0; round < rounds; round++)
    for (const way of ["ours", "bare", "one"] as const) {
      const made = yield* makeQueues(beside, `${way}-${round}`)
      yield* fill(made.original, count)
      const ours = Effect.scoped(measureOurs(made, count))
      const bare = Effect.promise(() => measureBare(made, count, way === "one" ? 1 : 8))
      all[way].push(yield* way === "ours" ? ours : bare)
    }
  return [
    row("bare, 8 loops", all.bare, all.bare),
    row("bare, one loop", all.one, all.bare),
    row("split", all.ours, all.bare)
  ]
})

const memoryRows = Effect.map(
  Effect.provide(heldMemory([100_000, 500_000, 1_000_000], bodyBytes), Layer.merge(jqPrograms, s3Objects)),
  (found) =>
    found.map(({ heap, messages, resident }) => {
      const [first = { heap, resident }] = found
      const ratio = (now: number, then: number): string => `${now.toFixed(0)} ×${(now / then).toFixed(2)}`
      return (
        `  after ${String(messages).padEnd(9)} heap ${ratio(heap, first.heap).padEnd(10)} ` +
        `resident ${ratio(resident, first.resident)}`
      )
    })
)

/** `npm run bench -- queues`. */
export async function* queues(isShort: boolean): AsyncIterable<string> {
  // First, while nothing else has grown.
  const memory = await Effect.runPromise(memoryRows)
  yield `memory of this process in MiB, messages of ${bodyBytes} B on queues in memory`
  yield* memory
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_SQS: endpoint,
    AWS_ACCESS_KEY_ID: "AKIAEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_REGION: "us-east-1"
  })
  const [rounds, count] = isShort ? [3, 2_000] : [7, 10_000]
  const beside = `${endpoint}/000000000000/none`
  const measure = Effect.gen(function* () {
    yield* startElasticMq({ port })
    return { speed: yield* throughput(beside, rounds, count), delay: yield* delays(beside, rounds) }
  })
  const { delay, speed } = await Effect.runPromise(
    Effect.scoped(Effect.provide(measure, Layer.mergeAll(sqsQueues, jqPrograms, s3Objects)))
  )
  yield `messages a second, ${count} of ${bodyBytes} B with two attributes, one in ${oneOf} for a session`
  yield* speed
  yield "a message from its send to its reader, ms: p50, p99, and what the split adds to the p99"
  yield* delay
}
