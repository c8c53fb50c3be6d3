import { Effect } from "effect"
import { describe, expect } from "vitest"
import { it } from "../../support/effect-it.ts"
import { pass } from "../sessions/session-fleet.ts"
import { startInCloud } from "./cloud-fleet.ts"

const minute = 60
const hour = 60 * minute
const aks = { _tag: "Aks", tenantId: "contoso.com", clientId: undefined } as const

/** As `startInCloud`, with the tokens of an hour that Microsoft Entra usually gives. */
const start = Effect.tap(startInCloud(aks), ({ cloud }) => Effect.sync(() => (cloud.lifetime = hour * 1000)))

describe("an AKS cluster of the fleet", () => {
  it.effect("is engaged once, and its token is renewed by the lifetime that was granted", () =>
    Effect.gen(function* () {
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
  )

  it.effect("keeps its last token to its end while Entra gives none, and says why", () =>
    Effect.gen(function* () {
      const { cloud, problems, reach, refuseAll, used } = yield* start
      yield* pass(1)
      cloud.problem = "AADSTS; mend it"
      yield* pass(59 * minute)
      expect([reach()?.reachable, used]).toEqual([true, []])
      expect(problems.length).toBeGreaterThan(8)
      expect(new Set(problems)).toEqual(new Set(["cluster-a: AADSTS; mend it"]))
      refuseAll()
      yield* pass(2 * minute)
      expect(reach()?.error).toMatch(/the token of this cluster ended at .* no other can be made: AADSTS; mend it/u)
    })
  )

  it.effect("gets a token of another tenant at once, and is not engaged anew", () =>
    Effect.gen(function* () {
      const { engaged, fleet, members, used } = yield* start
      yield* pass(1)
      const [member] = members
      if (member === undefined) throw new Error("there is no member")
      yield* fleet.reauthenticate({ ...member, auth: { ...aks, tenantId: "fabrikam.com" } })
      yield* pass(1)
      expect([engaged.length, used]).toEqual([1, ["token 2 fabrikam.com"]])
    })
  )

  it.effect("that takes no token of the tenant says what to do", () =>
    Effect.gen(function* () {
      const { reach, refuseAll } = yield* start
      yield* pass(1)
      refuseAll()
      yield* pass(2 * minute)
      expect(reach()?.error).toMatch(/takes no token of this Azure tenant; turn on its Microsoft Entra integration/u)
    })
  )
})
