import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { RequestMatcher } from "../../../lab/agent/incoming/http-filter.ts"
import {
  dropClient,
  noSubscriptions,
  steal,
  stopStealing,
  type Subscriptions
} from "../../../lab/agent/incoming/subscriptions.ts"
import {
  type AgentClient,
  type AgentLocks,
  type ConcurrentSteal,
  claimOnAgent,
  leaveAgent,
  noAgentLocks,
  releaseOnAgent
} from "../../../src/domain/relay/agent-locks.ts"
import { type Claim, connectionName } from "../../../src/domain/relay/port-locks.ts"

const client = (connection: string, session: string, policy: ConcurrentSteal = "abort", link = 1): AgentClient => ({
  connection: connectionName(connection),
  session,
  link,
  policy
})
const [one, two] = [client("1", "s1"), client("2", "s2")]
const holding = (...claims: ReadonlyArray<readonly [AgentClient, Claim]>): AgentLocks =>
  claims.reduce((locks, [who, claim]) => claimOnAgent(locks, who, 80, claim)[0], noAgentLocks)
const holders = (locks: AgentLocks, port = 80): Readonly<Record<string, Claim>> =>
  Object.fromEntries([...(locks.get(port)?.holders ?? [])].map(([name, { claim }]) => [name, claim]))

describe("ports of one agent over all sessions", () => {
  it("stay with the session's latest link, though an earlier one asks after it", () => {
    const [dead, alive] = [client("1", "s1", "abort", 1), client("2", "s1", "abort", 2)]
    const taken = holding([dead, "whole"], [alive, "whole"])
    expect(holders(taken)).toEqual({ 2: "whole" })
    const again = { ...dead, connection: connectionName("3") }
    expect(claimOnAgent(taken, again, 80, "whole")).toEqual([taken, { _tag: "Superseded" }])
    expect(claimOnAgent(leaveAgent(taken, alive.connection), again, 80, "whole")[1]._tag).toBe("Granted")
  })

  it.each([
    ["whole", "whole", "Refused"],
    ["whole", "filtered", "Refused"],
    ["filtered", "whole", "Refused"],
    ["filtered", "filtered", "Granted"]
  ] as const)("held %s, wanted %s by another session: %s", (held, wanted, outcome) => {
    const before = holding([one, held])
    const [after, claimed] = claimOnAgent(before, two, 80, wanted)
    expect(claimed._tag).toBe(outcome)
    if (outcome === "Refused") expect(after).toBe(before)
    expect(claimOnAgent(before, two, 81, wanted)[1]._tag).toBe("Granted")
  })

  it("never conflict within a session: the later connection wins, and the end of the older one changes nothing", () => {
    const again = client("3", "s1")
    const [after, claimed] = claimOnAgent(holding([one, "whole"]), again, 80, "whole")
    expect(claimed).toEqual({ _tag: "Granted", evicted: [] })
    expect(holders(leaveAgent(after, one.connection))).toEqual({ 3: "whole" })
  })

  it("are free again when their holder gives them back or ends", () => {
    const locks = holding([one, "whole"])
    expect(releaseOnAgent(locks, one.connection, 80)).toEqual(noAgentLocks)
    expect(leaveAgent(locks, one.connection)).toEqual(noAgentLocks)
    expect(releaseOnAgent(locks, two.connection, 80)).toBe(locks)
  })

  it.each(["override", "continue"] as const)("go to who asks with %s, and the evicted are named", (policy) => {
    const [after, claimed] = claimOnAgent(
      holding([one, "filtered"], [two, "filtered"]),
      client("3", "s3", policy),
      80,
      "whole"
    )
    expect(claimed).toEqual({ _tag: "Granted", evicted: [one.connection, two.connection] })
    expect(holders(after)).toEqual({ 3: "whole" })
  })

  it("are not taken back and forth by two sessions that both override; the loser may follow the winner", () => {
    const [first, second] = [client("1", "s1", "override"), client("2", "s2", "override")]
    const [taken] = claimOnAgent(holding([first, "whole"]), second, 80, "whole")
    const back = client("3", "s1", "override")
    expect(claimOnAgent(taken, back, 80, "whole")[1]._tag).toBe("Refused")
    expect(claimOnAgent(leaveAgent(taken, second.connection), back, 80, "whole")[1]._tag).toBe("Granted")
  })

  it("are always held by those to whom the agent gives them", () => {
    const clients = [
      client("1", "s1"),
      client("2", "s1", "continue"),
      client("3", "s2", "override"),
      client("4", "s2"),
      client("5", "s3", "continue")
    ]
    const act = fc.record({
      who: fc.nat({ max: clients.length - 1 }),
      port: fc.constantFrom(80, 81),
      what: fc.constantFrom<Claim | "release" | "end">("whole", "filtered", "release", "end")
    })
    const matcher: RequestMatcher = () => true
    fc.assert(
      fc.property(fc.array(act, { maxLength: 40 }), (acts) => {
        let locks = noAgentLocks
        let agent: Subscriptions = noSubscriptions
        for (const { port, what, who } of acts) {
          const asking = clients[who]
          if (asking === undefined) continue
          if (what === "end") {
            locks = leaveAgent(locks, asking.connection)
            agent = dropClient(agent, who)
          } else if (what === "release") {
            locks = releaseOnAgent(locks, asking.connection, port)
            agent = stopStealing(agent, port, who)
          } else {
            const before = holders(locks, port)
            const [next, claimed] = claimOnAgent(locks, asking, port, what)
            locks = next
            if (claimed._tag === "Granted") {
              agent = steal(agent, port, who, what === "whole" ? undefined : matcher)
              for (const evicted of claimed.evicted) expect(before).toHaveProperty(evicted)
            }
          }
          for (const each of [80, 81]) {
            const given = agent.steals.get(each)
            const whole = given?._tag === "Unfiltered" ? [[clients[given.client]?.connection, "whole"]] : []
            const filtered = given?._tag === "Filtered" ? [...given.clients.keys()] : []
            const expected = [...whole, ...filtered.map((id) => [clients[id]?.connection, "filtered"])]
            expect(holders(locks, each)).toEqual(Object.fromEntries(expected))
          }
        }
      })
    )
  })
})
