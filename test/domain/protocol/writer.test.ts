import { expect, it } from "vitest"
import { Writer } from "../../../src/domain/protocol/writer.ts"

it("never changes what an earlier writer has written, whose buffer it may have", () => {
  const [first, beside] = [new Writer(), new Writer()]
  first.raw(new Uint8Array(1_000).fill(1))
  beside.raw(new Uint8Array(1_000).fill(2))
  const written = [first.finish(), beside.finish()]
  for (const fill of [3, 4]) {
    const next = new Writer()
    next.raw(new Uint8Array(500).fill(fill))
    written.push(next.finish())
  }
  expect(written.map((bytes) => [bytes.length, ...new Set(bytes)])).toEqual([
    [1_000, 1],
    [1_000, 2],
    [500, 3],
    [500, 4]
  ])
})
