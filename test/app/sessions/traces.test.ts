/** One trace per session over a primary and its members, in the simulation. */

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { runStory } from "../../../lab/simulation/story/run-story.ts"
import { canary } from "../../../lab/simulation/world/canary.ts"
import type { TimedEvent } from "../../../lab/simulation/world/world-event.ts"
import { spanCatalogue } from "../../../src/domain/tracing/span-catalogue.ts"

type SpanEvent = Extract<TimedEvent, { readonly _tag: "Span" }>

const scenarios = join(import.meta.dirname, "../../../lab/simulation/scenarios")
const linesOf = (name: string) =>
  readFileSync(join(scenarios, `${name}.txt`), "utf8")
    .trimEnd()
    .split("\n")

const play = (lines: ReadonlyArray<string>, traces = true) => {
  const spans: Array<SpanEvent> = []
  const { violations } = runStory(
    { seed: "traces", lines },
    { traces, observe: (event) => void (event._tag === "Span" && spans.push(event)) }
  )
  expect(violations).toEqual([])
  return spans
}

const story = [
  "cluster a default",
  "cluster b",
  "session s1",
  "steal s1 80",
  "tick 5s",
  "request b → s1",
  "leave s1",
  "tick 100s"
]

/** A span as `where name of-cluster`, with those below it, each sort once. */
const treeOf = (spans: ReadonlyArray<SpanEvent>, above: string | undefined): object =>
  Object.fromEntries(
    spans
      .filter(({ span }) => span.parentSpanId === above)
      .map(({ cluster, span: { attributes, name, spanId } }) => {
        const of = name === "session connect" ? undefined : attributes["k8s.cluster.name"]
        return [`${cluster}: ${name}${of === undefined ? "" : ` ${String(of)}`}`, treeOf(spans, spanId)] as const
      })
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
  )

describe("the trace of a session", () => {
  it("holds every phase at the primary and its members, below the connect that began it", () => {
    const spans = play(story)
    expect(new Set(spans.map(({ span }) => span.traceId)).size).toBe(1)
    expect(treeOf(spans, undefined)).toEqual({
      "primary: session connect": {
        "primary: child create a": { "a: agent start": {} },
        "primary: child create b": { "b: agent start": {} },
        "primary: first byte": {},
        "primary: link open a": { "a: session connect": {} },
        "primary: link open b": { "b: session connect": {} },
        "primary: session connect": {
          "primary: first byte": {},
          "primary: link open a": { "a: session connect": {} },
          "primary: link open b": { "b: session connect": {} }
        },
        "primary: session end": {},
        "primary: session start": { "primary: member start a": {}, "primary: member start b": {} }
      }
    })
    expect(new Set(spans.map(({ span }) => span.name))).toEqual(new Set(Object.keys(spanCatalogue)))
    for (const { span } of spans) expect(span.attributes, span.name).toMatchObject({ "braid.outcome": "ok" })
  })

  it("says of agents when they were ready, connected and had answered", () => {
    const agents = play(story).filter(({ span }) => span.name === "agent start")
    for (const { span } of agents) expect(span.moments).toEqual(["agent ready", "agent connected", "agent answered"])
  })

  it("keeps no span open for as long as the session lives", () => {
    for (const { span } of play(story)) expect(span.endedAt - span.startedAt, span.name).toBeLessThan(20_000)
  })

  it("is its own for each session", () => {
    const spans = play(["cluster a default", "session s1", "session s2", "tick 5s"])
    const connects = spans.filter(({ span }) => span.parentSpanId === undefined)
    expect(new Set(connects.map(({ span }) => span.traceId)).size).toBe(2)
  })

  it("is the same in each run of a seed", () => expect(play(story)).toEqual(play(story)))

  it("does not exist while traces are off", () => expect(play(story, false)).toEqual([]))

  it.each([
    "member-cut-40s",
    "leader-killed",
    "primary-restart-ready",
    "member-without-target",
    "forbidden",
    "rollout"
  ])("changes nothing that must hold, and holds no secret: %s", (name) => {
    const spans = play(linesOf(name))
    expect(spans.length).toBeGreaterThan(5)
    expect(JSON.stringify(spans)).not.toContain(canary)
    // Every span has its place in the trace: the one above it was told as well, or its process died before it ended.
    expect(new Set(spans.map(({ span }) => span.traceId)).size).toBeLessThanOrEqual(
      spans.filter(({ span }) => span.name === "session connect").length
    )
  })
})
