/** Planted mistakes: each still has its place in the program, and the noted story finds it. */

import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { mutants, mutated } from "./mutant.ts"
import { tableInDocs, tableOf } from "./table.ts"
import { withTellers } from "./with-tellers.ts"

const update = "run `node test/simulation/mutants/search.ts` to look for them again"

describe("planted mistakes", () => {
  it("are at least 14", () => expect(mutants.length).toBeGreaterThanOrEqual(14))

  it("are all in the table of docs/reference/planted-mistakes.md", () =>
    expect(tableInDocs(), update).toBe(tableOf(mutants)))

  it.each(mutants)("$name still has its place in the program", ({ edits }) => {
    expect(edits.length).toBeGreaterThan(0)
    for (const edit of edits) {
      const text = readFileSync(new URL(`../../../${edit.file}`, import.meta.url), "utf8")
      expect(mutated(edit, text)).not.toBe(text)
    }
  })
})

/** `npm run test:long` looks for all of them from story 1 on. */
const atLanding = mutants.filter((_, index) => index % 3 === 0)

describe.concurrent("planted mistakes are found", () => {
  const find = withTellers()

  for (const mutant of atLanding) {
    const { found, invariants, mistake } = mutant
    it(`${mistake}: story ${found.story} breaks ${found.invariant}`, async () => {
      expect(invariants).toContain(found.invariant)
      const finding = await find({ mutant, from: found.story, to: found.story })
      expect(finding?.id, update).toBe(found.invariant)
    })
  }
})
