import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import { describe, expect, onTestFinished } from "vitest"
import { withFoundClusters } from "../../../../src/app/commands/doctor/found-clusters.ts"
import type { Installation } from "../../../../src/app/commands/doctor/installation.ts"
import { noParts } from "../../../../src/domain/commands/doctor/needed-rights.ts"
import type { ClusterSearch } from "../../../../src/domain/fleet/provided-clusters.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { clustersNamespace, writeCluster, writeClusterKubeconfig } from "../../../support/cluster-api.ts"
import { accessProvider, writeProfile } from "../../../support/cluster-profile.ts"
import { it } from "../../../support/effect-it.ts"
import { configurationOf, operatorNamespace } from "../../../support/fleet.ts"
import { kubeconfigOf, writeKubeconfig } from "../../../support/kubeconfig.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"

/** The clusters of an installation that looks for them in all ways, and what is wrong with it. */
const look = (
  own: MemoryKubeApi,
  search: Partial<ClusterSearch> = {},
  seenFrom: Installation["seenFrom"] = "operator"
) =>
  Effect.map(
    withFoundClusters({
      seenFrom,
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
        accessProviders: [accessProvider()],
        kubeconfigFile: "",
        kubeconfigDirectory: "",
        ...search
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
  it.effect("are examined with the configured ones; of two with one name, the first provider's", function* () {
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

  it.effect(
    "are those of files, where the operator itself looks; a person is told that they are not examined",
    function* () {
      const folder = mkdtempSync(join(tmpdir(), "kubeconfigs-"))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      writeFileSync(join(folder, "b.yaml"), kubeconfigOf("b"))
      // One that cannot be read does not keep the others from being examined.
      mkdirSync(join(folder, "c"))
      const kubeconfigFile = join(folder, "missing")
      const search: Partial<ClusterSearch> = {
        providers: ["kubeconfigDirectory", "kubeconfigFile"],
        kubeconfigDirectory: folder,
        kubeconfigFile
      }
      const seen = yield* look(new MemoryKubeApi("primary"), search)
      expect(seen.members).toEqual(["a https://a", "b https://b"])
      expect(seen.problems).toEqual([
        `The kubeconfig ${folder}/c is not used: it cannot be read (EISDIR); put the Secret right that is ` +
          "mounted there.",
        `The kubeconfig ${kubeconfigFile} is not used: it does not exist; make the Secret that is mounted there, or ` +
          "correct the path."
      ])
      const unseen = yield* look(new MemoryKubeApi("primary"), search, "kubeconfig")
      expect(unseen.members).toEqual(["a https://a"])
      expect(unseen.problems).toEqual([
        `The kubeconfigs in ${folder} can be read in the operator's pod alone, so its clusters are not examined.`,
        `The kubeconfig ${kubeconfigFile} can be read in the operator's pod alone, so its clusters are not examined.`
      ])
    }
  )

  it.effect(
    "have a problem where their profile offers no access that is configured, and need no kind to exist",
    function* () {
      const api = new MemoryKubeApi("primary")
      writeProfile(api, "p")
      writeProfile(api, "q", { accessProviders: [{ name: "other", cluster: {} }] })
      expect((yield* look(api)).members).toEqual(["a https://a", "p https://p", "q "])
      const missing = new KubeError({ cluster: "own", operation: "list", reason: "NotFound", detail: "no such kind" })
      api.before = ({ plural }) => (plural === "clusterprofiles" ? Effect.fail(missing) : Effect.void)
      expect(yield* look(api)).toEqual({ members: ["a https://a"], problems: [] })
    }
  )

  it.effect("are those that can be read, and the others are told", function* () {
    const api = new MemoryKubeApi("primary")
    writeKubeconfig(api, "b")
    const refused = new KubeError({ cluster: "own", operation: "list", reason: "Forbidden", detail: "you may not" })
    api.before = ({ plural }) => (plural === "clusters" ? Effect.fail(refused) : Effect.void)
    const { members, problems } = yield* look(api)
    expect(members).toEqual(["a https://a", "b https://b"])
    expect(problems).toEqual(["The clusters of Cluster API in namespace clusters cannot be read: you may not."])
  })
})
