/** The plan of a sweep, and a run that fails. */

import { describe, expect, it } from "vitest"
import { runStory } from "../../../../lab/simulation/story/run-story.ts"
import type { Story, StoryResult } from "../../../../lab/simulation/story/story.ts"
import { runSweep, type SweepRun, sweepRuns } from "../../../../lab/simulation/story/sweep.ts"
import { errorKinds } from "../../../../lab/simulation/world/call-faults.ts"

const story: Story = { seed: "1", lines: ["cluster a default", "cluster b", "session s1", "tick 5s"] }
const runs = sweepRuns(story)

const runNamed = (part: string): SweepRun => {
  const found = runs.find(({ name }) => name.includes(part))
  if (found === undefined) throw new Error(`there is no run ${part}`)
  return found
}
const crashes = ({ events }: StoryResult) =>
  events.flatMap((event) => (event._tag === "Operator" && event.change === "crashed" ? [event] : []))

describe("sweepRuns", () => {
  it("has a run for each call and each way to fail, each by a name of its own", () => {
    expect(new Set(runs.map(({ name }) => name)).size).toBe(runs.length)
    const kinds = new Set(runs.map(({ name }) => name.split(": ")[1]))
    expect([...kinds].toSorted()).toEqual(["crash after", "crash before", ...Object.keys(errorKinds)].toSorted())
    const places = new Set(runs.map(({ name }) => name.split(" ")[0]))
    expect([...places].toSorted()).toEqual(["a", "b", "primary"])
  })

  it("counts each operator's calls from 0 without a gap", () => {
    for (const operator of ["primary", "a", "b"]) {
      const indices = runs.flatMap(({ name }) => {
        const match = new RegExp(`^${operator} call (\\d+) .*: crash before$`).exec(name)
        return match === null ? [] : [Number(match[1])]
      })
      expect(indices).toEqual(indices.map((_, i) => i))
    }
  })

  it("crashes the operator exactly there, and once", () => {
    const run = runNamed("create mirrordclustersessions to a): crash after")
    const index = /call (\d+)/.exec(run.name)?.[1]
    const result = runStory(story, { faults: run.faults(), events: true })
    expect(crashes(result)).toMatchObject([{ cluster: "primary", detail: expect.stringContaining(`call ${index}`) }])
    const made = result.events.some(
      (event) =>
        event._tag === "Committed" &&
        event.cluster === "a" &&
        event.commit.ref.plural === "mirrordclustersessions" &&
        event.commit.before === undefined
    )
    expect(made).toBe(true)
  })

  it("lets exactly one call fail", () => {
    const run = runNamed("create mirrordclustersessions to a): conflict")
    const { events } = runStory(story, { faults: run.faults(), events: true })
    const failed = events.flatMap((event) =>
      event._tag === "Answered" && event.outcome === "Conflict" ? [event.call] : []
    )
    expect(failed.map(({ index, operator, verb }) => `${operator} call ${index} (${verb}`)).toContain(
      run.name.split(" mirrord")[0]
    )
  })

  it("refuses a story that breaks something by itself", () => {
    expect(() => sweepRuns({ ...story, lines: [...story.lines, "expect s1 ended"] })).toThrow(/without any fault/)
  })
})

describe("runSweep", () => {
  it("runs each and tells how many", () => {
    const seen: Array<string> = []
    const three = runs.slice(0, 3)
    expect(runSweep(story, ({ name }) => seen.push(name), three)).toBe(3)
    expect(seen).toEqual(three.map(({ name }) => name))
  })
})
