import { Result } from "effect"
import { describe, expect, it } from "vitest"
import {
  attributeTexts,
  type FilterText,
  passesPatterns,
  readMessageFilter,
  wantsMessage
} from "../../../src/domain/queues/message-filter.ts"
import type { MessageAttribute } from "../../../src/domain/queues/queue-message.ts"

const text = (StringValue: string, DataType = "String"): MessageAttribute => ({ DataType, StringValue })
const received = { MessageId: "m", ReceiptHandle: "r", Body: "{}" }
const wants = (
  filter: Partial<FilterText>,
  message: { readonly Body?: string; readonly MessageAttributes?: Readonly<Record<string, MessageAttribute>> },
  said?: boolean,
  sns = false
): boolean =>
  wantsMessage(
    Result.getOrThrow(readMessageFilter({ attributes: {}, program: undefined, ...filter })),
    attributeTexts({ ...received, ...message }, { sns }),
    said
  )
const onA = (pattern: string): Partial<FilterText> => ({ attributes: { a: pattern } })

describe("a filter of messages", () => {
  it.each([
    ["^ann$", text("ann"), true],
    ["nn", text("anna"), true],
    ["^ann$", text("Ann"), true],
    ["^ÄRGER$", text("ärger"), true],
    ["^ann$", text("anna"), false],
    ["^4\\.0$", text("4.0", "Number"), true],
    ["x", text("x", "String.custom"), true],
    ["", { DataType: "Binary", BinaryValue: new Uint8Array([97]) }, false],
    ["", { DataType: "Binary", StringValue: "a" }, false],
    ["", { DataType: "Stringy", StringValue: "a" }, false],
    ["", {}, false],
    ["", text(""), true]
  ])("finds %s in the attribute %j: %s", (pattern, attribute, found) => {
    expect(wants(onA(pattern), { MessageAttributes: { a: attribute } })).toBe(found)
  })

  it("wants every attribute, and names in any case", () => {
    const both = { attributes: { CLIent: "a", tenant: "b" } }
    expect(wants(both, { MessageAttributes: { client: text("a"), TENANT: text("b") } })).toBe(true)
    expect(wants(both, { MessageAttributes: { client: text("a"), TENANT: text("c") } })).toBe(false)
    expect(wants(both, { MessageAttributes: { client: text("a") } })).toBe(false)
    expect(wants(onA("2"), { MessageAttributes: { a: text("1"), A: text("2") } }), "two attributes").toBe(true)
    expect(wants({ attributes: { constructor: "" } }, {}), "no attribute of the language").toBe(false)
  })

  it.each([
    [{}, undefined, false],
    [{}, true, false],
    [{ program: "true" }, true, true],
    [{ program: "true" }, false, false],
    [{ program: "true" }, undefined, false],
    [{ ...onA("x"), program: "true" }, true, true],
    [{ ...onA("x"), program: "true" }, false, false],
    [{ ...onA("y"), program: "true" }, true, false],
    [onA("x"), undefined, true]
  ])("wants what all parts of %j want if the program says %s: %s", (filter, said, wanted) => {
    expect(wants(filter, { MessageAttributes: { a: text("x") } }, said)).toBe(wanted)
  })

  it("has its program asked about no message that it does not want anyway", () => {
    const read = (attributes: Record<string, string>, program: string | undefined = undefined) =>
      Result.getOrThrow(readMessageFilter({ attributes, program }))
    const texts = new Map([["a", ["x"]]])
    expect(passesPatterns(read({}, "true"), texts)).toBe(true)
    expect(passesPatterns(read({ a: "y" }, "true"), texts)).toBe(false)
    expect(passesPatterns(read({}), texts)).toBe(false)
  })

  it.each([
    [{ MessageAttributes: { A: { Type: "String", Value: "x" } } }, true],
    [{ MessageAttributes: { a: { Type: "Number", Value: "1x" } } }, true],
    [{ MessageAttributes: { a: { Type: "Binary", Value: "x" } } }, false],
    [{ MessageAttributes: { a: { Type: "String" } } }, false],
    [{ MessageAttributes: { a: "x" } }, false],
    [{ MessageAttributes: ["x"] }, false],
    [null, false]
  ])("reads the envelope of SNS %j: %s", (envelope, found) => {
    expect(wants(onA("x"), { Body: JSON.stringify(envelope) }, undefined, true)).toBe(found)
    expect(wants(onA("x"), { Body: JSON.stringify(envelope) }), "only where the queue has them").toBe(false)
  })

  it("reads the message's attributes beside an envelope, and where the body is none", () => {
    const MessageAttributes = { a: text("x") }
    expect(wants(onA("x"), { Body: "no JSON", MessageAttributes }, undefined, true)).toBe(true)
    const Body = '{"MessageAttributes":{"a":{"Type":"Number","Value":5}}}'
    expect(wants(onA("x"), { Body, MessageAttributes }, undefined, true)).toBe(true)
    expect(wants(onA("5"), { Body, MessageAttributes }, undefined, true)).toBe(true)
  })

  it("takes no time for a pattern that keeps other engines busy for years", () => {
    expect(wants(onA("(a+)+$"), { MessageAttributes: { a: text(`${"a".repeat(100_000)}!`) } })).toBe(false)
  })

  it.each([
    [onA("("), 'The filter of the attribute "a" cannot be used: "(" is no regular expression'],
    [onA("(?=a)"), "look-ahead"],
    [{ program: "halt" }, "The jq filter uses halt, which ends the process"]
  ])("%j is refused: %s", (filter, why) => {
    const read = readMessageFilter({ attributes: {}, program: undefined, ...filter })
    expect(Result.getOrThrow(Result.flip(read))).toContain(why)
  })
})
