/** Planted mistakes: each still has its place in the program, and the noted story finds it. */

import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { findMistake, mutants, mutated } from "./mutant.ts"
import { tableInDocs, tableOf } from "./table.ts"

const update = "run `node test/simulation/mutants/search.ts` to look for them anew"

describe("planted mistakes", () => {
  it("are at least 14", () => expect(mutants.length).toBeGreaterThanOrEqual(14))

  it("are all in the table of docs/simulation.md", () => expect(tableInDocs(), update).toBe(tableOf(mutants)))

  for (const mutant of mutants) {
    const { edits, found, invariants, mistake, name } = mutant

    it(`${name} still has its place in the program`, () => {
      expect(edits.length).toBeGreaterThan(0)
      for (const edit of edits) {
        const text = readFileSync(new URL(`../../../${edit.file}`, import.meta.url), "utf8")
        expect(mutated(edit, text)).not.toBe(text)
      }
    })

    it(`${mistake}: story ${found.story} breaks ${found.invariant}`, { timeout: 600_000 }, async () => {
      expect(invariants).toContain(found.invariant)
      const finding = await findMistake(mutant, { from: found.story, to: found.story })
      expect(finding?.id, update).toBe(found.invariant)
    })
  }
})
