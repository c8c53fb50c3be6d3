/** HTTP filters: what matches, and what is refused because JavaScript has no equal. */

import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { compilePattern } from "../../../../lab/agent/incoming/filter-pattern.ts"
import { compileFilter, type RequestHead } from "../../../../lab/agent/incoming/http-filter.ts"
import type { HttpFilter } from "../../../../src/domain/protocol/http-filter-messages.ts"

const request = (given: Partial<RequestHead> = {}): RequestHead => ({
  method: "GET",
  uri: "/api/items?id=5",
  headers: [
    ["host", new TextEncoder().encode("shop")],
    ["x-user", new TextEncoder().encode("Ann")]
  ],
  ...given
})

const wants = (filter: HttpFilter, head = request()): boolean => Result.getOrThrow(compileFilter(filter))(head)
const header = (value: string): HttpFilter => ({ _tag: "Header", value })
const path = (value: string): HttpFilter => ({ _tag: "Path", value })

describe("header filters", () => {
  it.each([
    ["x-user: ann", true],
    ["^X-USER: Ann", true],
    ["^user", false],
    ["^x-user: (?!bob)", true],
    ["(?<=x-user: )ann", true],
    ["(?i)ANN", true],
    ["(?im)^host: shop$", true],
    ["^[[:alpha:]]+: shop$", true],
    ["\\Ahost: shop\\z", true],
    ["(?P<first>x)-user: \\w+", true],
    ["x\\-user\\: ann", true],
    ["(?i:ANN)", true]
  ])("%s: %j", (pattern, expected) => expect(wants(header(pattern))).toBe(expected))

  it("looks at every value of a repeated header", () => {
    const headers = ["1", "2"].map((value) => ["x-n", new TextEncoder().encode(value)] as const)
    expect(wants(header("^x-n: 2$"), request({ headers }))).toBe(true)
  })

  it.each(["é", "a\x7f", "\xff"])("skips a header whose value has more than ASCII can print: %j", (value) => {
    const headers = [
      ["x", Buffer.from(value)],
      ["y", Buffer.from("a\tb")]
    ] as const
    expect(wants(header("^x"), request({ headers }))).toBe(false)
    expect(wants(header("^y: a\tb$"), request({ headers }))).toBe(true)
  })
})

describe("other filters", () => {
  it("path: alone and with the query", () => {
    expect(wants(path("items$"))).toBe(true)
    expect(wants(path("id=5$"))).toBe(true)
    expect(wants(path("^/API/"))).toBe(true)
    expect(wants(path("^/items"))).toBe(false)
    expect(wants(path("^/api/items$"), request({ uri: "http://shop/api/items?id=5" }))).toBe(true)
  })

  it("method: without case", () => {
    expect(wants({ _tag: "Method", value: { _tag: "Get" } })).toBe(true)
    expect(wants({ _tag: "Method", value: { _tag: "Post" } })).toBe(false)
    expect(
      wants({ _tag: "Method", value: { _tag: "Other", value: "propfind" } }, request({ method: "PROPFIND" }))
    ).toBe(true)
  })

  it("composites, nested and empty", () => {
    const [yes, no] = [path("api"), path("none")]
    const all = (...filters: ReadonlyArray<HttpFilter>): HttpFilter => ({ _tag: "Composite", all: true, filters })
    const any = (...filters: ReadonlyArray<HttpFilter>): HttpFilter => ({ _tag: "Composite", all: false, filters })
    expect(wants(all(yes, any(no, yes)))).toBe(true)
    expect(wants(all(yes, no))).toBe(false)
    expect(wants(all())).toBe(true)
    expect(wants(any())).toBe(false)
  })
})

describe("what is refused", () => {
  it.each<HttpFilter>([
    header("("),
    header("a{2,1}"),
    header("(?x) a b"),
    header("(?>atomic)"),
    header("a++"),
    header("\\p{NoSuchClass}"),
    { _tag: "Composite", all: false, filters: [path("ok"), path("[")] },
    { _tag: "HeaderJq", value: "true" },
    { _tag: "Body", value: { _tag: "Json", query: "$.a", matches: "." } }
  ])("%j", (filter) => expect(Result.isFailure(compileFilter(filter))).toBe(true))

  it("with a sentence", () => {
    expect(Result.getOrThrow(Result.flip(compilePattern("(?x)a")))).toBe('flag x is not supported in "(?x)a"')
  })
})
