/** Shrinking stories, with predicates instead of real runs. */

import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { parseStory } from "../../../../lab/simulation/story/parse-story.ts"
import { randomStory, defaultRandomStory } from "../../../../lab/simulation/story/random-story.ts"
import { shrinkStory } from "../../../../lab/simulation/story/shrink-story.ts"
import type { Story } from "../../../../lab/simulation/story/story.ts"

const story: Story = {
  seed: "1",
  lines: [
    "cluster a default pods 2",
    "cluster b",
    "cluster c",
    "session s1",
    "steal s1 80",
    "tick 15s",
    "session s2 user bob",
    "tick 70s",
    "steal s2 80",
    "tick 35s",
    "steal s1 81",
    "session s3",
    "steal s3 80",
    "tick 7s"
  ]
}
const has =
  (...wanted: ReadonlyArray<string>) =>
  ({ lines }: Story): boolean =>
    wanted.every((line) => lines.includes(line))

describe("shrinkStory", () => {
  it("keeps only what is needed", () => {
    const { lines } = shrinkStory(story, has("session s2 user bob", "steal s2 80"), 500)
    expect(lines).toEqual(["cluster a default", "session s2 user bob", "steal s2 80"])
  })

  it("drops a cluster or a session with everything that speaks of it", () => {
    const started = ({ lines }: Story): boolean =>
      lines.includes("tick 7s") &&
      lines
        .filter((line) => line.startsWith("steal"))
        .every((line) => lines.some((other) => other.startsWith(`session ${line.split(" ")[1]}`)))
    expect(shrinkStory(story, started, 1).lines).toEqual([
      "cluster a default pods 2",
      "tick 15s",
      "tick 70s",
      "tick 35s",
      "tick 7s"
    ])
  })

  it("halves times and leaves words out", () => {
    const long = ({ lines }: Story): boolean =>
      lines.some((line) => line.startsWith("tick ") && ["70s", "35s", "17500ms"].includes(line.slice(5)))
    expect(shrinkStory(story, long, 500).lines).toEqual(["cluster a default", "tick 17500ms"])
    const two = ({ lines }: Story): boolean => lines.some((line) => line.startsWith("session s2"))
    expect(shrinkStory(story, two, 500).lines).toEqual(["cluster a default", "session s2"])
  })

  it("asks about no story twice, about none that cannot be read, and not more often than it may", () => {
    const asked: Array<string> = []
    const spy = (candidate: Story): boolean => {
      expect(Result.isSuccess(parseStory(candidate.seed, candidate.lines))).toBe(true)
      asked.push(candidate.lines.join("\n"))
      return has("steal s3 80")(candidate)
    }
    shrinkStory(story, spy, 500)
    expect(new Set(asked).size).toBe(asked.length)
    asked.length = 0
    shrinkStory(story, spy, 7)
    expect(asked.length).toBe(7)
    expect(shrinkStory(story, spy, 0)).toEqual(story)
  })

  it("gives the same story every time, one that still breaks", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const long = randomStory(`${seed}`, defaultRandomStory)
      const sessions = (candidate: Story): boolean =>
        candidate.lines.filter((line) => line.startsWith("tick")).length >= 2
      const [shrunk, shrunkAgain] = [shrinkStory(long, sessions, 300), shrinkStory(long, sessions, 300)]
      expect(shrunk).toEqual(shrunkAgain)
      expect(sessions(shrunk)).toBe(true)
      expect(shrunk.lines.length).toBe(3)
    }
  })
})
