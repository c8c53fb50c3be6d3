/**
 * One failing call while a branch of a database is ordered, made and used: the calls of the example with branches, one
 * failure each, as tests. The invariants hold, and no user is told more than the truth.
 */

import { Result } from "effect"
import { expect, it } from "vitest"
import { readScenario } from "../../lab/simulation/command/scenario-file.ts"
import { runStory } from "../../lab/simulation/story/run-story.ts"
import { errorKinds, type FaultPlan } from "../../lab/simulation/world/call-faults.ts"
import type { PortCall } from "../../lab/simulation/world/world-event.ts"
import { explain } from "./failing-story.ts"

/** Ways in which one call fails, and an operator that dies with it. */
const kinds = ["unreachable", "answer-lost", "server-error", "conflict", "crash"] as const

const story = (() => {
  const read = readScenario("branches-swept", undefined)
  if (Result.isFailure(read)) throw new Error(read.failure.join("\n"))
  return read.success.story
})()

/** Calls about branches, their parts and their sessions: all others are swept by the example without branches. */
const isAbout = ({ resource, verb }: PortCall): boolean =>
  ["branchdatabases", "pods", "secrets", "deployments"].includes(resource) || verb === "link"

const calls: Array<PortCall> = []
runStory(story, { faults: (call) => void (isAbout(call) && calls.push(call)) })

/** A test for each way to fail. Each call fails once, or if it is whole once in each way. */
export const testOneFailureWithBranches = (isWhole: boolean): void => {
  it("may be any of many", () => expect(calls.length).toBeGreaterThan(40))

  for (const [at, kind] of kinds.entries()) {
    it(`breaks no invariant: ${kind}`, () => {
      const tried = calls.filter((_, i) => isWhole || (i + at) % kinds.length === 0)
      const broken = tried.flatMap(({ index, name, operator, resource, to, verb }) => {
        const fault = kind === "crash" ? ({ _tag: "Crash", when: "after" } as const) : errorKinds[kind]
        const faults: FaultPlan = (call) => (call.operator === operator && call.index === index ? fault : undefined)
        const result = runStory(story, { faults })
        const name_ = `${operator} call ${index} (${verb} ${resource} ${name} to ${to})`
        const sweepRun = { name: name_, faults: () => faults }
        return result.violations.length === 0
          ? []
          : [explain({ story, sweepRun, replay: "npm run simulate -- --sweep branches-swept" }, result)]
      })
      expect(broken).toEqual([])
    })
  }
}
