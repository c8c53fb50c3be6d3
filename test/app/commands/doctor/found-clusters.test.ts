import { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { withFoundClusters } from "../../../../src/app/commands/doctor/found-clusters.ts"
import { noParts } from "../../../../src/domain/doctor/needed-rights.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { clustersNamespace, writeCluster, writeClusterKubeconfig } from "../../../support/cluster-api.ts"
import { accessProvider, writeProfile } from "../../../support/cluster-profile.ts"
import { it } from "../../../support/effect-it.ts"
import { configurationOf, operatorNamespace } from "../../../support/fleet.ts"
import { writeKubeconfig } from "../../../support/kubeconfig.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"

/** The clusters of an installation that looks for them in all ways, and what is wrong with it. */
const look = (own: MemoryKubeApi) =>
  Effect.map(
    withFoundClusters({
      seenFrom: "operator",
      config: new KubeConfig(),
      own,
      namespace: operatorNamespace,
      agentNamespace: operatorNamespace,
      kept: noParts,
      fleet: configurationOf(["a"]),
      search: {
        providers: ["kubeconfigSecrets", "clusterApi", "clusterProfile"],
        clusterApiNamespace: clustersNamespace,
        clusterProfileNamespace: clustersNamespace,
        accessProviders: [accessProvider()]
      },
      account: undefined,
      findings: []
    }),
    ({ findings, fleet }) => ({
      members: fleet?.members.map(({ name, server }) => `${name} ${server}`),
      problems: findings.map(({ message }) => message)
    })
  )

describe("the clusters that an operator finds", () => {
  it.effect("are examined with the configured ones; of two with one name, the first provider's", () =>
    Effect.gen(function* () {
      const api = new MemoryKubeApi("primary")
      writeKubeconfig(api, "b")
      for (const name of ["b", "c", "d"]) writeCluster(api, name, name !== "d")
      for (const name of ["b", "c"]) writeClusterKubeconfig(api, name)
      const { members, problems } = yield* look(api)
      expect(members).toEqual(["a https://a", "b https://b", "c https://c"])
      expect(problems).toEqual([
        "Cluster b of Cluster clusters/b is not used: its name collides with that of cluster b of Secret " +
          "mirrord/b; rename one of the two."
      ])
    })
  )

  it.effect("have a problem where their profile offers no access that is configured, and need no kind to exist", () =>
    Effect.gen(function* () {
      const api = new MemoryKubeApi("primary")
      writeProfile(api, "p")
      writeProfile(api, "q", { accessProviders: [{ name: "other", cluster: {} }] })
      expect((yield* look(api)).members).toEqual(["a https://a", "p https://p", "q "])
      const missing = new KubeError({ cluster: "own", operation: "list", reason: "NotFound", detail: "no such kind" })
      api.before = ({ plural }) => (plural === "clusterprofiles" ? Effect.fail(missing) : Effect.void)
      expect(yield* look(api)).toEqual({ members: ["a https://a"], problems: [] })
    })
  )

  it.effect("are those that can be read, and the others are told", () =>
    Effect.gen(function* () {
      const api = new MemoryKubeApi("primary")
      writeKubeconfig(api, "b")
      const refused = new KubeError({ cluster: "own", operation: "list", reason: "Forbidden", detail: "you may not" })
      api.before = ({ plural }) => (plural === "clusters" ? Effect.fail(refused) : Effect.void)
      const { members, problems } = yield* look(api)
      expect(members).toEqual(["a https://a", "b https://b"])
      expect(problems).toEqual(["The clusters of Cluster API in namespace clusters cannot be read: you may not."])
    })
  )
})
