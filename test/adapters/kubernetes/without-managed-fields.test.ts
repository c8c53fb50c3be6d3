import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { withoutManagedFields as cut } from "../../../src/adapters/kubernetes/without-managed-fields.ts"

const withoutManagedFields = (given: string, holds: Parameters<typeof cut>[1]): string => cut(Buffer.from(given), holds)

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }
type JsonObject = { readonly [key: string]: Json }

const keys = ["metadata", "managedFields", "items", "object", "a", "__proto__", 'x","managedFields":[', "\\", '"', "é\u2028", ""]
const text = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom(...keys, '{"metadata":{"managedFields":[1]}}', '\\"managedFields\\":['))
const leaf: fc.Arbitrary<Json> = fc.oneof(text, fc.integer(), fc.double({ noDefaultInfinity: true, noNaN: true }), fc.boolean(), fc.constant(null))
/** Names that matter at every place, so that they come where they mean something and where not. */
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 5, depthSize: "medium" },
    leaf,
    fc.array(tie("json"), { maxLength: 4 }),
    fc.array(fc.tuple(fc.oneof(fc.constantFrom(...keys), text), tie("json")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries))
  )
}))

const isObject = (value: Json | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value)
/** The same by way of values: of an object, its member of this name changed. */
const change = (value: Json, name: string, to: (member: Json) => Json): Json =>
  isObject(value) && Object.hasOwn(value, name) ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, key === name ? to(member) : member])) : value
const ofObject = (value: Json): Json => change(value, "metadata", (metadata) => change(metadata, "managedFields", () => null))
const expected = {
  object: ofObject,
  event: (value: Json): Json => change(value, "object", ofObject),
  list: (value: Json): Json => change(value, "items", (items) => (Array.isArray(items) ? (items as ReadonlyArray<Json>).map(ofObject) : items))
}
const kinds = ["object", "event", "list"] as const

/** JSON with other spaces, and with some letters of strings escaped. */
const rewritten = (value: Json, indent: number, escapes: boolean): string => {
  const plain = JSON.stringify(value, undefined, indent)
  return escapes ? plain.replaceAll(/m(?=etadata|anagedFields)/gu, "\\u006d") : plain
}

describe("a text without managed fields", () => {
  it.each(kinds)("means the same but for them (%s)", (kind) => {
    // An event or a list of what may be one, or anything at all.
    const shape = kind === "object" ? json : kind === "event" ? json.map((object): Json => ({ type: "ADDED", object })) : fc.array(json, { maxLength: 4 }).map((items): Json => ({ kind: "List", items }))
    fc.assert(
      fc.property(fc.oneof(json, shape), fc.constantFrom(0, 1), fc.boolean(), (value, indent, escapes) => {
        // What JSON makes of it: it has no -0.
        const clean = JSON.parse(JSON.stringify(value)) as Json
        const given = rewritten(clean, indent, escapes && !JSON.stringify(clean).includes("\\\\"))
        expect(JSON.parse(withoutManagedFields(given, kind))).toEqual(expected[kind](JSON.parse(given) as Json))
      }),
      { numRuns: 2_000 }
    )
  })

  it("is none if it was none, wherever it broke off", () => {
    const whole = JSON.stringify({ type: "ADDED", object: { a: ["}", '"', 1.5e3, true], metadata: { name: "\\", managedFields: [{ "f:x": { ".": {} } }], uid: "u" }, b: null } })
    for (let length = 0; length < whole.length; length++) expect(() => JSON.parse(withoutManagedFields(whole.slice(0, length), "event")) as unknown).toThrow(SyntaxError)
    expect(JSON.parse(withoutManagedFields(whole, "event"))).toEqual({ type: "ADDED", object: { a: ["}", '"', 1_500, true], metadata: { name: "\\", managedFields: null, uid: "u" }, b: null } })
  })

  it("is none if it was none, whatever is wrong with it", () => {
    const isJson = (given: string): boolean => {
      try {
        JSON.parse(given)
        return true
      } catch {
        return false
      }
    }
    fc.assert(
      fc.property(json, fc.nat(), fc.constantFrom("", ",", "]", "}", "[", "{", ":", '"', "\\", "x"), (value, place, put) => {
        const good = JSON.stringify({ items: [value], object: value, metadata: { managedFields: [], z: value } })
        const at = place % good.length
        const given = good.slice(0, at) + put + good.slice(at + 1)
        // Within what is dropped, mistakes go with it; everywhere else they stay, and nothing is made wrong.
        for (const kind of kinds) if (isJson(given)) expect(isJson(withoutManagedFields(given, kind))).toBe(true)
      }),
      { numRuns: 2_000 }
    )
  })

  it("puts no value where none is", () => {
    for (const none of ['{"metadata":{"managedFields":}}', '{"metadata":{"managedFields":,"a":1}}', '{"metadata":{"managedFields"}}']) expect(withoutManagedFields(none, "object")).toBe(none)
  })

  it("is cut in every object of a list, and once where there is one object", () => {
    const twice = '{"metadata":{"managedFields":[1],"managedFields":[2],"a":1}}'
    expect(withoutManagedFields(twice, "object")).toBe('{"metadata":{"managedFields":null,"managedFields":[2],"a":1}}')
    expect(withoutManagedFields(`{"items":[${twice},${twice}]}`, "list")).not.toMatch(/\[\d/u)
  })
})
