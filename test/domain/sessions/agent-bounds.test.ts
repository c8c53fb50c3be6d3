import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { agentsWithinBounds, type AgentUse } from "../../../src/domain/sessions/agent-bounds.ts"
import { type SessionBounds, defaultBounds } from "../../../src/domain/sessions/session-bounds.ts"

const bounds: SessionBounds = { ...defaultBounds, agentsPerUser: 3, agents: 4 }
const use = (user: string, ...agents: ReadonlyArray<string>): AgentUse => ({ user, agents })

describe("the bounds of agents", () => {
  it("permit what a user may have, in order, and say why not more", () => {
    const { failure, granted } = agentsWithinBounds(bounds, use("ann", "c", "d", "e"), [use("ann", "a", "b")])
    expect([...granted]).toEqual(["c"])
    expect(failure).toEqual({
      reason: "NotAllowed",
      message:
        "the bound of agents of user ann is reached: there are 3, and 3 are allowed (the chart's value " +
        "bounds.agentsPerUser); end a session that is not needed"
    })
  })

  it("count all users together, too", () => {
    const { failure, granted } = agentsWithinBounds(bounds, use("ann", "x"), [
      use("bob", "a", "b"),
      use("eve", "c", "d")
    ])
    expect(granted.size).toBe(0)
    expect(failure?.message).toMatch(
      /agents of all users is reached: there are 4, and 4 are allowed .*bounds\.agents\)/
    )
  })

  it("count an agent once that sessions share", () => {
    const inUse = [use("bob", "a", "b", "c", "d"), use("ann", "a")]
    const { failure, granted } = agentsWithinBounds(bounds, use("ann", "a", "b", "new", "c"), inUse)
    expect([[...granted], failure?.reason]).toEqual([["a", "b", "c"], "NotAllowed"])
    expect(agentsWithinBounds(bounds, use("ann", "a", "b", "c"), inUse).failure).toBeUndefined()
  })

  it("are never exceeded by what they grant", () => {
    const session = fc.record({
      user: fc.constantFrom("ann", "bob"),
      agents: fc.array(fc.constantFrom(..."abcdefgh"), { maxLength: 6 })
    })
    fc.assert(
      fc.property(fc.array(session, { maxLength: 12 }), (sessions) => {
        const started: Array<AgentUse> = []
        for (const wanted of sessions) {
          const { failure, granted } = agentsWithinBounds(bounds, wanted, started)
          expect(failure === undefined).toBe(wanted.agents.every((agent) => granted.has(agent)))
          started.push({ user: wanted.user, agents: [...granted] })
          const distinct = (uses: ReadonlyArray<AgentUse>): number => new Set(uses.flatMap(({ agents }) => agents)).size
          expect(distinct(started)).toBeLessThanOrEqual(bounds.agents)
          for (const user of ["ann", "bob"])
            expect(distinct(started.filter((one) => one.user === user))).toBeLessThanOrEqual(bounds.agentsPerUser)
        }
      })
    )
  })
})
