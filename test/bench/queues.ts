/**
 * Measures the split of a queue on ElasticMQ: messages a second and calls for a message, against bare loops of receive,
 * send and delete on the same server, and the time that a message is under way.
 */

import {
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient
} from "@aws-sdk/client-sqs"
import { Effect, Layer, Result } from "effect"
import { freePort } from "../../lab/playground/free-ports.ts"
import { startElasticMq } from "../../lab/playground/queues/elasticmq.ts"
import { sqsQueues } from "../../src/adapters/aws/sqs-queues.ts"
import { jqPrograms } from "../../src/adapters/jq/jq-programs.ts"
import { type Forwarder, makeForwarder } from "../../src/app/queues/forwarder.ts"
import { readMessageFilter } from "../../src/domain/queues/message-filter.ts"
import { MessageQueues } from "../../src/ports/message-queues.ts"
import { median, spread } from "./spread.ts"

const bodyBytes = 500
/** Of so many messages one is the session's. */
const oneOf = 10

interface Measured {
  readonly perSecond: number
  readonly callsEach: number
}

const destination = (url: string, sessionKey?: string) => ({
  url,
  isFifo: false,
  maximumMessageSize: 262_144,
  sessionKey
})

const attributes = (index: number) => ({
  user: { DataType: "String", StringValue: index % oneOf === 0 ? "ann" : `user-${index}` },
  count: { DataType: "Number", StringValue: String(index) }
})

/** New queues, by what they are for. */
const makeQueues = Effect.fnUntraced(function* (beside: string, name: string) {
  const queues = yield* MessageQueues
  const make = (role: string) => queues.create({ name: `${name}-${role}`, beside, attributes: {}, tags: {} })
  return { original: yield* make("original"), main: yield* make("main"), session: yield* make("session") }
})
type Queues = Effect.Success<ReturnType<typeof makeQueues>>

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

/** A forwarder with a session that wants the messages of one user. */
const forward = Effect.fnUntraced(function* ({ main, original, session }: Queues) {
  const filter = Result.getOrThrow(readMessageFilter({ attributes: { user: "^ann$" }, program: undefined }))
  const forwarder = yield* makeForwarder({
    source: { url: original, isFifo: false, sns: false, jqLimit: 200, s3Metadata: undefined },
    main: destination(main),
    report: (report) => {
      throw new Error(JSON.stringify(report))
    }
  })
  yield* forwarder.changeSessions([
    { id: 1n, startedAt: 0, mode: "steal", filter, queue: destination(session, "bench") }
  ])
  return forwarder
})

const forwardedBy = (forwarder: Forwarder): number =>
  forwarder.counts().forwardedToMain + forwarder.counts().sessions.reduce((sum, { forwarded }) => sum + forwarded, 0)

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

/** Sends messages one after the other, and waits for each of them at another queue; in ms. */
const delays = Effect.fnUntraced(function* (from: string, to: string, count: number) {
  const queues = yield* MessageQueues
  const times: Array<number> = []
  for (let index = 0; index < count; index++) {
    const began = performance.now()
    yield* queues.sendBatch(from, [{ Id: "0", MessageBody: "x", MessageAttributes: attributes(0) }])
    const [message] = yield* queues.receive({ url: to, max: 1, waitSeconds: 5, visibilitySeconds: 30 })
    if (message?.ReceiptHandle === undefined) throw new Error("a message did not come within 5 s")
    times.push(performance.now() - began)
    yield* queues.deleteBatch(to, [{ Id: "0", ReceiptHandle: message.ReceiptHandle }])
  }
  times.sort((a, b) => a - b)
  return { p50: median(times), p99: times[Math.floor(times.length * 0.99)] ?? 0 }
})

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

/** `npm run bench -- queues`. */
export async function* queues(isShort: boolean): AsyncIterable<string> {
  const port = await freePort()
  const endpoint = `http://127.0.0.1:${port}`
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_SQS: endpoint,
    AWS_ACCESS_KEY_ID: "AKIAEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "secret",
    AWS_REGION: "us-east-1"
  })
  const [rounds, count] = isShort ? [3, 2_000] : [7, 10_000]
  const all = { bare: new Array<Measured>(), one: new Array<Measured>(), ours: new Array<Measured>() }
  const beside = `${endpoint}/000000000000/none`
  const measure = Effect.gen(function* () {
    yield* startElasticMq({ port })
    for (let round = 0; round < rounds; round++)
      for (const way of ["ours", "bare", "one"] as const) {
        const made = yield* makeQueues(beside, `${way}-${round}`)
        yield* fill(made.original, count)
        const ours = Effect.scoped(measureOurs(made, count))
        const bare = Effect.promise(() => measureBare(made, count, way === "one" ? 1 : 8))
        all[way].push(yield* way === "ours" ? ours : bare)
      }
    const made = yield* makeQueues(beside, "delay")
    const straight = yield* delays(made.main, made.main, isShort ? 100 : 1_000)
    yield* forward(made)
    return { straight, split: yield* delays(made.original, made.session, isShort ? 100 : 1_000) }
  })
  const { split, straight } = await Effect.runPromise(
    Effect.scoped(Effect.provide(measure, Layer.mergeAll(sqsQueues, jqPrograms)))
  )
  yield `messages a second, ${count} of ${bodyBytes} B with two attributes, one in ${oneOf} for a session`
  yield row("bare, 8 loops", all.bare, all.bare)
  yield row("bare, one loop", all.one, all.bare)
  yield row("split", all.ours, all.bare)
  yield "a message under way, ms, p50 / p99"
  yield `  straight       ${straight.p50.toFixed(1)} / ${straight.p99.toFixed(1)}`
  yield `  through a split ${split.p50.toFixed(1)} / ${split.p99.toFixed(1)}`
}
