import { Effect } from "effect"
import { describe, expect } from "vitest"
import type { ClusterAuth } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import { it } from "../../support/effect-it.ts"
import { giveCredentials } from "../../support/fleet.ts"
import { pass } from "../sessions/session-fleet.ts"
import { startInCloud } from "./cloud-fleet.ts"

const minute = 60
const hour = 60 * minute
const aks = { _tag: "Aks", tenantId: "contoso.com", clientId: undefined } as const

/** As `startInCloud`, with the tokens of an hour that Microsoft Entra usually gives. */
const start = Effect.tap(startInCloud(aks), ({ cloud }) => Effect.sync(() => (cloud.lifetime = hour * 1000)))

type Started = Effect.Success<typeof start>

/** Configures another way to authenticate. */
const change = ({ fleet, members }: Started, auth: ClusterAuth) =>
  Effect.andThen(
    Effect.forEach(members, (member) => fleet.reauthenticate({ ...member, auth }), { discard: true }),
    pass(1)
  )

describe("an AKS cluster of the fleet", () => {
  it.effect("is engaged once, and its token is renewed by the lifetime that was granted", function* () {
    const { asked, cloud, engaged, used } = yield* start
    yield* pass(44 * minute)
    expect([engaged, used]).toEqual([["token 1 contoso.com"], []])
    yield* pass(4 * minute)
    expect(used).toEqual(["token 2 contoso.com"])
    cloud.lifetime = 24 * hour * 1000
    yield* pass(48 * minute)
    expect(asked).toHaveLength(3)
    yield* pass(17 * hour)
    expect(asked).toHaveLength(3)
    yield* pass(2.3 * hour)
    expect([asked.length, engaged.length]).toEqual([4, 1])
  })

  it.effect("is tried at once with a corrected tenant, without the pauses of the wrong one", function* () {
    const started = yield* start
    const { asked, cloud, engaged } = started
    cloud.problem = "no such tenant; mend it"
    yield* pass(10 * minute)
    // The pause of the wrong tenant has begun again.
    const tries = asked.length
    while (asked.length === tries) yield* pass(1)
    yield* change(started, { ...aks, tenantId: "fabrikam.co" })
    expect(asked).toHaveLength(tries + 2)
    // Nor has this one the long pause of so many failures.
    yield* pass(4)
    expect(asked.length).toBeGreaterThan(tries + 2)
    cloud.problem = undefined
    yield* change(started, { ...aks, tenantId: "fabrikam.com" })
    expect(engaged).toEqual([expect.stringMatching(/fabrikam\.com$/u)])
  })

  it.effect("is engaged when it comes back after a failure from another way to authenticate", function* () {
    const started = yield* start
    const { cloud, engaged, primary, reach } = started
    cloud.problem = "no such tenant; mend it"
    yield* pass(10 * minute)
    giveCredentials(primary, "cluster-a", "secret")
    yield* change(started, { _tag: "BearerToken" })
    expect(engaged).toEqual(["secret"])
    cloud.problem = undefined
    yield* change(started, aks)
    expect([engaged, reach()?.reachable]).toEqual([["secret"], true])
  })

  it.effect("is lost if there is no token of the cloud to which it belongs now", function* () {
    const started = yield* start
    yield* pass(1)
    started.cloud.problem = "no AWS identity; mend it"
    yield* change(started, { _tag: "Eks", region: "eu-north-1" })
    expect(started.reach()).toMatchObject({ reachable: false, error: expect.stringMatching(/no AWS identity/u) })
  })

  it.effect("that takes no token of the tenant says what to do", function* () {
    const { reach, refuseAll } = yield* start
    yield* pass(1)
    refuseAll()
    yield* pass(2 * minute)
    expect(reach()?.error).toMatch(/takes no token of this Azure tenant; turn on its Microsoft Entra integration/u)
  })
})
