import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { wholeLines } from "../../../src/adapters/kubernetes/whole-lines.ts"

async function* chunks(parts: ReadonlyArray<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield part
}

const collect = async (parts: ReadonlyArray<Uint8Array>): Promise<ReadonlyArray<string>> => {
  const some: Array<string> = []
  for await (const lines of wholeLines(chunks(parts))) some.push(lines.toString())
  return some
}

describe("whole lines", () => {
  it("come out the same however the bytes are cut, inside characters too", () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 8 }), fc.array(fc.nat(400), { maxLength: 12 }), async (values, cuts) => {
        const text = values.map((value) => `${JSON.stringify(value)}\n`).join("")
        const bytes = Buffer.from(text)
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
        const parts = places.slice(1).map((end, index) => new Uint8Array(bytes.subarray(places[index], end)))
        const some = await collect(parts)
        expect(some.join("")).toBe(text)
        expect(some.every((lines) => lines.endsWith("\n"))).toBe(true)
      }),
      { numRuns: 300 }
    ))

  it("leave out one that broke off", async () => {
    expect(await collect([Buffer.from('{"a":1}\r\n\n{"b":"ü')])).toEqual(['{"a":1}\r\n\n'])
  })

  it("come together as they came", async () => {
    expect(await collect(["a\nb", "c", "", "\nd\ne\n", "\n"].map((part) => Buffer.from(part)))).toEqual(["a\n", "bc\nd\ne\n", "\n"])
  })
})
