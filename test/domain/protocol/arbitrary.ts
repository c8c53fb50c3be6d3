import * as fc from "fast-check"
import { formatIp } from "../../../src/domain/protocol/ip-address.ts"
import type { Shape, TextRule, TypedShape, Variant } from "../../../src/domain/protocol/shape.ts"

/** Filters inside filters: deep enough to be interesting, not so deep that every example is one. */
const filterDepth = 3

const number = (low: number, high: number): fc.Arbitrary<number> =>
  fc.oneof(
    fc.constantFrom(
      ...[low, 0, 1, 125, 126, 250, 251, 0xffff, 0x1_0000, high - 1, high].filter((n) => n >= low && n <= high)
    ),
    fc.integer({ min: low, max: high })
  )

/** All classes of length, and their borders. */
const bigint = (low: bigint, high: bigint): fc.Arbitrary<bigint> => {
  const borders = [7n, 8n, 16n, 32n, 53n, 63n, 64n, 128n].flatMap((bits) => {
    const border = 1n << bits
    return [border - 1n, border, border + 1n, -border, 1n - border]
  })
  const fitting = [0n, 125n, 126n, 250n, 251n, -125n, -126n, ...borders].filter((n) => n >= low && n <= high)
  return fc.oneof(fc.constantFrom(...fitting), fc.bigInt({ min: low, max: high }))
}

const characters = (from: string, size: { readonly min: number; readonly max: number }): fc.Arbitrary<string> =>
  fc.array(fc.constantFrom(...from), { minLength: size.min, maxLength: size.max }).map((all) => all.join(""))

const lowerToken = characters("abcxyz019-_.!#$%&'*+^`|~", { min: 1, max: 8 })
const method = fc.oneof(
  fc.constantFrom("GET", "POST", "DELETE", "PROPFIND", "get"),
  characters("AZaz09-._~", { min: 1, max: 12 })
)

const semver = fc
  .tuple(
    fc.tuple(fc.nat(), fc.nat(999), bigint(0n, (1n << 64n) - 1n)),
    fc.array(fc.oneof(fc.nat().map(String), characters("abz-", { min: 1, max: 4 }), fc.constantFrom("0", "0a", "rc")), {
      maxLength: 3
    }),
    fc.array(characters("az09-", { min: 1, max: 4 }), { maxLength: 3 })
  )
  .map(([core, pre, build]) => {
    const text = core.join(".") + (pre.length === 0 ? "" : `-${pre.join(".")}`)
    return text + (build.length === 0 ? "" : `+${build.join(".")}`)
  })

/** URIs in the form in which they are written, so that decoding gives the same text. */
const path = characters("/aZ0-._~%!$&'()*+,;=:@éñ漢", { min: 0, max: 12 }).map((tail) => `/${tail}`)
const query = fc.oneof(
  fc.constant(""),
  characters("aZ0/?=&-._~%+,é", { min: 0, max: 10 }).map((text) => `?${text}`)
)
const host = fc.oneof(
  fc.constantFrom("h", "a.b-c.example", "10.0.0.1", "[::1]", "user@h"),
  characters("abz019.-", { min: 1, max: 9 })
)
const authority = fc.tuple(host, fc.constantFrom("", ":80", ":65535")).map((parts) => parts.join(""))
const uri = fc.oneof(
  fc.tuple(path, query).map((parts) => parts.join("")),
  fc
    .tuple(fc.constantFrom("http", "https", "ws", "Custom+x"), authority, path, query)
    .map(([s, a, p, q]) => `${s}://${a}${p}${q}`),
  authority,
  fc.constant("*")
)

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 4 }).map((text) => `\u{feff}${text}`),
  fc.constantFrom("", "x".repeat(250), "x".repeat(251), "é".repeat(130), "🦀", "\0")
)

