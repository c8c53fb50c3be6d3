import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { givenQueue } from "../../../src/domain/queues/given-queue.ts"
import type { GivenQueue, SplitSource } from "../../../src/domain/queues/observed-split.ts"

const url = (region: string, name: string) => `https://sqs.${region}.amazonaws.com/123456789012/${name}`
const reads = (reference: string, ...ids: ReadonlyArray<string>): SplitSource => {
  const name = reference.split("/").at(-1) ?? ""
  return { identity: reference, reference, name, url: reference, ids }
}
const entry = (id: string | undefined, original: string, queue: string): GivenQueue => ({ id, original, queue })

describe("givenQueue", () => {
  it.each<[string, SplitSource, ReadonlyArray<GivenQueue>, string | undefined]>([
    ["T1 by name", reads("orders", "o"), [entry(undefined, "orders", "a"), entry(undefined, "bills", "b")], "a"],
    ["T1 by URL here", reads(url("eu-west-1", "orders"), "o"), [entry(undefined, "orders", "a")], "a"],
    ["T1 by URL there", reads("orders", "o"), [entry(undefined, url("eu-west-1", "orders"), "a")], "a"],
    ["T2 by id", reads("orders-us", "o"), [entry("o", "orders-eu", "a"), entry("b", "bills", "b")], "a"],
    ["T2 with a second id", reads("orders-us", "x", "o"), [entry("o", "orders-eu", "a")], "a"],
    [
      "T2 of an id with several queues",
      reads("us", "o"),
      [entry("o", "eu-1", "a"), entry("o", "eu-2", "b")],
      undefined
    ],
    ["T2 of an id with one queue twice", reads("us", "o"), [entry("o", "eu-1", "a"), entry("o", "eu-2", "a")], "a"],
    ["T2 without ids", reads("orders-us", "o"), [entry(undefined, "orders-eu", "a")], undefined],
    [
      "T3 by URL",
      reads(url("us-east-1", "o"), "o"),
      [entry("o", url("eu-west-1", "o"), url("eu-west-1", "a"))],
      url("eu-west-1", "a")
    ],
    ["T3 with other ids", reads(url("us-east-1", "o"), "x"), [entry("y", url("eu-west-1", "o"), "a")], undefined],
    ["the name before the id", reads("orders", "o"), [entry("o", "bills", "b"), entry("b", "orders", "a")], "a"],
    ["T4", reads("orders", "o"), [], undefined]
  ])("finds %s", (_, source, given, queue) => {
    expect(Result.getOrUndefined(givenQueue(source, given))).toBe(queue)
  })

  it("says what it looked for and what it found", () => {
    expect(givenQueue(reads("us", "o"), [entry("o", "eu-2", "b"), entry("o", "eu-1", "a")])).toMatchObject({
      failure:
        'The default cluster gave several queues for "us" with the id "o"; it has "eu-1", "eu-2". Let "o" name one ' +
        "queue there."
    })
  })
})
