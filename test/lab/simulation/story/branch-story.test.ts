/** Random stories of branches: reproducible, readable, in every topology. */

import { describe, expect, it } from "vitest"
import { branchStory } from "../../../../lab/simulation/story/branch-story.ts"
import { parseStory } from "../../../../lab/simulation/story/parse-story.ts"

const some = Array.from({ length: 300 }, (_, i) => branchStory(`some ${i}`))

describe("branchStory", () => {
  it("is the same for the same seed, and another for another", () => {
    expect(branchStory("some 7")).toEqual(some[7])
    expect(new Set(some.map(({ lines }) => lines.join("\n"))).size).toBe(some.length)
  })

  it("can be read", () => {
    for (const { lines, seed } of some) expect(parseStory(seed, lines)).toMatchObject({ _tag: "Success" })
  })

  it("sometimes has a second primary, another default cluster, and migrations that come with an order", () => {
    for (const act of [/^primary hub too$/, /^configure default b$/, /^branch .* migrated$/])
      expect(some.filter(({ lines }) => lines.some((line) => act.test(line))).length, String(act)).toBeGreaterThan(3)
  })

  it("orders branches, meddles with them, and breaks their engines, in every topology", () => {
    for (const setup of [
      ["cluster a default"],
      ["cluster a default", "cluster b"],
      ["cluster a default", "cluster b primary"],
      ["cluster a default primary"],
      ["cluster a default primary", "cluster b"]
    ]) {
      const told = some.filter(
        ({ lines }) => lines.filter((line) => line.startsWith("cluster ")).join() === setup.join()
      )
      for (const act of [/^branch \w\d /, /^database /, /^engine /, /^env /])
        expect(
          told.filter(({ lines }) => lines.some((line) => act.test(line))).length,
          `${setup} ${act}`
        ).toBeGreaterThan(3)
    }
  })
})
