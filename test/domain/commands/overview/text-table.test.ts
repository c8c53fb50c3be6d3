import { expect, it } from "vitest"
import { textTable } from "../../../../src/domain/commands/overview/text-table.ts"

it("lines up columns, marks empty cells and lets no control character through", () => {
  expect(
    textTable([
      ["NAME", "REASON"],
      ["a-long-name", ""],
      ["b", "two\nlines\u001b[31m"],
      ["c", "x"]
    ])
  ).toEqual(["NAME          REASON", "a-long-name   -", "b             two lines\ufffd[31m", "c             x"])
})