const text = (rule: TextRule): fc.Arbitrary<string> => {
  switch (rule) {
    case "any":
      return anyText
    case "method":
      return method
    case "uri":
      return uri
    case "httpVersion":
      return fc.constantFrom("HTTP/0.9", "HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "HTTP/3.0")
    case "semver":
      return semver
  }
}

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 20 }),
  fc.constantFrom(250, 251, 300).map((length) => Uint8Array.from({ length }, (_, i) => i & 0xff))
)
const headerValue = fc
  .array(fc.oneof(fc.integer({ min: 32, max: 126 }), fc.integer({ min: 128, max: 255 }), fc.constant(9)), {
    maxLength: 8
  })
  .map((octets) => Uint8Array.from(octets))
/** Names are distinct and every name has its values together, the only form in which a header map travels. */
const headers = fc
  .uniqueArray(fc.tuple(lowerToken, fc.array(headerValue, { minLength: 1, maxLength: 3 })), {
    selector: ([name]) => name,
    maxLength: 4
  })
  .map((all) => all.flatMap(([name, values]) => values.map((value) => [name, value] as const)))

const octets = (length: number): fc.Arbitrary<Uint8Array> =>
  fc
    .array(fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 255 })), {
      minLength: length,
      maxLength: length
    })
    .map((all) => Uint8Array.from(all))
const mapped = octets(4).map((four) => Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, ...four]))
const ip = fc.oneof(octets(4), octets(16), mapped).map(formatIp)

const fieldsOf = (fields: Variant["fields"], depth: number): { [name: string]: fc.Arbitrary<unknown> } =>
  Object.fromEntries(fields.map(({ name, shape }) => [name, build(shape, depth)]))

const build = (shape: Shape, depth: number): fc.Arbitrary<unknown> => {
  switch (shape.kind) {
    case "u8":
      return number(0, 0xff)
    case "bool":
      return fc.boolean()
    case "u16":
      return number(0, 0xffff)
    case "u32":
      return number(0, 0xffff_ffff)
    case "u64":
      return bigint(0n, (1n << 64n) - 1n)
    case "u128":
      return bigint(0n, (1n << 128n) - 1n)
    case "i32":
      return number(-0x8000_0000, 0x7fff_ffff)
    case "i64":
      return bigint(-(1n << 63n), (1n << 63n) - 1n)
    case "bytes":
      return bytes
    case "unit":
      return fc.constant(null)
    case "status":
      return number(100, 999)
    case "ip":
      return ip
    case "headers":
      return headers
    case "text":
      return text(shape.rule)
    case "option":
      return fc.option(build(shape.of, depth), { nil: null, freq: 2 })
    case "result":
      return fc.oneof(
        fc.record({ _tag: fc.constant("Ok"), value: build(shape.ok, depth) }),
        fc.record({ _tag: fc.constant("Err"), error: build(shape.err, depth) })
      )
    case "list":
      return shape.of.kind === "lazy" && depth === 0
        ? fc.constant([])
        : fc.array(build(shape.of, depth), { maxLength: 3 })
    case "array":
      return fc.array(build(shape.of, depth), { minLength: shape.length, maxLength: shape.length })
    case "textSet":
      return fc.uniqueArray(anyText, { maxLength: 4 }).map((members) => new Set(members))
    case "textMap":
      return fc
        .uniqueArray(fc.tuple(anyText, anyText), { selector: ([key]) => key, maxLength: 4 })
        .map((entries) => new Map(entries))
    case "struct":
      return fc.record(fieldsOf(shape.fields, depth), { noNullPrototype: true })
    case "enum":
      return fc.oneof(
        ...shape.variants.map(({ name, fields }) =>
          fc.record({ _tag: fc.constant(name), ...fieldsOf(fields, depth) }, { noNullPrototype: true })
        )
      )
    case "lazy":
      return build(shape.force(), depth - 1)
  }
}

/** Values of a shape, derived from it; in the form in which decoding gives them. */
export const arbitraryOf = <T>(shape: TypedShape<T>): fc.Arbitrary<T> => build(shape, filterDepth) as fc.Arbitrary<T>
