import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { filterText } from "../../../src/domain/protocol/filter-text.ts"
import type { HttpFilter } from "../../../src/domain/protocol/http-filter-messages.ts"

const steal = (filter: HttpFilter) => filterText({ _tag: "FilteredHttpEx", port: 80, filter })

const header: HttpFilter = { _tag: "Header", value: "x-user: ann" }
const path: HttpFilter = { _tag: "Path", value: "/api" }

const { filter: anyFilter } = fc.letrec<{ filter: HttpFilter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4 },
    fc.record({ _tag: fc.constantFrom("Header" as const, "Path" as const, "HeaderJq" as const), value: fc.string() }),
    fc.record({
      _tag: fc.constant("Method" as const),
      value: fc.record({ _tag: fc.constant("Other" as const), value: fc.string({ unit: "binary" }) })
    }),
    fc.record({ _tag: fc.constant("Composite" as const), all: fc.boolean(), filters: fc.array(tie("filter")) })
  )
}))

describe("a filter in words", () => {
  it.each<readonly [string, HttpFilter]>([
    ["header=x-user: ann", header],
    ["path=/api", path],
    ["method=GET", { _tag: "Method", value: { _tag: "Get" } }],
    ["method=PURGE", { _tag: "Method", value: { _tag: "Other", value: "PURGE" } }],
    ["body=Json", { _tag: "Body", value: { _tag: "Json", query: "$.a", matches: "b" } }],
    ["header_jq=.a", { _tag: "HeaderJq", value: ".a" }],
    ["all of (header=x-user: ann), (path=/api)", { _tag: "Composite", all: true, filters: [header, path] }],
    [
      "any of (path=/api), (all of (path=/api))",
      { _tag: "Composite", all: false, filters: [path, { _tag: "Composite", all: true, filters: [path] }] }
    ]
  ])("is what mirrord itself writes: %s", (text, filter) => expect(steal(filter)).toBe(text))

  it("names the header where the old form does not", () => {
    expect(filterText({ _tag: "FilteredHttp", port: 80, filter: "x-user: ann" })).toBe("header=x-user: ann")
    expect(filterText({ _tag: "All", value: 80 })).toBeUndefined()
  })

  it("is clean and short, whatever the client sends", () => {
    fc.assert(
      fc.property(anyFilter, (filter) => {
        const text = steal(filter) ?? ""
        expect(text.length).toBeLessThanOrEqual(500)
        expect(text).not.toMatch(/[\p{Cc}\p{Cs}\p{Bidi_Control}]/u)
      })
    )
    const many = { _tag: "Composite" as const, all: true, filters: Array.from({ length: 1_000_000 }, () => header) }
    expect(steal({ _tag: "Composite", all: true, filters: [many, many] })).toHaveLength(500)
  })
})
