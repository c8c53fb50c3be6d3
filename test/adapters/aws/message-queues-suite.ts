import { Effect, Fiber, Result } from "effect"
import { expect, it } from "vitest"
import { forwardedMessage } from "../../../src/domain/queues/forwarded-message.ts"
import { type GivenMessage, isReceived, type ReceivedMessage } from "../../../src/domain/queues/queue-message.ts"
import type { MessageQueues, QueueError, SendEntry } from "../../../src/ports/message-queues.ts"

/** Ways in which servers differ from AWS. The cases say what comes instead. */
type Difference =
  | "tags are compared" // AWS compares attributes alone when a queue is made again.
  | "names are free at once" // AWS refuses the name of a deleted queue for 60 s.
  | "deleting twice fails" // AWS deletes a message that is gone already.
  | "empty batches are taken" // AWS refuses them.
  | "some attributes are dropped" // Such as `MaximumMessageSize`: neither kept nor shown.
  | "attributes are not checked" // AWS refuses names and values that it does not know.

/** A server that {@link messageQueuesSuite} runs against. */
export interface QueuesServer {
  readonly queues: MessageQueues["Service"]
  /** URL beside which queues are made; there is no queue at this URL itself. */
  readonly beside: string
  readonly differences: ReadonlySet<Difference>
  /** Runs a case, in the time of the server. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
}

const entry = (Id: string, more: Partial<SendEntry> = {}) => ({ Id, MessageBody: Id, MessageAttributes: {}, ...more })
const inGroup = (MessageGroupId: string, Id: string, MessageDeduplicationId = Id) =>
  entry(Id, { MessageGroupId, MessageDeduplicationId })
const canary = { DataType: "String", StringValue: "canary" }
const attributes = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`a-${at}`, canary]))
const bodies = (messages: ReadonlyArray<GivenMessage>) => messages.map(({ Body }) => Body)
type Call = Effect.Effect<unknown, QueueError>
const reasonOf = (call: Call) =>
  Effect.map(Effect.result(call), (result) => (Result.isFailure(result) ? result.failure.reason : "success"))

/** Everything that `MessageQueues` promises and one server can show. */
export const messageQueuesSuite = (server: () => QueuesServer): void => {
  let made = 0
  const make = (more: Readonly<Record<string, string>> = {}, tags: Readonly<Record<string, string>> = {}) => {
    const name = `queue-${++made}${more["FifoQueue"] === undefined ? "" : ".fifo"}`
    const queue = { name, beside: server().beside, attributes: more, tags }
    return Effect.map(server().queues.create(queue), (url) => ({ queue, url }))
  }
  const receive = (url: string, more: { waitSeconds?: number; visibilitySeconds?: number; max?: number } = {}) =>
    server().queues.receive({ url, max: 10, waitSeconds: 0, visibilitySeconds: 600, ...more })
  /** Polls until a message comes. */
  const awaitMessage = (url: string): Effect.Effect<ReceivedMessage, unknown> =>
    Effect.flatMap(receive(url, { waitSeconds: 2, max: 1 }), ([message]) =>
      message !== undefined && isReceived(message) ? Effect.succeed(message) : awaitMessage(url)
    )
  const remove = (url: string, ReceiptHandle: string) => server().queues.deleteBatch(url, [{ Id: "1", ReceiptHandle }])
  const instead = <A, B>(difference: Difference, there: A, otherwise: B): A | B =>
    server().differences.has(difference) ? there : otherwise
  /** A case in the time of the server. */
  const shows = (name: string, body: () => Effect.fn.Return<void, unknown>): void =>
    it(name, () => server().run(Effect.gen(body)))

  shows("a message comes as it was sent, and once more from the next queue", function* () {
    const { url } = yield* make()
    const { url: next } = yield* make()
    const MessageBody = 'ü \u{1f430}\t\r\n{"a": 1.0}  '
    const MessageAttributes = {
      ...attributes(6),
      text: { DataType: "String.my-own", StringValue: " ü\u{1f430}\n" },
      number: { DataType: "Number", StringValue: "1.50" },
      "large.number": { DataType: "Number.int", StringValue: "12345678901234567890" },
      bytes: { DataType: "Binary", BinaryValue: Uint8Array.from({ length: 256 }, (_, byte) => byte) }
    }
    const AWSTraceHeader = "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1"
    const MessageSystemAttributes = { AWSTraceHeader: { DataType: "String", StringValue: AWSTraceHeader } }
    const sent = { MessageBody, MessageAttributes, MessageSystemAttributes, MessageGroupId: "a-tenant" }
    yield* server().queues.sendBatch(url, [entry("1", sent)])
    const first = yield* awaitMessage(url)
    const destination = { url: next, isFifo: false, maximumMessageSize: 262_144, sessionKey: "key" }
    yield* server().queues.sendBatch(next, [{ Id: "x", ...forwardedMessage(first, destination) }])
    for (const message of [first, yield* awaitMessage(next)]) {
      expect(message.Body).toBe(MessageBody)
      expect(message.Attributes).toMatchObject({ AWSTraceHeader, MessageGroupId: "a-tenant" })
      expect(message.MessageAttributes).toEqual(MessageAttributes)
    }
  })

  shows("one bad entry of a batch fails alone, and its words are not repeated", function* () {
    const { url } = yield* make()
    const bad = [entry("eleven", { MessageAttributes: attributes(11) }), entry("empty", { MessageBody: "" })]
    const answer = yield* server().queues.sendBatch(url, [entry("first"), ...bad, entry("last")])
    expect([...answer.succeeded].toSorted()).toEqual(["first", "last"])
    expect(answer.failed.map(({ Id, reason }) => `${Id} ${reason}`)).toEqual(["eleven Invalid", "empty Invalid"])
    expect(JSON.stringify(answer.failed)).not.toContain("canary")
    const got = [yield* awaitMessage(url), yield* awaitMessage(url)]
    expect(bodies(got).toSorted()).toEqual(["first", "last"])
  })

  shows("ten messages go and come in one call each, and twelve entries in none", function* () {
    const { url } = yield* make()
    const ten = Array.from({ length: 10 }, (_, at) => entry(`m-${at}`))
    expect((yield* server().queues.sendBatch(url, ten)).succeeded.size).toBe(10)
    const given = yield* receive(url)
    expect(bodies(given).toSorted()).toEqual(ten.map(({ Id }) => Id))
    const entries = given.filter(isReceived).map(({ MessageId, ReceiptHandle }) => ({ Id: MessageId, ReceiptHandle }))
    const succeeded = new Set(entries.map(({ Id }) => Id))
    expect(yield* server().queues.deleteBatch(url, entries)).toEqual({ succeeded, failed: [] })
    const batch = (entries: ReadonlyArray<SendEntry>) => reasonOf(server().queues.sendBatch(url, entries))
    expect(yield* batch([...ten, entry("11"), entry("12")])).toBe("Invalid")
    expect(yield* batch([entry("same"), entry("same")])).toBe("Invalid")
    expect(yield* batch([])).toBe(instead("empty batches are taken", "success", "Invalid"))
  })

  shows("a group's messages keep their order, and wait while one is on its way", function* () {
    const { url } = yield* make({ FifoQueue: "true" })
    const sent = [inGroup("a", "a1"), inGroup("a", "a2"), inGroup("b", "b1"), inGroup("a", "a3")]
    yield* server().queues.sendBatch(url, sent)
    const [first] = (yield* receive(url, { max: 1 })).filter(isReceived)
    expect([first?.Body, first?.Attributes?.["MessageGroupId"]]).toEqual(["a1", "a"])
    expect(bodies(yield* receive(url))).toEqual(["b1"])
    yield* remove(url, first?.ReceiptHandle ?? "")
    expect(bodies(yield* receive(url))).toEqual(["a2", "a3"])
  })

  shows("a deduplication id counts once, also after its message was deleted", function* () {
    const { url } = yield* make({ FifoQueue: "true" })
    const again = () => server().queues.sendBatch(url, [inGroup("a", "again", "one")])
    yield* server().queues.sendBatch(url, [inGroup("a", "first", "one")])
    expect([...(yield* again()).succeeded]).toEqual(["again"])
    const given = yield* receive(url)
    expect(bodies(given)).toEqual(["first"])
    yield* remove(url, given.find(isReceived)?.ReceiptHandle ?? "")
    expect([...(yield* again()).succeeded]).toEqual(["again"])
    expect(yield* receive(url)).toEqual([])
    const { failed } = yield* server().queues.sendBatch(url, [entry("without-a-group")])
    expect(failed.map(({ reason }) => reason)).toEqual(["Invalid"])
  })

  shows("a message is hidden as long as the receiver says, and then comes with another handle", function* () {
    const { url } = yield* make({ VisibilityTimeout: "900" })
    yield* server().queues.sendBatch(url, [entry("1")])
    const [first] = (yield* receive(url, { visibilitySeconds: 1 })).filter(isReceived)
    const second = yield* awaitMessage(url)
    expect(second.MessageId).toBe(first?.MessageId)
    expect(second.ReceiptHandle).not.toBe(first?.ReceiptHandle)
    expect(second.Attributes?.["ApproximateReceiveCount"]).toBe("2")
    expect(yield* receive(url)).toEqual([])
    const { url: other } = yield* make({ VisibilityTimeout: "0" })
    yield* server().queues.sendBatch(other, [entry("1")])
    yield* awaitMessage(other)
    expect(yield* receive(other)).toEqual([])
  })

  shows("a message may be deleted twice", function* () {
    const { url } = yield* make()
    yield* server().queues.sendBatch(url, [entry("1")])
    const { ReceiptHandle } = yield* awaitMessage(url)
    expect([...(yield* remove(url, ReceiptHandle)).succeeded]).toEqual(["1"])
    const { failed } = yield* remove(url, ReceiptHandle)
    expect(failed.map(({ reason }) => reason)).toEqual(instead("deleting twice fails", ["InvalidHandle"], []))
  })

  shows("a poll ends with the first message, which comes meanwhile", function* () {
    const { url } = yield* make()
    const { url: silent } = yield* make()
    const poll = yield* Effect.forkChild(receive(url, { waitSeconds: 20 }))
    const shorter = yield* Effect.forkChild(receive(silent, { waitSeconds: 15 }))
    yield* receive(silent)
    yield* server().queues.sendBatch(url, [entry("1")])
    const first = yield* Effect.raceFirst(Fiber.join(poll), Fiber.join(shorter))
    expect(bodies(first)).toEqual(["1"])
    yield* Fiber.interrupt(shorter)
  })

  shows("a poll that is interrupted loses no message", function* () {
    const { url } = yield* make()
    const poll = yield* Effect.forkChild(receive(url, { waitSeconds: 20, visibilitySeconds: 1 }))
    yield* receive(url)
    yield* Fiber.interrupt(poll)
    yield* server().queues.sendBatch(url, [entry("1")])
    expect((yield* awaitMessage(url)).Body).toBe("1")
  })

  const unknown: Readonly<Record<string, (queues: MessageQueues["Service"], url: string) => Call>> = {
    receives: ({ receive: ask }, url) => ask({ url, max: 1, waitSeconds: 0, visibilitySeconds: 1 }),
    sends: ({ sendBatch }, url) => sendBatch(url, [entry("1")]),
    "deletions of messages": ({ deleteBatch }, url) => deleteBatch(url, [{ Id: "1", ReceiptHandle: "x" }]),
    attributes: ({ attributes: ask }, url) => ask(url),
    tags: ({ tags }, url) => tags(url),
    deletions: ({ delete: ask }, url) => ask(url),
    "its URL": ({ urlOf }) => urlOf("none")
  }
  it.each(Object.entries(unknown))("a queue that does not exist has no %s", async (_, ask) => {
    const { beside, queues, run } = server()
    expect(await run(reasonOf(ask(queues, beside)))).toBe("NoQueue")
  })

  shows("a queue has the attributes and tags that it was made with, and is found by its name", function* () {
    const { attributes: read, tags, urlOf } = server().queues
    const given = { VisibilityTimeout: "77", ReceiveMessageWaitTimeSeconds: "3", FifoQueue: "true" }
    const { queue, url } = yield* make({ ...given, ContentBasedDeduplication: "true" }, { team: "a b", mirrord: "" })
    expect(yield* urlOf(queue.name)).toBe(url)
    expect(yield* read(url)).toMatchObject({ ...given, ContentBasedDeduplication: "true" })
    expect((yield* read(url))["QueueArn"]).toMatch(new RegExp(`^arn:aws:sqs:.*:[0-9]{12}:${queue.name}$`, "u"))
    expect(yield* tags(url)).toEqual({ team: "a b", mirrord: "" })
    const { url: plain } = yield* make({ MaximumMessageSize: "2048" })
    expect(yield* tags(plain)).toEqual({})
    expect((yield* read(plain))["MaximumMessageSize"]).toBe(instead("some attributes are dropped", undefined, "2048"))
  })

  shows("a queue can be made twice with the same attributes alone", function* () {
    const { create } = server().queues
    const { queue, url } = yield* make({ VisibilityTimeout: "7" }, { a: "1" })
    expect(yield* create(queue)).toBe(url)
    const other = { ...queue, attributes: { VisibilityTimeout: "8" } }
    expect(yield* reasonOf(create(other))).toBe("OtherAttributes")
    const tagged = yield* reasonOf(create({ ...queue, tags: { a: "2" } }))
    expect(tagged).toBe(instead("tags are compared", "OtherAttributes", "success"))
    yield* server().queues.delete(url)
    expect(yield* reasonOf(create(queue))).toBe(instead("names are free at once", "success", "DeletedRecently"))
  })

  it.each([
    ["whose name has a character that SQS does not know", { name: "a!" }],
    ["whose name of FIFO does not say it in the attributes", { name: "a.fifo" }],
    ["with a value that is none", { attributes: { VisibilityTimeout: "long" } }]
  ])("no queue is made %s", async (_, more) => {
    const { beside, queues, run } = server()
    const call = queues.create({ name: "bad", beside, attributes: {}, tags: {}, ...more })
    expect(await run(reasonOf(call))).toBe(instead("attributes are not checked", "success", "Invalid"))
  })
}
