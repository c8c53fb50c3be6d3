import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { branchBoundProblem } from "../../../src/domain/branches/branch-bounds.ts"

const bounds = { branches: 3, branchesPerNamespace: 2 }
const cure = "; stop one (mirrord db-branches stop), or ask an administrator to raise the value."

describe("the bounds of branches", () => {
  it.each([
    ["none", [], undefined],
    ["one here and one elsewhere", ["a", "b"], undefined],
    [
      "as many as a namespace may have",
      ["a", "a"],
      `The bound of branches of namespace a is reached: there are 2, and 2 are allowed (the chart's value ` +
        `bounds.branchesPerNamespace)${cure}`
    ],
    [
      "as many as there may be in all",
      ["b", "c", "d"],
      `The bound of branches of all namespaces is reached: there are 3, and 3 are allowed (the chart's value ` +
        `bounds.branches)${cure}`
    ]
  ])("with %s", (_what, others, problem) => expect(branchBoundProblem(bounds, "a", others)).toBe(problem))

  it("are kept whatever the order in which branches of namespaces come", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "b", "c")), (wanted) => {
        const there: Array<string> = []
        for (const one of wanted) if (branchBoundProblem(bounds, one, there) === undefined) there.push(one)
        expect(there.length).toBeLessThanOrEqual(bounds.branches)
        for (const one of "abc") expect(there.filter((other) => other === one).length).toBeLessThanOrEqual(2)
        // Nobody is refused while there is room.
        expect(there.length === 3 || wanted.every((one) => there.filter((other) => other === one).length > 0)).toBe(
          true
        )
      })
    )
  })
})
