import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type DestinationQueue, forwardedMessage, messageSize } from "../../../src/domain/queues/forwarded-message.ts"
import { isReceived, type MessageAttribute, type ReceivedMessage } from "../../../src/domain/queues/queue-message.ts"

const main: DestinationQueue = { url: "main", isFifo: false, maximumMessageSize: 1_000, sessionKey: undefined }
const session: DestinationQueue = { ...main, url: "session", sessionKey: "ann" }
const message: ReceivedMessage = { MessageId: "m", ReceiptHandle: "r", Body: "é" }
const attribute: fc.Arbitrary<MessageAttribute> = fc.oneof(
  fc.record({
    DataType: fc.constantFrom("String", "Number", "String.custom"),
    StringValue: fc.string({ minLength: 1 })
  }),
  fc.record({ DataType: fc.constantFrom("Binary", "Binary.png"), BinaryValue: fc.uint8Array({ minLength: 1 }) })
)
const names = fc.oneof(fc.constantFrom("Mirrord-Key", "__proto__"), fc.stringMatching(/^[a-z]{1,3}$/u))
const attributes = fc
  .uniqueArray(fc.tuple(names, attribute), { selector: ([name]) => name, maxLength: 10 })
  .map((entries): Record<string, MessageAttribute> => Object.fromEntries(entries))
const keyOf = (attributes: Record<string, MessageAttribute>, queue: Partial<DestinationQueue> = {}, Body = "é") =>
  forwardedMessage({ ...message, Body, MessageAttributes: attributes }, { ...session, ...queue }).MessageAttributes[
    "mirrord-key"
  ]
const many = (count: number): Record<string, MessageAttribute> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, { DataType: "String", StringValue: "x" }]))

describe("a message for another queue", () => {
  it("keeps its attributes exactly, and the session's copy has the key beside them where there is a place", () => {
    fc.assert(
      fc.property(attributes, (attributes) => {
        const given = { ...message, MessageAttributes: attributes }
        expect(Object.entries(forwardedMessage(given, main).MessageAttributes)).toEqual(Object.entries(attributes))
        const { "mirrord-key": key, ...others } = forwardedMessage(given, session).MessageAttributes
        expect(Object.entries(others)).toEqual(Object.entries(attributes))
        const isPlace = Object.keys(attributes).length < 10 && !Object.hasOwn(attributes, "Mirrord-Key")
        expect(key).toEqual(isPlace ? { DataType: "String", StringValue: "ann" } : undefined)
      })
    )
  })

  it("never fails for the key", () => {
    expect(keyOf(many(9))).toBeDefined()
    expect(keyOf(many(10))).toBe(undefined)
    const theirs = { DataType: "String", StringValue: "theirs" }
    expect(keyOf({ "mirrord-key": theirs })).toEqual(theirs)
    const room = "mirrord-keyStringann".length
    expect(keyOf({}, {}, "é".repeat((1_000 - room) / 2))).toBeDefined()
    expect(keyOf({}, {}, `${"é".repeat((1_000 - room) / 2)}x`)).toBe(undefined)
    expect(keyOf({}, { sessionKey: "" }), "attributes cannot be empty").toBe(undefined)
  })

  it("has bytes in its body and in the names, types and values of attributes", () => {
    const BinaryValue = new Uint8Array(7)
    expect(messageSize("é", { ab: { DataType: "Binary", BinaryValue }, c: {} })).toBe(2 + 2 + 6 + 7 + 1)
  })

  it.each([
    [{ MessageGroupId: "g", MessageDeduplicationId: "d" }, true, { MessageGroupId: "g", MessageDeduplicationId: "m" }],
    [{}, true, { MessageGroupId: "m", MessageDeduplicationId: "m" }],
    [undefined, true, { MessageGroupId: "m", MessageDeduplicationId: "m" }],
    [{ MessageGroupId: "g" }, false, { MessageGroupId: "g" }],
    [{ MessageDeduplicationId: "d", SenderId: "s" }, false, {}],
    [
      { AWSTraceHeader: "Root=1" },
      false,
      { MessageSystemAttributes: { AWSTraceHeader: { DataType: "String", StringValue: "Root=1" } } }
    ]
  ])("has of the system's attributes %j in a queue that is FIFO, %s: %j", (Attributes, isFifo, kept) => {
    expect(forwardedMessage({ ...message, Attributes }, { ...main, isFifo })).toEqual({
      MessageBody: "é",
      MessageAttributes: {},
      ...kept
    })
  })

  it.each(["MessageId", "ReceiptHandle", "Body"])("is not made from one without %s", (field) => {
    expect(isReceived(message)).toBe(true)
    expect(isReceived({ ...message, [field]: undefined })).toBe(false)
    expect(isReceived({ ...message, [field]: "" })).toBe(false)
  })
})
