/** The contents of the report page, from stories that are run for it. */

import { describe, expect, it } from "vitest"
import { makeReport } from "../../../../lab/simulation/report/make-report.ts"
import { runStory } from "../../../../lab/simulation/story/run-story.ts"

const reportOf = (...lines: ReadonlyArray<string>) => {
  const story = { seed: "report", lines }
  return makeReport("a test", story, runStory(story, { events: true }))
}

const cut = reportOf(
  "cluster a default",
  "cluster b",
  "session s1",
  "steal s1 80",
  "tick 5s",
  "request a → s1",
  "tick 5s",
  "cut primary b",
  "tick 5s",
  "request b",
  "tick 35s",
  "heal primary b",
  "tick 20s",
  "crash operator a",
  "tick 10s",
  "request b → s1",
  "tick 1s"
)

describe("the contents of the page", () => {
  it("has clients on top, then the primary, then the members, each with its rows", () => {
    expect(cut.rows.map(({ id }) => id)).toEqual([
      "s1",
      "primary operator",
      "primary parent of s1",
      "a operator",
      "a child of s1",
      "a agents",
      "a requests",
      "b operator",
      "b child of s1",
      "b agents",
      "b requests"
    ])
  })

  it("has the cut as a band over b, and says when faults ended", () => {
    expect(cut.bands).toHaveLength(1)
    const [band] = cut.bands
    expect(band).toMatchObject({ lane: "b", kind: "cut" })
    expect((band?.to ?? 0) - (band?.from ?? 0)).toBeCloseTo(40, 0)
    expect(cut.actsEnd).toBeGreaterThan(band?.to ?? Infinity)
    expect(cut.end).toBeGreaterThan(cut.actsEnd + 900)
  })

  it("has the phases of the parent one after the other, without the member while it is cut off", () => {
    const parent = cut.bars.filter(({ row }) => row === "primary parent of s1")
    expect(parent.map(({ look }) => look).filter((look, i, all) => look !== all[i - 1])).toEqual([
      "waiting",
      "ready",
      "degraded",
      "ready",
      "degraded",
      "ready",
      "ending"
    ])
    for (const [i, bar] of parent.entries()) expect(bar.from).toBe(i === 0 ? bar.from : parent[i - 1]?.to)
    expect(parent.find(({ look }) => look === "degraded")?.text).toMatch(/^parent of s1: Ready without b/)
    expect(cut.bars.find(({ row }) => row === "b child of s1")?.text).toMatch(/^child of s1: /)
  })

  it("has who answered each request, and when", () => {
    expect(cut.requests.map(({ by, client, row }) => [row, by, client])).toEqual([
      ["a requests", "client", "s1"],
      ["b requests", "client", "s1"],
      ["b requests", "client", "s1"]
    ])
    for (const { answeredAt, at } of cut.requests) expect(answeredAt).toBeGreaterThan(at)
  })

  it("has a gap where an operator was gone, and a mark at both ends", () => {
    const operator = cut.bars.filter(({ row }) => row === "a operator")
    expect(operator).toHaveLength(2)
    expect((operator[1]?.from ?? 0) - (operator[0]?.to ?? 0)).toBeCloseTo(3, 1)
    expect(
      cut.marks
        .filter(({ row }) => row === "a operator")
        .map(({ look }) => look)
        .toSorted()
    ).toEqual(["end", "fault", "start"])
  })

  it("counts every message once", () => {
    const story = { seed: "report", lines: ["cluster a default", "session s1", "tick 5s"] }
    const result = runStory(story, { events: true })
    const { messages } = makeReport("a test", story, result)
    const count = (lane: string) =>
      messages.filter((message) => message.lane === lane).reduce((sum, message) => sum + message.count, 0)
    expect(count("s1")).toBe(result.events.filter(({ _tag }) => _tag === "ClientSaid" || _tag === "ClientHeard").length)
    expect(count("a")).toBe(result.events.filter(({ _tag }) => _tag === "AgentSaid" || _tag === "AgentHeard").length)
    expect(count("s1")).toBeGreaterThan(0)
  })

  it("lists the story's steps among the events, in order", () => {
    expect(cut.events.filter(({ kind }) => kind === "step").map(({ text }) => text)).toEqual([
      ...cut.story.filter((line) => !line.startsWith("cluster")),
      "(settle)"
    ])
    expect(cut.events.map(({ at }) => at)).toEqual(cut.events.map(({ at }) => at).toSorted((a, b) => a - b))
    expect(cut).toMatchObject({ passed: true, verdict: "passed", seed: "report" })
  })

  it("says what broke, and ends there", () => {
    const failed = reportOf(
      "cluster a default",
      "session s1",
      "tick 5s",
      "cut primary a",
      "tick 5s",
      "expect s1 ended",
      "tick 60s"
    )
    expect(failed.passed).toBe(false)
    expect(failed.actsEnd).toBe(failed.end)
    expect(failed.verdict).toMatch(/^failed after 10\.\d{3} s: expect: What the story expects holds\. /)
    expect(failed.events.at(-1)?.kind).toBe("broken")
    expect(Math.max(...failed.bars.map(({ to }) => to), ...failed.bands.map(({ to }) => to))).toBe(failed.end)
  })
})
