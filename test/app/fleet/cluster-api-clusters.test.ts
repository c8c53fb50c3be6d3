import { Effect } from "effect"
import { describe, expect } from "vitest"
import { clusterApi } from "../../../src/app/fleet/cluster-api-clusters.ts"
import { clusterApiClusters, clusterApiSecret } from "../../../src/domain/fleet/cluster-api.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { type KubeApi, KubeError } from "../../../src/ports/kube-api.ts"
import { clustersNamespace, writeCluster, writeClusterKubeconfig } from "../../support/cluster-api.ts"
import { it } from "../../support/effect-it.ts"
import { kubeconfigOf } from "../../support/kubeconfig.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { pass } from "../sessions/session-fleet.ts"

/** Refuses all requests for `Cluster` objects, or for those of some versions. */
const refuse = (api: MemoryKubeApi, reason: "NotFound" | "Forbidden", isRefused = () => true): void => {
  const error = new KubeError({ cluster: "primary", operation: "list", reason, detail: "no" })
  api.before = ({ plural }) => (plural === "clusters" && isRefused() ? Effect.fail(error) : Effect.void)
}

const start = (api: KubeApi) =>
  Effect.map(clusterApi(api, clustersNamespace), (found) => ({
    found,
    names: () => found.all().map(({ member, name }) => `${name} ${member.server}${member.problems.join()}`)
  }))

describe("the clusters of Cluster API", () => {
  it.effect("are those whose control plane has been up, with the kubeconfigs of their Secrets", function* () {
    const api = new MemoryKubeApi("primary")
    writeCluster(api, "a")
    writeClusterKubeconfig(api, "a")
    writeCluster(api, "b", false)
    writeClusterKubeconfig(api, "b")
    writeCluster(api, "without-secret")
    const asked: Array<string | undefined> = []
    const list: KubeApi["list"] = (ref, selection) => {
      if (ref.plural === secrets.plural) asked.push(selection?.name)
      return api.list(ref, selection)
    }
    const { found, names } = yield* start({ ...api, list })
    expect(names()).toEqual(["a https://a"])
    expect(found.all()[0]).toMatchObject({
      from: "Cluster clusters/a",
      member: { auth: { place: { name: "a-kubeconfig", namespace: "clusters", key: "value" } } }
    })
    expect(found.kubeconfig("a")).toBe(kubeconfigOf("a"))
    // Beside them are the keys of the clusters' authorities, which are nobody's business.
    expect(asked).toEqual(["a-kubeconfig", "without-secret-kubeconfig"])
  })

  it.effect(
    "come when their control plane is up or their Secret is there, change with it, and go when deleted",
    function* () {
      const api = new MemoryKubeApi("primary")
      const { found, names } = yield* start(api)
      let changes = 0
      found.listen(() => void (changes += 1))
      writeCluster(api, "a", false)
      writeClusterKubeconfig(api, "a")
      yield* pass(1)
      expect([names(), changes]).toEqual([[], 0])
      writeCluster(api, "a")
      yield* pass(1)
      expect([names(), changes]).toEqual([["a https://a"], 1])
      writeClusterKubeconfig(api, "a", kubeconfigOf("a", { exec: { command: "rm" } }))
      yield* pass(1)
      expect(names()[0]).toMatch(
        /the kubeconfig of Secret a-kubeconfig is unusable: it has exec; the operator runs no/u
      )
      api.write(
        clusterApiClusters("v1beta2"),
        "a",
        { metadata: { deletionTimestamp: "2026-11-21T12:00:00Z" } },
        clustersNamespace
      )
      yield* pass(1)
      expect(names()).toEqual([])
      // The Secret alone is no cluster, and is not read any more.
      const asked = api.openWatches
      writeClusterKubeconfig(api, "a")
      yield* pass(1)
      expect([names(), asked]).toEqual([[], 1])
    }
  )

  it.effect("leave with their Secret", function* () {
    const api = new MemoryKubeApi("primary")
    writeCluster(api, "a")
    writeClusterKubeconfig(api, "a")
    const { names } = yield* start(api)
    api.erase(secrets, clusterApiSecret("a"), clustersNamespace)
    yield* pass(1)
    expect(names()).toEqual([])
  })

  it.effect("are none where it is not installed, and are found when it is", function* () {
    const api = new MemoryKubeApi("primary")
    refuse(api, "NotFound")
    const { names } = yield* start(api)
    api.before = () => Effect.void
    writeCluster(api, "a")
    writeClusterKubeconfig(api, "a")
    yield* pass(29)
    expect(names()).toEqual([])
    yield* pass(2)
    expect(names()).toEqual(["a https://a"])
  })

  it.effect("are read in the version that is served", function* () {
    const api = new MemoryKubeApi("primary")
    writeCluster(api, "a", true, "v1beta1")
    writeClusterKubeconfig(api, "a")
    let asked = 0
    refuse(api, "NotFound", () => (asked += 1) === 1)
    const { names } = yield* start(api)
    expect(names()).toEqual(["a https://a"])
  })

  it.effect("are waited for while they cannot be read", function* () {
    const api = new MemoryKubeApi("primary")
    writeCluster(api, "a")
    refuse(api, "Forbidden")
    const starting = yield* Effect.forkChild(start(api))
    yield* pass(45)
    expect(starting.pollUnsafe()).toBeUndefined()
    api.before = () => Effect.void
    yield* pass(30)
    expect(starting.pollUnsafe()).toBeDefined()
  })
})
