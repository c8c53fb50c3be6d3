import { Effect } from "effect"
import { describe, expect } from "vitest"
import { clusterProfilesIn } from "../../../src/app/fleet/cluster-profiles.ts"
import { clusterProfiles } from "../../../src/domain/fleet/cluster-profile.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { clustersNamespace } from "../../support/cluster-api.ts"
import { accessProvider, profileStatus, writeProfile } from "../../support/cluster-profile.ts"
import { it } from "../../support/effect-it.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { pass } from "../sessions/session-fleet.ts"

const start = (api: MemoryKubeApi) =>
  Effect.map(clusterProfilesIn(api, clustersNamespace, [accessProvider()]), (found) => ({
    found,
    names: () => found.all().map(({ member, name }) => `${name} ${member.server}${member.problems.join()}`)
  }))

describe("the clusters of ClusterProfiles", () => {
  it.effect("are those that the cluster manager offers access to, without a Secret", function* () {
    const api = new MemoryKubeApi("primary")
    writeProfile(api, "a")
    writeProfile(api, "registering", {})
    const { found, names } = yield* start(api)
    expect(names()).toEqual(["a https://a"])
    expect(found.kubeconfig("a")).toBeUndefined()
  })

  it.effect("come, change and go with their profiles", function* () {
    const api = new MemoryKubeApi("primary")
    const { found, names } = yield* start(api)
    let changes = 0
    const stop = found.listen(() => void (changes += 1))
    writeProfile(api, "a")
    yield* pass(1)
    expect([names(), changes]).toEqual([["a https://a"], 1])
    writeProfile(api, "a", profileStatus("https://other"))
    yield* pass(1)
    expect(names()).toEqual(["a https://other"])
    writeProfile(api, "a", { accessProviders: [{ name: "unknown", cluster: {} }] })
    yield* pass(1)
    expect(names()[0]).toMatch(/^a ClusterProfile clusters\/a is unusable: it offers access by "unknown" alone/u)
    stop()
    api.erase(clusterProfiles, "a", clustersNamespace)
    yield* pass(1)
    expect([names(), changes]).toEqual([[], 3])
  })

  it.effect("are none where the kind is not installed, and are found when it is", function* () {
    const api = new MemoryKubeApi("primary")
    const error = new KubeError({ cluster: "primary", operation: "list", reason: "NotFound", detail: "no" })
    api.before = () => Effect.fail(error)
    const { names } = yield* start(api)
    api.before = () => Effect.void
    writeProfile(api, "a")
    yield* pass(29)
    expect(names()).toEqual([])
    yield* pass(2)
    expect(names()).toEqual(["a https://a"])
  })
})
