/** The file of seeds: what is written is read, in lines that people can compare. */

import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { readSeeds, seedsText } from "../../../../lab/simulation/explore/seeds-file.ts"

describe("test/seeds.json", () => {
  it("is as `npm run explore -- --write` writes it", () => {
    expect(readFileSync(new URL("../../../seeds.json", import.meta.url), "utf8")).toBe(seedsText(readSeeds()))
  })

  it("has short lines", () => {
    const seeds = Array.from({ length: 100 }, (_, i) => `${i}`.repeat(9))
    const stories = { usual: seeds, branches: [], sharded: ["sharded-1"], outbound: [] }
    const text = seedsText({ ...readSeeds(), stories })
    expect(JSON.parse(text)).toMatchObject({ stories })
    expect(Math.max(...text.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(120)
  })
})
