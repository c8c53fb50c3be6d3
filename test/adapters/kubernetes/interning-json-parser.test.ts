import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { InterningJsonParser } from "../../../src/adapters/kubernetes/interning-json-parser.ts"

type Holds = Parameters<InterningJsonParser["parse"]>[1]
const parser = () => {
  const interning = new InterningJsonParser()
  return (text: string, holds: Holds = "object"): unknown => interning.parse(Buffer.from(text), holds)
}

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }
type JsonObject = { readonly [key: string]: Json }

const keys = [
  "metadata",
  "managedFields",
  "items",
  "object",
  "a",
  "1",
  "__proto__",
  "constructor",
  'x","managedFields":[',
  "é\u2028",
  ""
]
/**
 * No key is a single escape: once it has met `\`, `JSON.parse` of Node 24 and 26 takes others for it
 * (nodejs/node#63785).
 */
const key = fc.oneof(
  fc.constantFrom(...keys),
  fc.string({ maxLength: 6 }).filter((name) => !name.includes("\\"))
)
const text = fc.oneof(
  fc.string({ maxLength: 6 }),
  fc.constantFrom(
    ...keys,
    "\\",
    '"',
    '{"metadata":{"managedFields":[1]}}',
    '\\"managedFields\\":[',
    "long enough",
    "long enouhg",
    "x".repeat(129)
  )
)
const leaf: fc.Arbitrary<Json> = fc.oneof(
  text,
  fc.integer(),
  fc.double({ noDefaultInfinity: true, noNaN: true }),
  fc.boolean(),
  fc.constantFrom(null, 0, 1, 0.5)
)
/**
 * Names that matter at every place, so that they come where they mean something and where not; few of all, so that much
 * is equal or nearly.
 */
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 5, depthSize: "medium" },
    leaf,
    fc.array(tie("json"), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie("json")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries))
  )
}))

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)
/** Of an object, its member of this name changed. */
const change = (value: Json, name: string, to: (member: Json) => Json): Json =>
  isObject(value) && Object.hasOwn(value, name)
    ? Object.fromEntries(Object.entries(value).map(([key, member]) => [key, key === name ? to(member) : member]))
    : value
const ofObject = (value: Json): Json =>
  change(value, "metadata", (metadata) => change(metadata, "managedFields", () => null))
const expected = {
  object: ofObject,
  event: (value: Json): Json => change(value, "object", ofObject),
  list: (value: Json): Json =>
    change(value, "items", (items) => (Array.isArray(items) ? (items as ReadonlyArray<Json>).map(ofObject) : items))
}
const kinds = ["object", "event", "list"] as const

/** JSON with other spaces, and with some letters of strings escaped. */
const rewritten = (value: Json, indent: number, escapes: boolean): string => {
  const plain = JSON.stringify(value, undefined, indent)
  return escapes ? plain.replaceAll(/m(?=etadata|anagedFields)/gu, "\\u006d") : plain
}
const isParsed = (parse: () => unknown): boolean => {
  try {
    parse()
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError)
    return false
  }
}

