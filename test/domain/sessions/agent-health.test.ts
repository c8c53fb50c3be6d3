import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  type AgentWatch,
  answersWithin,
  healthOf,
  heardAgent,
  leftPortOpen,
  lookedAtPod,
  newWatch,
  nextRound,
  type AgentPodState,
  roundEvery
} from "../../../src/domain/sessions/agent-health.ts"

/**
 * `r`: a round, `h`: the agent is heard, `o`: it has left a port open since the beginning, `?`, `.`, `l`, `g`: looks
 * that find its pod unknown, there, leaving, gone.
 */
const steps: Readonly<Record<string, (watch: AgentWatch) => AgentWatch>> = {
  r: nextRound,
  h: heardAgent,
  o: (watch) => leftPortOpen(watch, 80, 0),
  ...Object.fromEntries(
    Object.entries({ "?": "Unknown", ".": "There", l: "Leaving", g: "Gone" } as const).map(([key, sign]) => [
      key,
      (watch: AgentWatch) => lookedAtPod(watch, sign satisfies AgentPodState)
    ])
  )
}
const after = (script: string): AgentWatch =>
  [...script].reduce((watch, step) => steps[step]?.(watch) ?? watch, newWatch)
const tagOf = (script: string) => healthOf(after(script))._tag
const script = fc.string({ unit: fc.constantFrom(...Object.keys(steps)), maxLength: 40 })

describe("the watch over an agent", () => {
  it.each([
    ["", "Serving"],
    // The first round asks, the next two pass in silence.
    ["rr", "Serving"],
    ["rrr", "Suspected"],
    ["rrrr", "Suspected"],
    ["rrrrr", "Lost"],
    // A late answer clears it, and the count begins again.
    ["rrrrh", "Serving"],
    ["rrrrhrrrr", "Suspected"],
    ["rrrrhrrrrr", "Lost"],
    ["rhrhrhrhrhrhrh", "Serving"],
    // Nothing brings back an agent that was given up: another is made in its place.
    ["rrrrrh", "Lost"],
    // A port is left open by an agent that answers. In the round in which it was asked it may have had no time.
    ["orhrhrhrhrhrho", "Serving"],
    ["rhrhrhrhrhrhroh", "Lost"],
    ["g", "Lost"],
    ["gh.r", "Lost"],
    // A drain takes its time; a pod that nobody speaks of proves nothing.
    ["l", "Serving"],
    ["llll", "Serving"],
    ["lrhrhl", "Serving"],
    ["lrhrh?rhl", "Lost"],
    ["lrhrh.rhl", "Serving"],
    ["????", "Serving"]
  ])("%s: %s", (script, expected) => expect(tagOf(script)).toBe(expected))

  it("suspects an agent that falls silent within 24 s, and gives it up within 40 s", () => {
    const roundsUntil = (tag: string): number => {
      // It fell silent right after an answer.
      let watch = after("rh")
      for (let rounds = 1; ; rounds++) {
        watch = nextRound(watch)
        if (healthOf(watch)._tag === tag) return rounds
      }
    }
    expect(roundsUntil("Suspected") * roundEvery).toBe(24_000)
    expect(roundsUntil("Lost") * roundEvery).toBe(40_000)
    // The watch must come to its end first: a greeting that gives up lets go of the connection that is asked.
    expect(answersWithin).toBeGreaterThan(40_000)
  })

  it("never gives up an agent that answers each round and has its pod", () => {
    const fine = fc.array(fc.constantFrom("rh", "rhh", "r.h", "r?h", "rh.l.")).map((parts) => parts.join(""))
    fc.assert(
      fc.property(fine, (steady) => {
        expect(tagOf(steady)).toBe("Serving")
      })
    )
  })

  it("says Lost only with a reason, for good, and after silence or a look", () => {
    fc.assert(
      fc.property(script, script, (before, later) => {
        const health = healthOf(after(before))
        if (health._tag !== "Lost") return
        expect(health.why).toMatch(/^it|^its/)
        expect(before).toMatch(/(r.*){5}|g|l[^.]*l/)
        expect(healthOf(after(before + later))).toEqual(health)
      })
    )
  })

  it("serves again with the first word, unless it was given up", () => {
    fc.assert(
      fc.property(script, (before) => {
        if (tagOf(before) !== "Lost") expect(tagOf(`${before}h`)).toBe("Serving")
      })
    )
  })
})
