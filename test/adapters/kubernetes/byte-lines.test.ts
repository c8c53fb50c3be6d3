import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { byteLines } from "../../../src/adapters/kubernetes/byte-lines.ts"

async function* chunks(parts: ReadonlyArray<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield part
}

const collect = async (parts: ReadonlyArray<Uint8Array>): Promise<ReadonlyArray<string>> => {
  const lines: Array<string> = []
  for await (const some of byteLines(chunks(parts))) lines.push(...some.map(String))
  return lines
}

describe("lines", () => {
  it("come out the same however the bytes are cut, inside characters too", () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 8 }), fc.array(fc.nat(400), { maxLength: 12 }), async (values, cuts) => {
        const expected = values.map((value) => JSON.stringify(value))
        const bytes = Buffer.from(expected.map((line) => `${line}\n`).join(""))
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
        const parts = places.slice(1).map((end, index) => new Uint8Array(bytes.subarray(places[index], end)))
        expect(await collect(parts)).toEqual(expected)
      }),
      { numRuns: 300 }
    ))

  it("that are empty do no harm, and one that broke off is left out", async () => {
    expect(await collect([Buffer.from('{"a":1}\r\n\n  \r\n{"b":"ü')])).toEqual(['{"a":1}\r'])
  })

  it("come together as they came", async () => {
    const some: Array<ReadonlyArray<string>> = []
    for await (const lines of byteLines(chunks(["a\nb", "c", "", "\nd\ne\n", "\n"].map((part) => Buffer.from(part))))) some.push(lines.map(String))
    expect(some).toEqual([["a"], ["bc", "d", "e"]])
  })
})
