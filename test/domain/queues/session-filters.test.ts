import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import type { FilterText } from "../../../src/domain/queues/message-filter.ts"
import { sessionFilters } from "../../../src/domain/queues/session-filters.ts"
import { readSplitConfig } from "../../../src/domain/queues/split-config-reader.ts"
import { failureOf, patterns, splitConfig, sqs } from "./split-objects.ts"

const queues = ["a", "b", "c"].map((id) => sqs(id, { env: id }))
const configuration = Result.getOrThrow(readSplitConfig(splitConfig({ queues }), new Map(), patterns))
const place = { container: "app", variables: ["a", "b"].map((id) => ({ container: "app", id })) }
const filter = (program?: string, attributes = {}): FilterText => ({ attributes, program })
const of = (filters: Readonly<Record<string, FilterText>>) =>
  sessionFilters(configuration, place, new Map(Object.entries(filters)))

describe("the filters of a session", () => {
  it("are those of the queues of which it gets messages, by their ids", () => {
    const found = Result.getOrThrow(of({ "*": filter(".x"), b: filter(undefined, { Key: "^1$" }) }))
    expect([...found]).toMatchObject([
      ["a", { patterns: [], program: ".x" }],
      ["b", { patterns: [{ name: "key", pattern: { pattern: "^1$" } }], program: undefined }]
    ])
    expect(Result.getOrThrow(of({ a: filter() })).size).toBe(1)
  })

  it.each([
    [{ "*": filter(".x"), a: filter("halt") }, /^The queue "a": The jq filter uses halt, which .* alone\.$/u],
    [{ x: filter() }, /^The queue "x" is unknown: /u]
  ])("refuse %j", (filters, problem) => expect(failureOf(of(filters))).toMatch(problem))
})
