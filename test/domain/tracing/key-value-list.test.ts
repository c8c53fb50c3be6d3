import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { keyValueList } from "../../../src/domain/tracing/key-value-list.ts"

const key = fc.stringMatching(/^[a-z][a-z0-9.-]{0,20}$/)
const value = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) })

describe("lists of OpenTelemetry's variables", () => {
  it("give back what was written, values percent-encoded", () =>
    fc.assert(
      fc.property(
        fc.dictionary(
          key,
          value.filter((text) => text === text.trim()),
          { maxKeys: 20, noNullPrototype: true }
        ),
        (pairs) => {
          const text = Object.entries(pairs).map(([name, one]) => `${name}=${encodeURIComponent(one)}`)
          expect(keyValueList(text.join(","))).toEqual(pairs)
        }
      )
    ))

  it("may have blanks around their pairs, and nothing between two commas", () =>
    expect(keyValueList(" a = b c ,, x-key=p%3Dq")).toEqual({ a: "b c", "x-key": "p=q" }))

  it("are refused without a name, without a sign, with a broken escape, and with a value that ends a line", () => {
    for (const text of ["a", "=b", "a b=c", "a=%", "a=%0Ab", "a=%E2%82%AC", "a\nb=c"])
      expect(keyValueList(text), text).toBeUndefined()
    expect(keyValueList(Array.from({ length: 65 }, (_, index) => `k${index}=v`).join(","))).toBeUndefined()
  })

  it("never throw", () => fc.assert(fc.property(fc.string(), (text) => void keyValueList(text))))
})
