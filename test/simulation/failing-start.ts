/**
 * One failing call at the start of a session never makes a user's request fail: the calls of the step-by-step example,
 * one failure each, as tests.
 */

import { Result } from "effect"
import { expect, it } from "vitest"
import { parseStory } from "../../lab/simulation/story/parse-story.ts"
import { errorKinds, type FaultPlan } from "../../lab/simulation/world/call-faults.ts"
import type { PortCall } from "../../lab/simulation/world/world-event.ts"
import { World, type WorldPlan } from "../../lab/simulation/world/world.ts"
import { sweptExample } from "./swept-story.ts"

/** Longest wait for a session's start that anybody would accept, virtual ms. */
const patience = 120_000
/**
 * Ways in which one call fails while nothing is broken: the way there or back, a busy server, a server that restarts, a
 * token that is replaced, another user of the same quota.
 */
const kinds = [
  "unreachable",
  "answer-lost",
  "too-many-requests",
  "server-error",
  "unavailable",
  "unauthorized",
  "conflict"
] as const

const plan = ((): WorldPlan => {
  const { lines, seed } = sweptExample.story
  const parsed = parseStory(seed, lines)
  if (Result.isFailure(parsed)) throw new Error("the example cannot be read")
  return parsed.success.plan
})()

/** A user who starts a session in the first moment of all, and the outcome. */
const start = (faults: FaultPlan): string => {
  const world = new World(plan)
  world.faultPlans.push(faults)
  const client = world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp" })
  world.passUntil(() => client.isServing || client.ended !== undefined, patience)
  return client.isServing
    ? "serving"
    : (client.ended?.message ?? `neither refused nor served within ${patience / 1000} s`)
}

const calls: Array<PortCall> = []
start((call) => void calls.push(call))

/** A test for each way to fail: no user is refused for it. Each call fails once, or if it is whole once in each way. */
export const testOneFailure = (isWhole: boolean): void => {
  it("may be any of many", () => expect(calls.length).toBeGreaterThan(30))

  for (const [at, kind] of kinds.entries()) {
    it(`refuses nobody: ${kind}`, () => {
      const tried = calls.filter((_, i) => isWhole || (i + at) % kinds.length === 0)
      const refused = tried.flatMap(({ index, name, operator, resource, to, verb }) => {
        const outcome = start((call) =>
          call.operator === operator && call.index === index ? errorKinds[kind] : undefined
        )
        return outcome === "serving"
          ? []
          : [`${operator} call ${index} (${verb} ${resource} ${name} to ${to}): ${outcome}`]
      })
      expect(refused).toEqual([])
    })
  }
}
