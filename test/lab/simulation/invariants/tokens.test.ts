/** N20 to N22 and L4: what an operator does about tokens that end, by events made by hand. */

import { describe, expect, it } from "vitest"
import { credentialsFresh } from "../../../../lab/simulation/invariants/l04-credentials-fresh.ts"
import { tokensInTime } from "../../../../lab/simulation/invariants/n20-tokens-in-time.ts"
import { renewalIsQuiet } from "../../../../lab/simulation/invariants/n21-renewal-is-quiet.ts"
import { renewalsAreSpread } from "../../../../lab/simulation/invariants/n22-renewals-are-spread.ts"
import type { World } from "../../../../lab/simulation/world/world.ts"
import { asked, at, called, children, find, makeWorld } from "./fixture.ts"

const minute = 60_000

/** A world in which nothing is wrong, and the tokens of a and b end. */
const ofTokens = (): World => {
  const plan = { lifetime: 10 * minute, longest: Infinity, skew: 0 }
  const world = makeWorld({
    tokens: { a: plan, b: plan }
  })
  world.pass(1_000)
  expect(world.isWell).toBe(true)
  return world
}

const fault = (ms: number) => at(ms, { _tag: "Fault", kind: "cut", text: "" })
const tokenOf = (to: string) => ({ verb: "create", resource: "serviceaccounts/envoy/token", to }) as const

describe("N20", () => {
  const refused = asked(10 * minute, { verb: "list", to: "a" }, "Unauthorized")
  it("finds a token that is refused, unless something was wrong a moment ago or is wrong", () => {
    expect(find(tokensInTime, refused, ofTokens())).toContain("a does not know the operator of primary")
    expect(find(tokensInTime, [fault(5 * minute), ...refused], ofTokens())).toBeUndefined()
    expect(find(tokensInTime, [fault(0), ...refused], ofTokens())).toContain("a does not know")
    const world = ofTokens()
    world.tokenSecrets.delete("b")
    const step = at(10 * minute, { _tag: "Step", text: "" })
    expect(find(tokensInTime, [step, ...refused], world)).toBeUndefined()
  })

  it("takes refusals that began in a fault, until the cluster knows the operator again", () => {
    const later = asked(20 * minute, { verb: "list", to: "a" }, "Unauthorized")
    const known = asked(11 * minute, { verb: "list", to: "a" })
    expect(find(tokensInTime, [fault(5 * minute), ...refused, ...later], ofTokens())).toBeUndefined()
    expect(find(tokensInTime, [fault(5 * minute), ...refused, ...known, ...later], ofTokens())).toContain("a does not")
  })

  it("says nothing of a cluster whose tokens never end", () => {
    expect(find(tokensInTime, asked(0, { verb: "list", to: "primary" }, "Unauthorized"), ofTokens())).toBeUndefined()
  })
})

describe("N21", () => {
  const listed = (ms: number) => called(ms, { verb: "list", resource: children, to: "a" })
  const granted = asked(10 * minute, tokenOf("a"))
  it("finds a list that follows from a token", () => {
    expect(find(renewalIsQuiet, [...granted, listed(10 * minute + 5)], ofTokens())).toContain("5 ms after its token")
    expect(find(renewalIsQuiet, [...granted, listed(11 * minute)], ofTokens())).toBeUndefined()
  })

  it("takes one that follows from a fault, a restart, or another cluster's token", () => {
    const started = at(9 * minute, { _tag: "Operator", cluster: "primary", process: "p", change: "started" })
    for (const before of [fault(9 * minute), started])
      expect(find(renewalIsQuiet, [before, ...granted, listed(10 * minute + 5)], ofTokens())).toBeUndefined()
    const other = asked(10 * minute, tokenOf("b"))
    expect(find(renewalIsQuiet, [...other, listed(10 * minute + 5)], ofTokens())).toBeUndefined()
  })
})

describe("N22", () => {
  it("finds three members that are asked at once, and not two", () => {
    const world = ofTokens()
    const first = [called(0, tokenOf("a")), called(10, tokenOf("b")), called(15, tokenOf("a"))]
    expect(find(renewalsAreSpread, first, world)).toBeUndefined()
    expect(find(renewalsAreSpread, [...first, called(20, tokenOf("c"))], world)).toContain("a, b, c within 20 ms")
    expect(find(renewalsAreSpread, [...first, called(50, tokenOf("c"))], world)).toBeUndefined()
  })
})

describe("N22, as N21", () => {
  it("judges nothing while something is wrong, or has just been put right", () => {
    const world = ofTokens()
    const ask = () => {
      const calls = ["a", "b", "c"].map((member, turn) => called(world.now + turn, tokenOf(member)))
      return find(renewalsAreSpread, calls, world)
    }
    world.tokenSecrets.spoil("a", "nobody's")
    expect(ask()).toBeUndefined()
    world.heal()
    expect(ask()).toBeUndefined()
    world.pass(minute)
    expect(ask()).toContain("a, b, c within 20 ms")
  })
})

describe("L4", () => {
  it("takes the refusals of tokens that somebody has spoilt, until they are put right", () => {
    const world = ofTokens()
    const refused = (...times: ReadonlyArray<number>) =>
      find(
        credentialsFresh,
        times.flatMap((at) => asked(at, { verb: "list", to: "a" }, "Unauthorized")),
        world
      )
    const from = world.now
    world.tokenSecrets.spoil("a", "nobody's")
    expect(refused(from, from + 70_000)).toBeUndefined()
    world.pass(minute)
    world.heal()
    // It asks for the first time since.
    expect(refused(from, world.now + 10_000)).toBeUndefined()
    expect(refused(world.now, world.now + 70_000)).toContain("has been refused for 70 s")
  })
})