describe("the interning parser", () => {
  it.each(kinds)("reads what the platform's parser reads, but for managed fields (%s)", (kind) => {
    const parse = parser()
    // An event or a list of what may be one, or anything at all.
    const shape = {
      object: json,
      event: json.map((object): Json => ({ type: "ADDED", object })),
      list: fc.array(json, { maxLength: 4 }).map((items): Json => ({ kind: "List", items }))
    }[kind]
    fc.assert(
      fc.property(fc.oneof(json, shape), fc.constantFrom(0, 1), fc.boolean(), (value, indent, escapes) => {
        const given = rewritten(value, indent, escapes && !JSON.stringify(value).includes("\\\\"))
        const wanted = expected[kind](JSON.parse(given) as Json)
        const first = parse(given, kind)
        expect(first).toEqual(wanted)
        expect(JSON.stringify(first)).toBe(JSON.stringify(wanted))
      }),
      { numRuns: 2_000 }
    )
  })

  it("refuses what the platform's parser refuses, whatever was read before", () => {
    const parse = parser()
    fc.assert(
      fc.property(
        json,
        fc.nat(),
        fc.constantFrom("", ",", "]", "}", "[", "{", ":", '"', "\\", "x", "\n", "0", "-", "é"),
        (value, place, put) => {
          const good = JSON.stringify({ a: value, b: [value], c: { value } })
          expect(parse(good)).toEqual(JSON.parse(good))
          const at = place % good.length
          const given = good.slice(0, at) + put + good.slice(at + 1)
          expect(isParsed(() => parse(given))).toBe(isParsed(() => JSON.parse(given)))
        }
      ),
      { numRuns: 5_000 }
    )
  })

  it("refuses what broke off, wherever it did, and says so without a word of it", () => {
    const parse = parser()
    const whole = JSON.stringify({
      type: "ADDED",
      object: {
        secret: ["}", '"', 1.5e3, true],
        metadata: { name: "\\", managedFields: [{ "f:x": { ".": {} } }], uid: "u" },
        b: null
      }
    })
    for (let turn = 0; turn < 3; turn++) {
      for (let length = 0; length < whole.length; length++)
        expect(() => parse(whole.slice(0, length), "event")).toThrow(/^not JSON at byte \d+$/u)
      expect(parse(whole, "event")).toEqual({
        type: "ADDED",
        object: { secret: ["}", '"', 1_500, true], metadata: { name: "\\", managedFields: null, uid: "u" }, b: null }
      })
    }
  })

  it.each([
    '{"metadata":{"managedFields":}}',
    '{"metadata":{"managedFields":,"a":1}}',
    '{"metadata":{"managedFields"}}',
    "",
    " ",
    "{} {}",
    "nul",
    "01",
    '"\n"',
    '"\\x"'
  ])("refuses %j", (none) => expect(() => parser()(none)).toThrow(SyntaxError))

  it("reads escapes in keys", () => {
    const parse = parser()
    for (const name of ["\\", '"', "\n", "\u0001", "a\\b", "\\\\"])
      expect(Object.keys(Object(parse(JSON.stringify({ metadata: [], [name]: [] }))))).toEqual(["metadata", name])
  })

  it("reads values that follow one another, until one is none", () => {
    const values: Array<unknown> = []
    const read = (text: string): void =>
      new InterningJsonParser().parseEach(Buffer.from(text), "event", (value) => values.push(value))
    expect(() => read('\r\n{"a":1}\r\n\n{"object":{"metadata":{"managedFields":[]}}}\n5\n}{\n"never"\n')).toThrow(
      SyntaxError
    )
    expect(values).toEqual([{ a: 1 }, { object: { metadata: { managedFields: null } } }, 5])
  })

  it("minds no depth and no length", () => {
    const parse = parser()
    for (const depth of [5, 12, 20_000]) {
      for (const [open, close] of [
        ["[", "]"],
        ['{"a":', "}"]
      ] as const) {
        const given = `${open.repeat(depth)}1${close.repeat(depth)}`
        let level = 0
        for (let value = parse(given); typeof value === "object" && value !== null; value = Object.values(value)[0])
          level++
        expect(level).toBe(depth)
      }
    }
    for (const length of [127, 128, 1_023, 1_024, 1_025, 100_000]) {
      const given = JSON.stringify({
        text: "x".repeat(length),
        of: Array.from({ length }, () => 1),
        escaped: "é\n".repeat(length)
      })
      for (let turn = 0; turn < 3; turn++) expect(JSON.stringify(parse(given))).toBe(given)
    }
  })

  it("changes no value with more of them than are remembered", () => {
    const parse = parser()
    const many = JSON.stringify(
      Array.from({ length: 10_000 }, (_, index) => ({
        name: `name-of-${index}`,
        more: { half: index >> 1, few: `one-of-${index % 100}` },
        ["__proto__"]: "its own"
      }))
    )
    expect(JSON.stringify(parse(many))).toBe(many)
  })

  it("gives what is written alike one place, with all it holds", () => {
    const parse = parser()
    const read = (name: string) =>
      parse(
        JSON.stringify({
          name,
          owner: { hostname: "laptop-of-somebody", numbers: [1, 2, { three: [] }] },
          escaped: "é\n"
        })
      ) as { readonly owner: object; readonly escaped: string }
    // Met once, then remembered.
    const [, second, third] = [read("a"), read("b"), read("c")]
    expect(third.owner).toBe(second.owner)
    expect(third).toEqual({
      name: "c",
      owner: { hostname: "laptop-of-somebody", numbers: [1, 2, { three: [] }] },
      escaped: "é\n"
    })
  })
})
