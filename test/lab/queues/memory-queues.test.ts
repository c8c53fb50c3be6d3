import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { MemoryQueues } from "../../../lab/queues/memory-queues.ts"
import { RandomStream } from "../../../lab/simulation/kernel/random-stream.ts"
import type { QueueError } from "../../../src/ports/message-queues.ts"
import { messageQueuesSuite } from "../../adapters/aws/message-queues-suite.ts"
import { it } from "../../support/effect-it.ts"
import { virtualTime } from "../../support/virtual-time.ts"

const setup = () => {
  const sqs = new MemoryQueues(new RandomStream("twin"))
  const port = sqs.port()
  const call = Effect.fnUntraced(function* <A>(effect: Effect.Effect<A, QueueError>, ms = 100) {
    const fiber = yield* Effect.forkChild(
      Effect.match(effect, { onFailure: ({ reason }) => reason, onSuccess: (a) => a })
    )
    yield* TestClock.adjust(ms)
    return yield* Fiber.join(fiber)
  })
  const entry = (body: string, more: object = {}) => ({ Id: body, MessageBody: body, MessageAttributes: {}, ...more })
  const inGroup = (body: string, group: string, key = body) =>
    entry(body, { MessageGroupId: group, MessageDeduplicationId: key })
  const take = Effect.fnUntraced(function* (url: string, max = 10, visibilitySeconds = 30) {
    const given = yield* call(port.receive({ url, max, waitSeconds: 0, visibilitySeconds }))
    return typeof given === "string" ? [] : given
  })
  return { sqs, port, call, entry, inGroup, take }
}

const bodies = (given: ReadonlyArray<{ readonly Body?: string | undefined }>) => given.map(({ Body }) => Body)

