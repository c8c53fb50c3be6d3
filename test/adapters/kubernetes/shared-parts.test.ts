import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { SharedParts } from "../../../src/adapters/kubernetes/shared-parts.ts"

const parsed = (text: string): unknown => JSON.parse(text)
/** Few names and values, so that much is equal or nearly. */
const near = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom("", "short", "long enough", "long enouhg", "é".repeat(12), "x".repeat(129), 0, 1, 2 ** 32, 0.5, true, false, null),
    fc.array(tie("json"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "aa", "1", "__proto__", "constructor"), tie("json"), { maxKeys: 3 })
  )
})).json

describe("shared parts", () => {
  it.each([
    ["anything", fc.jsonValue()],
    ["what is nearly the same", near]
  ])("change no value, however many there were: %s", (_what, json) => {
    const parts = new SharedParts()
    fc.assert(
      fc.property(fc.array(json, { maxLength: 6 }), (values) => {
        const text = JSON.stringify(values)
        expect(JSON.stringify(parts.share(parsed(text)))).toBe(text)
      }),
      { numRuns: 1_000 }
    )
  })

  it("change no value with more of them than are remembered, and longer ones", () => {
    const parts = new SharedParts()
    const many = JSON.stringify(Array.from({ length: 10_000 }, (_, index) => ({ name: `name-of-${index}`, long: "x".repeat(index % 300), of: { ["__proto__"]: "its own" } })))
    expect(JSON.stringify(parts.share(parsed(many)))).toBe(many)
  })

  it("leave what is no string, object or array as it is", () => {
    const parts = new SharedParts()
    for (const value of ["text", 1, true, null]) expect(parts.share(value)).toBe(value)
  })

  it("are one object, one array: what equals what came before, with all it holds", () => {
    const parts = new SharedParts()
    const text = JSON.stringify({ owner: { hostname: "laptop-of-somebody", numbers: [1, 2, { three: [] }] }, finalizers: ["operator.metalbear.co/session"] })
    const next = () => parts.share(parsed(text))
    // Each time one more level is known: the strings, what they are in, what that is in.
    for (let level = 0; level < 5; level++) next()
    const one = next()
    expect(next()).toBe(one)
    expect(JSON.stringify(one)).toBe(text)
  })

  it("are not one where they only look alike", () => {
    const parts = new SharedParts()
    const alike = ['{"a":1,"b":2}', '{"a":1}', '{"b":1,"a":2}', "[1,2]", "[1]", '{"0":1,"1":2}', "[]", "{}", '[""]', "[null]", "[0]", "[false]"]
    for (let turn = 0; turn < 3; turn++) for (const text of alike) expect(JSON.stringify(parts.share(parsed(text)))).toBe(text)
  })
})
