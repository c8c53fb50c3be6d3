import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { readQueueRegistry } from "../../../src/domain/queues/queue-registry-reader.ts"
import { configurationDigest } from "../../../src/domain/queues/split-configuration.ts"
import { patterns, registry } from "./split-objects.ts"

const orders = { queueType: "SQS", nameSource: { envVar: "Q" } }
const first = { a: { ...orders, tags: { x: "1", y: "2" } }, b: { ...orders, fallbackName: "old" } }

/** The text of which the digest is made. */
const digested = (queues: object, nameTemplate?: string, more: object = {}) => {
  const read = Result.getOrThrow(readQueueRegistry(registry(queues, more), 60, patterns))
  let text = ""
  const digest = configurationDigest({ ...read, nameTemplate }, (all) => {
    text = all
    return "f".repeat(64)
  })
  expect(digest).toBe("f".repeat(32))
  return text
}

describe("the digest of a configuration", () => {
  it("is the same for the same queues in another order, and for other times and brokers", () => {
    const { a, b } = first
    const other = { b: { ...b, sns: false }, c: { queueType: "RMQ" }, a: { ...a, tags: { y: "2", x: "1" } } }
    expect(digested(other, undefined, { workloadRestartTimeout: 7 })).toBe(digested(first))
  })

  it.each([
    ["a queue", { a: first.a }],
    ["an id", { a: first.a, z: first.b }],
    ["a variable", { ...first, b: { ...first.b, nameSource: { envVar: "R" } } }],
    ["a pattern", { ...first, b: { ...orders, nameSource: { regexPattern: "Q" } } }],
    ["a fallback", { ...first, b: orders }],
    ["the form of a value", { ...first, b: { ...first.b, namesFromJsonMap: true } }],
    ["a tag", { ...first, a: { ...first.a, tags: { x: "1" } } }],
    ["an option", { ...first, a: { ...first.a, sns: true } }],
    ["containers", first, undefined, { container: "app" }],
    ["the template of names", first, "mirrord-x"]
  ])("changes with %s", (_, queues, nameTemplate?: string, more?: object) => {
    expect(digested(queues, nameTemplate, more)).not.toBe(digested(first))
  })
})