describe("the twin of SQS", () => {
  it.effect("holds a group of FIFO while one of its messages is hidden, and remembers ids for 5 minutes", function* () {
    const { call, inGroup, port, sqs, take } = setup()
    const url = sqs.add("q.fifo")
    yield* call(port.sendBatch(url, [inGroup("g1", "g"), inGroup("g2", "g"), inGroup("h1", "h")]))
    const [first] = yield* take(url, 1)
    expect(bodies(yield* take(url))).toEqual(["h1"])
    yield* call(port.deleteBatch(url, [{ Id: "0", ReceiptHandle: first?.ReceiptHandle ?? "" }]))
    expect(bodies(yield* take(url))).toEqual(["g2"])
    yield* call(port.sendBatch(url, [inGroup("again", "i", "g1")]))
    expect(sqs.at(url)?.bodies).toEqual(["g2", "h1"])
    yield* TestClock.adjust("5 minutes")
    yield* call(port.sendBatch(url, [inGroup("again", "i", "g1")]))
    expect(sqs.at(url)?.bodies).toEqual(["g2", "h1", "again"])
  })

  it.effect("gives a poll that its client left the next message, and shows that again later", function* () {
    const { call, entry, port, sqs, take } = setup()
    const url = sqs.add("q")
    const poll = yield* Effect.forkChild(port.receive({ url, max: 1, waitSeconds: 20, visibilitySeconds: 30 }))
    yield* TestClock.adjust(1_000)
    yield* Fiber.interrupt(poll)
    yield* call(port.sendBatch(url, [entry("m")]))
    expect(yield* take(url)).toEqual([])
    yield* TestClock.adjust(30_000)
    expect(bodies(yield* take(url))).toEqual(["m"])
  })

  it.effect("swallows or refuses sends to a deleted queue, and keeps its name for 60 s", function* () {
    const { call, entry, port, sqs } = setup()
    const url = sqs.add("q", { DelaySeconds: "3" })
    const create = port.create({ name: "q", beside: url, attributes: { DelaySeconds: "4" }, tags: {} })
    expect(yield* call(create)).toBe("OtherAttributes")
    yield* call(port.delete(url))
    const answers = new Set<string>()
    for (let i = 0; i < 20; i++) {
      const answer = yield* call(port.sendBatch(url, [entry(`m${i}`)]))
      answers.add(typeof answer === "string" ? answer : "Lost")
    }
    expect(answers).toEqual(new Set(["NoQueue", "Lost"]))
    expect(sqs.lost.length).toBeGreaterThan(0)
    expect(yield* call(create)).toBe("DeletedRecently")
    yield* TestClock.adjust("1 minute")
    expect(yield* call(port.attributes(url))).toBe("NoQueue")
    expect([yield* call(create), yield* call(create)]).toEqual([url, url])
  })

  it.effect("moves what was received too often to the dead-letter queue, and shows counts late", function* () {
    const { call, entry, port, sqs, take } = setup()
    const dead = sqs.add("dead")
    const policy = { deadLetterTargetArn: "arn:aws:sqs:eu-central-1:123456789012:dead", maxReceiveCount: 1 }
    const url = sqs.add("q", { RedrivePolicy: JSON.stringify(policy) })
    yield* call(port.sendBatch(url, [entry("m")]))
    yield* take(url, 1, 1)
    sqs.faults.countLag = 500
    expect(yield* call(port.attributes(url))).toMatchObject({ ApproximateNumberOfMessages: "0" })
    yield* TestClock.adjust(400)
    expect(yield* call(port.attributes(url))).toMatchObject({ ApproximateNumberOfMessagesNotVisible: "1" })
    yield* TestClock.adjust(2_000)
    expect([yield* take(url), sqs.at(dead)?.bodies]).toEqual([[], ["m"]])
  })

  it.effect("refuses an old handle of FIFO, and calls without a right", function* () {
    const { call, inGroup, port, sqs, take } = setup()
    const url = sqs.add("q.fifo")
    yield* call(port.sendBatch(url, [inGroup("m", "g")]))
    const [first] = yield* take(url, 1, 1)
    yield* TestClock.adjust(2_000)
    expect(yield* call(port.deleteBatch(url, [{ Id: "0", ReceiptHandle: first?.ReceiptHandle ?? "" }]))).toMatchObject({
      failed: [{ reason: "InvalidHandle" }]
    })
    const other = sqs.port((operation) => operation !== "GetQueueAttributes")
    expect(yield* call(other.attributes(url))).toBe("Denied")
    expect([yield* call(other.urlOf("q.fifo")), yield* call(other.tags(url))]).toEqual([url, {}])
  })

  it.effect("refuses batches and entries that AWS refuses", function* () {
    const { call, entry, port, sqs } = setup()
    const [url, fifo] = [sqs.add("q"), sqs.add("q.fifo")]
    const many = (count: number, name = "a") =>
      Object.fromEntries(
        Array.from({ length: count }, (_, i) => [`${name}${i}`, { DataType: "String", StringValue: "1" }])
      )
    const large = (id: string, size: number) => ({ ...entry(id), MessageBody: "x".repeat(size) })
    for (const batch of [
      [],
      Array.from({ length: 11 }, (_, i) => entry(`m${i}`)),
      [entry("a"), entry("a")],
      [large("a", 200_000), large("b", 62_145)]
    ])
      expect(yield* call(port.sendBatch(url, batch))).toBe("Invalid")
    for (const [queue, wrong] of [
      [url, entry("m", { MessageAttributes: many(11) })],
      [url, entry("m", { MessageAttributes: many(1, "AWS.") })],
      [url, large("m", 0)],
      [fifo, entry("m", { MessageDeduplicationId: "d" })],
      [fifo, entry("m", { MessageGroupId: "g" })]
    ] as const)
      expect(yield* call(port.sendBatch(queue, [wrong]))).toMatchObject({ failed: [{ reason: "Invalid" }] })
    expect(yield* call(port.sendBatch(url, [entry("m", { MessageAttributes: many(10) })]))).toMatchObject({
      failed: []
    })
  })
})

/** Runs an effect in virtual time, which goes on until the effect ends. */
const inVirtualTime = <A, E>(effect: Effect.Effect<A, E>): Promise<A> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect)
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("10 millis")
    return yield* Fiber.join(fiber)
  }).pipe(Effect.provide(virtualTime), Effect.runPromise)

describe("MessageQueues, against the twin", () => {
  const queues = new MemoryQueues({ chance: () => false }).port()
  messageQueuesSuite(() => ({
    queues,
    beside: "https://sqs.eu-central-1.amazonaws.com/123456789012/none",
    differences: new Set(["attributes are not checked"]),
    run: inVirtualTime
  }))
})
