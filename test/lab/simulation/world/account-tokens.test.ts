import { describe, expect, it } from "vitest"
import { AccountTokens } from "../../../../lab/simulation/world/account-tokens.ts"
import { defaultPlan, World } from "../../../../lab/simulation/world/world.ts"
import { readTokenClaims } from "../../../../src/domain/fleet/credentials/token-claims.ts"

const minute = 60_000
const account = { subject: "system:serviceaccount:mirrord:envoy", secret: "secret" }

describe("the tokens of a simulated member", () => {
  it("end by the member's clock, and are granted for no longer than it grants", () => {
    let now = 0
    const tokens = new AccountTokens({ lifetime: 30 * minute, longest: 10 * minute, skew: minute }, account, () => now)
    const until = (token: string) => readTokenClaims(token)?.validity.until
    const [first, granted] = [tokens.first(), tokens.grant(20 * minute)]
    expect([until(first), until(granted)]).toEqual([31 * minute, 11 * minute])
    now = 10 * minute - 1
    expect([first, granted, "another"].map((token) => tokens.accepts(token))).toEqual([true, true, false])
    now = 10 * minute
    expect([first, granted].map((token) => tokens.accepts(token))).toEqual([true, false])
  })

  it("are known to nobody if they are duds, until that is healed", () => {
    const tokens = new AccountTokens({ lifetime: minute, longest: Infinity, skew: 0 }, account, () => 0)
    tokens.grantDuds(2)
    expect([tokens.accepts(tokens.grant(minute)), tokens.isWell]).toEqual([false, false])
    tokens.heal()
    expect([tokens.accepts(tokens.grant(minute)), tokens.isWell]).toEqual([true, true])
  })

  it("never end where nothing is planned", () => {
    const tokens = new AccountTokens(undefined, account, () => 0)
    expect([tokens.first(), tokens.accepts("any"), tokens.isPlanned]).toEqual(["secret-1", true, false])
  })
})

describe("a world whose tokens end", () => {
  const plan = { lifetime: 10 * minute, longest: Infinity, skew: 0 }
  const make = () =>
    new World({
      ...defaultPlan,
      seed: "test",
      clusters: [{ name: "a", pods: 1 }],
      defaultCluster: "a",
      tokens: { a: plan }
    })

  it("is not well while the primary can get no token that works, and is healed by another token", () => {
    const world = make()
    world.pass(1_000)
    for (const spoil of [
      () => world.tokenSecrets.delete("a"),
      () => world.tokenSecrets.spoil("a", "nobody's"),
      () => world.cluster("a").tokens.grantDuds(1)
    ]) {
      expect(world.isWell).toBe(true)
      spoil()
      expect(world.isWell).toBe(false)
      world.heal()
    }
    expect(world.isWell).toBe(true)
  })

  it("refuses the links and requests of an operator whose token has ended", () => {
    const world = make()
    const outcomes: Array<string> = []
    world.observe((event) => {
      if (event._tag === "Answered" && event.call.to === "a" && event.call.operator === "primary")
        outcomes.push(event.outcome)
    })
    world.network.cut("primary", "a")
    world.pass(11 * minute)
    world.network.healAll()
    world.pass(minute)
    expect(new Set(outcomes)).toEqual(new Set(["Unreachable", "Unauthorized"]))
    const client = world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp" })
    world.pass(minute)
    expect(client.isServing).toBe(false)
  })
})
