import { Clock } from "effect"
import { describe, expect } from "vitest"
import { fleetObjects } from "../../../src/app/sessions/primary/fleet-status.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { it } from "../../support/effect-it.ts"
import { pass } from "../sessions/session-fleet.ts"
import { name, startInCloud } from "./cloud-fleet.ts"

const minute = 60
const auth = { _tag: "ExecPlugin", provider: "p", config: undefined } as const

describe("a cluster of the fleet whose credentials a plugin gives", () => {
  it.effect("gets others before they end, and keeps its last ones while the plugin fails", function* () {
    const { asked, cloud, engaged, fleet, problems, reach, used } = yield* startInCloud(auth)
    yield* pass(1)
    expect(engaged).toEqual(["token 1 p"])
    expect(fleet.clusters.get(name)?.credentials()?.auth).toBe("execPlugin")
    cloud.problem = "plugin /p of access provider p: it is not executable"
    yield* pass(13 * minute)
    expect([reach()?.reachable, used]).toEqual([true, []])
    expect(problems).toContain(`Cluster cluster-a gets no new credentials: ${cloud.problem}.`)
    cloud.problem = undefined
    yield* pass(2 * minute)
    expect(used).toEqual([`token ${asked.length} p`])
    expect(engaged).toHaveLength(1)
  })

  it.effect("is not engaged before the plugin gives credentials, and says why", function* () {
    const { cloud, reach } = yield* startInCloud(auth)
    cloud.problem = "plugin /p of access provider p: it is not executable"
    yield* pass(1)
    expect(reach()?.error).toBe(`its plugin gives no credentials: ${cloud.problem}`)
  })

  it.effect("keeps credentials without an end until it refuses them, and the plugin is asked again then", function* () {
    const { asked, cloud, fleet, reach, refuseAll } = yield* startInCloud(auth)
    cloud.lifetime = Infinity
    // The first token has an end.
    yield* pass(20 * minute)
    const before = asked.length
    yield* pass(6 * 60 * minute)
    expect(asked).toHaveLength(before)
    expect(fleet.clusters.get(name)?.credentials()?.until).toBeUndefined()
    const [object] = fleetObjects(fleet, clusterName("primary"), [], yield* Clock.currentTimeMillis)
    expect(object?.status).not.toHaveProperty("credentialsExpireAt")
    refuseAll()
    yield* pass(2 * minute)
    expect(asked.length).toBeGreaterThan(before)
    expect(asked.at(-1)?.isRefused).toBe(true)
    expect(reach()?.error).toMatch(/the cluster does not know the credentials that the plugin of access provider p/u)
  })
})
