import { Effect } from "effect"
import { describe, expect } from "vitest"
import type { ClusterAuth } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import { it } from "../../support/effect-it.ts"
import { giveCredentials } from "../../support/fleet.ts"
import { pass } from "../sessions/session-fleet.ts"
import { name, startInCloud } from "./cloud-fleet.ts"

const minute = 60
const eks = { _tag: "Eks", region: "eu-north-1" } as const
const start = (auth: ClusterAuth = eks) => startInCloud(auth)

describe("an EKS cluster of the fleet", () => {
  it.effect("is engaged with a token that is made for its name and region, without any Secret", function* () {
    const { asked, engaged, reach } = yield* start()
    yield* pass(1)
    expect(asked).toEqual([
      { name, auth: eks, server: expect.any(String), certificateAuthority: undefined, isRefused: false }
    ])
    expect(engaged).toEqual(["token 1 eu-north-1"])
    expect(reach()).toEqual({ reachable: true, error: undefined })
  })

  it.effect("gets a token every ten minutes, and is never engaged again", function* () {
    const { asked, engaged, used } = yield* start()
    yield* pass(9 * minute)
    expect(asked).toHaveLength(1)
    yield* pass(61 * minute)
    expect(engaged).toHaveLength(1)
    expect(used).toEqual([2, 3, 4, 5, 6, 7, 8].slice(0, used.length).map((count) => `token ${count} eu-north-1`))
    expect(used.length).toBeGreaterThanOrEqual(6)
  })

  it.effect("keeps its last token while AWS gives none, says so, and recovers by itself", function* () {
    const { asked, cloud, engaged, problems, reach, refuseAll, used } = yield* start()
    yield* pass(1)
    cloud.problem = "no identity; mend it"
    yield* pass(13 * minute)
    expect([reach()?.reachable, used]).toEqual([true, []])
    expect(new Set(problems)).toEqual(new Set(["Cluster cluster-a gets no new credentials: no identity; mend it."]))
    // Some tries before the token ends, and no storm of them.
    expect(problems.length).toBeGreaterThanOrEqual(5)
    expect(problems.length).toBeLessThan(20)
    cloud.problem = undefined
    yield* pass(2 * minute)
    expect(used).toEqual([`token ${asked.length} eu-north-1`])
    cloud.problem = "no identity; mend it"
    refuseAll()
    yield* pass(16 * minute)
    expect(reach()).toMatchObject({
      reachable: false,
      error: expect.stringMatching(/the token of this cluster ended at .* UTC, .* no identity; mend it/u)
    })
    expect(engaged).toHaveLength(1)
  })

  it.effect("is reported while there has been no token, and engaged with the first", function* () {
    const { cloud, engaged, reach } = yield* start()
    cloud.problem = "no identity; mend it"
    yield* pass(5)
    expect(reach()).toEqual({ reachable: false, error: "no token can be made for it: no identity; mend it" })
    cloud.problem = undefined
    yield* pass(10)
    expect([engaged.length, reach()?.reachable]).toEqual([1, true])
  })

  it.effect("that does not know the operator gets other tokens, and the status says what to do", function* () {
    const { asked, reach, refuseAll } = yield* start()
    yield* pass(1)
    refuseAll()
    yield* pass(5 * minute)
    expect(reach()?.error).toMatch(/make an access entry .* "cluster-a", and look whether eu-north-1 is its region$/u)
    expect(asked.length).toBeGreaterThan(2)
    expect(asked.length).toBeLessThan(12)
  })

  it.effect("gets its next token before the identity ends that made the last", function* () {
    const { asked, cloud } = yield* start()
    cloud.lifetime = 8 * minute * 1000
    yield* pass(3 * minute - 1)
    expect(asked).toHaveLength(1)
    yield* pass(minute + 2)
    expect(asked).toHaveLength(2)
  })

  it.effect("gets a token at once for another region, and for another way to authenticate, and goes on", function* () {
    const { asked, engaged, fleet, members, primary, used } = yield* start({ _tag: "BearerToken" })
    giveCredentials(primary, "cluster-a")
    yield* pass(1)
    const [member] = members
    if (member === undefined) throw new Error("there is no member")
    const change = (auth: ClusterAuth) => Effect.andThen(fleet.reauthenticate({ ...member, auth }), pass(1))
    yield* change({ _tag: "Eks", region: "eu-north-1" })
    yield* change({ _tag: "Eks", region: "eu-west-1" })
    yield* change({ _tag: "BearerToken" })
    expect(engaged).toHaveLength(1)
    expect(used).toEqual(["token 1 eu-north-1", "token 2 eu-west-1", engaged[0]])
    yield* pass(30 * minute)
    expect(asked).toHaveLength(2)
  })
})
