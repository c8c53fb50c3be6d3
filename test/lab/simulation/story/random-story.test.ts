/** Random stories: reproducible, readable, within their limits. */

import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { branchStory } from "../../../../lab/simulation/story/branch-story.ts"
import { outboundStory } from "../../../../lab/simulation/story/outbound-story.ts"
import { parseStory } from "../../../../lab/simulation/story/parse-story.ts"
import { randomStory, storyArbitrary, defaultRandomStory } from "../../../../lab/simulation/story/random-story.ts"
import { runStory } from "../../../../lab/simulation/story/run-story.ts"
import type { Story } from "../../../../lab/simulation/story/story.ts"
import { verbs } from "../../../../lab/simulation/story/verbs.ts"
import { duration } from "../../../../lab/simulation/story/words.ts"

const some = Array.from({ length: 300 }, (_, i) => randomStory(`some ${i}`, defaultRandomStory))
const verbOf = (line: string): string => line.split(" ")[0] ?? ""
const ticks = ({ lines }: Story): number =>
  lines.reduce(
    (sum, line) => sum + (verbOf(line) === "tick" ? Result.getOrElse(duration(line.split(" ")[1]), () => 0) : 0),
    0
  )

describe("randomStory", () => {
  it("is the same for the same seed, and another for another", () => {
    expect(randomStory("some 7", defaultRandomStory)).toEqual(some[7])
    expect(new Set(some.map(({ lines }) => lines.join("\n"))).size).toBe(some.length)
    expect(some.map(({ seed }) => seed)).toEqual(some.map((_, i) => `some ${i}`))
  })

  it("can be read", () => {
    for (const { lines, seed } of some) expect(parseStory(seed, lines)).toMatchObject({ _tag: "Success" })
  })

  it("uses every verb that has random lines", () => {
    const ofBranches = Array.from({ length: 300 }, (_, i) => branchStory(`some ${i}`))
    const ofOutbound = Array.from({ length: 100 }, (_, i) => outboundStory(`some ${i}`, defaultRandomStory))
    const used = new Set([...some, ...ofBranches, ...ofOutbound].flatMap(({ lines }) => lines.map(verbOf)))
    const wanted = verbs.flatMap((verb) => (verb.kind === "act" && (verb.random?.weight ?? 0) > 0 ? [verb.name] : []))
    expect(wanted.filter((name) => !used.has(name))).toEqual([])
  })

  it("stays within its options", () => {
    for (let i = 0; i < 100; i++) {
      const story = randomStory(`small ${i}`, { clusters: 2, sessions: 2, minutes: 1 })
      expect(story.lines.filter((line) => verbOf(line) === "cluster").length).toBeLessThanOrEqual(2)
      expect(
        // Strands that are woven in have sessions of their own.
        new Set(story.lines.filter((line) => line.startsWith("session s")).map((line) => line.split(" ")[1])).size
      ).toBeLessThanOrEqual(2)
      // The last act, and the calm end of a strand, may take the story beyond its time.
      expect(ticks({ ...story, lines: story.lines.slice(0, -20) })).toBeLessThan(60_000 + 600_000)
    }
  })

  it("has every shape of a fleet", () => {
    const setups = some.map(({ lines }) => lines.filter((line) => verbOf(line) === "cluster").join(", "))
    for (const shape of [
      /^cluster a default primary/,
      /^cluster a default(?! primary)/,
      /, cluster c default/,
      /pods 0/,
      /pods 2/
    ]) {
      expect(setups.filter((setup) => shape.test(setup)).length, String(shape)).toBeGreaterThan(5)
    }
  })

  it("can lose any of its acts and still run", () => {
    for (const { lines, seed } of some.slice(0, 5)) {
      const setup = lines.filter((line) => verbs.find(({ name }) => name === verbOf(line))?.kind === "setup")
      const odd = lines.slice(setup.length).filter((_, i) => i % 2 === 1)
      const { violations } = runStory({ seed, lines: [...setup, ...odd] })
      expect(violations.filter(({ id }) => id === "defect")).toEqual([])
    }
  })
})

describe("storyArbitrary", () => {
  it("shrinks to a story with fewer acts", () => {
    const result = fc.check(
      fc.property(storyArbitrary(defaultRandomStory), ({ lines }) => !lines.includes("session s2")),
      { seed: 1, numRuns: 100 }
    )
    const [story] = result.counterexample ?? []
    expect(story?.lines).toContain("session s2")
    expect(story?.lines.length).toBeLessThan(25)
  })
})
