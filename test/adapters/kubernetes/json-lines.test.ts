import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { jsonLines } from "../../../src/adapters/kubernetes/json-lines.ts"

async function* chunks(parts: ReadonlyArray<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const part of parts) yield part
}

const collect = async (parts: ReadonlyArray<Uint8Array>): Promise<ReadonlyArray<unknown>> => {
  const values: Array<unknown> = []
  for await (const value of jsonLines(chunks(parts))) values.push(value)
  return values
}

describe("lines of JSON", () => {
  it("come out the same however the bytes are cut, inside characters too", () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 8 }), fc.array(fc.nat(400), { maxLength: 12 }), async (values, cuts) => {
        // JSON has no -0.
        const expected = JSON.parse(JSON.stringify(values)) as ReadonlyArray<unknown>
        const bytes = Buffer.from(expected.map((value) => `${JSON.stringify(value)}\n`).join(""))
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
        const parts = places.slice(1).map((end, index) => new Uint8Array(bytes.subarray(places[index], end)))
        expect(await collect(parts)).toEqual(expected)
      }),
      { numRuns: 300 }
    ))

  it("that are empty or end in CR LF do no harm, and a line that broke off is left out", async () => {
    expect(await collect([Buffer.from('{"a":1}\r\n\n  \n{"b":"ü')])).toEqual([{ a: 1 }])
  })

  it("that are no JSON fail", async () => {
    await expect(collect([Buffer.from("{]\n")])).rejects.toThrow(SyntaxError)
  })
})
