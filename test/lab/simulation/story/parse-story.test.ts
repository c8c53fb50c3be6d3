/** Reading stories: all mistakes at once, each with line and remedy. */

import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { parseStory, type StoryMistake } from "../../../../lab/simulation/story/parse-story.ts"
import { runStory } from "../../../../lab/simulation/story/run-story.ts"

const mistakes = (...lines: ReadonlyArray<string>): ReadonlyArray<StoryMistake> => {
  const read = parseStory("1", lines)
  return Result.isFailure(read) ? read.failure : []
}

describe("parseStory", () => {
  it("names line, verb and the nearest verb", () => {
    expect(mistakes("cluster a default", "", "# a comment", "crahs operator a")).toEqual([
      { line: 4, message: 'there is no verb "crahs"; the nearest is crash' }
    ])
  })

  it("tells all mistakes at once, each with its line", () => {
    expect(
      mistakes("cluster a default", "tick soon", "stael s1 80", "tick 5s", "steal s1 0").map(({ line }) => line)
    ).toEqual([2, 3, 5])
  })

  it("shows the verb's form", () => {
    expect(mistakes("cluster a default", "tick soon")).toEqual([
      { line: 2, message: 'tick: "soon" is not a duration: write 250ms, 60s, 5m or 2h; its form is `tick <duration>`' }
    ])
  })

  it("wants the world described first", () => {
    expect(mistakes("cluster a default", "tick 1s", "cluster b")).toEqual([
      { line: 3, message: "cluster describes the world: it must come before the first act" }
    ])
  })

  it("wants a cluster and a default", () => {
    expect(mistakes("tick 1s")[0]?.message).toContain("there is no cluster")
    expect(mistakes("cluster a")[0]?.message).toContain("no cluster is the default")
  })

  it("reads setup lines into the plan, and acts with their lines", () => {
    const read = parseStory("7", [
      "start all",
      "ttl 5s",
      "timeout 2m",
      "ping 10s",
      "primary boss",
      "cluster a default",
      "cluster b pods 3",
      "",
      "tick 1s # a comment"
    ])
    expect(Result.isSuccess(read) && read.success.plan).toEqual({
      branches: false,
      ephemeralAgents: [],
      members: {},
      traces: false,
      replicas: {},
      sharding: false,
      tokens: {},
      seed: "7",
      sessionStart: "all",
      sessionTtlSecs: 5,
      remoteSessionTimeoutSecs: 120,
      pingInterval: 10_000,
      primary: "boss",
      clusters: [
        { name: "a", pods: 1 },
        { name: "b", pods: 3 }
      ],
      defaultCluster: "a"
    })
    expect(Result.isSuccess(read) && read.success.acts.map(({ line, text }) => [line, text])).toEqual([
      [9, "tick 1s # a comment"]
    ])
  })

  it("makes a story that cannot be read throw all of it", () => {
    expect(() => runStory({ seed: "1", lines: ["cluster a default", "crahs"] })).toThrow(
      'line 2: there is no verb "crahs"'
    )
  })
})
