/** The text about a story that broke something, as the reader of a test gets it. */

import { expect, it } from "vitest"
import { runStory } from "../../lab/simulation/story/run-story.ts"
import { expectToHold, explain } from "./failing-story.ts"

/** A story that surely fails: its session does not end. */
const story = {
  seed: "0123456789ab-17",
  lines: ["cluster a default", "cluster b", "session s1", "expect s1 ended"]
}

it("is told with its seed, the lines of its world, its transcript, and the given command", () => {
  const told = explain({ story, replay: "the command" }, runStory(story)).split("\n")
  expect(told[0]).toBe("expect: What the story expects holds.")
  expect(told).toContainEqual(expect.stringMatching(/the story \(seed 0123456789ab-17, shrunk from 4 lines to 3\)/))
  expect(told).toContain("    cluster a default")
  expect(told).toContain("    expect s1 ended")
  expect(told.at(-1)).toBe("  replay: the command")
})

it("is replayed from its file if it has one", () => {
  expect(() => expectToHold(story, "test/museum/x.txt")).toThrow(
    "replay: npm run simulate -- --scenario test/museum/x.txt"
  )
})
