import { expect, it } from "vitest"
import { Tamperer, type Tampering } from "../../../lab/fuzz/tamper.ts"

const piece = Uint8Array.of(1, 2, 3, 4)
const passed = (...changes: ReadonlyArray<Pick<Tampering, "act"> & Partial<Tampering>>) =>
  new Tamperer(changes.map((change) => ({ at: 0, bytes: Uint8Array.of(9), place: 1, ...change })))
    .pass(piece)
    .map((one) => (one === undefined ? "end" : [...one]))

it("changes a piece of a stream as it is told", () => {
  expect(passed()).toEqual([[1, 2, 3, 4]])
  expect(passed({ act: "insert" })).toEqual([[9], [1, 2, 3, 4]])
  expect(passed({ act: "append" })).toEqual([[1, 2, 3, 4], [9]])
  expect(passed({ act: "replace" })).toEqual([[9]])
  expect(passed({ act: "flip" })).toEqual([[1, 130, 3, 4]])
  expect(passed({ act: "shorten" })).toEqual([[1]])
  expect(passed({ act: "split" }, { act: "insert" })).toEqual([[9], [1], [9], [2, 3, 4]])
  expect(passed({ act: "end" }, { act: "append" })).toEqual([[1], [9], "end"])
  expect(passed({ act: "replace", at: 1 })).toEqual([[1, 2, 3, 4]])
})
