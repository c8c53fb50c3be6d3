import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { chartFolder, releaseName, runHelm } from "../../lab/playground/kubernetes/helm-release.ts"
import { programsIn } from "../../lab/playground/kubernetes/programs.ts"
import type { RealCluster } from "../../lab/playground/kubernetes/real-cluster.ts"
import { asObjects, asString, at } from "../../src/domain/json.ts"
import { configMaps, secrets } from "../../src/domain/resources/core-kinds.ts"
import { subnetOf } from "../address-plan.ts"
import { mergedKubeconfig } from "../app/commands/join/merged-kubeconfig.ts"
import { useKubernetesPlayground } from "../real/harness.ts"
import { type BraidRun, runBraid } from "../support/run-braid.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

/** A test that takes longer has failed, even on the slowest machine. */
const longestMs = 900_000

describeKubernetes("releases of the chart on kube-apiservers", (assets) => {
  describe("of which one is to join a fleet", { timeout: longestMs }, () => {
    const real = useKubernetesPlayground(assets, {
      topology: "management",
      subnet: subnetOf("clusters that join, kubernetes"),
      runsDoctor: true
    })
    const programs = programsIn(assets)
    const primary = (): RealCluster => real.cluster("primary").cluster
    let folder = ""
    let kubeconfig = ""
    const braid = (...args: ReadonlyArray<string>): Promise<BraidRun> =>
      runBraid([...args, "--kubeconfig", kubeconfig, "--context", "primary"])
    const joining = (...args: ReadonlyArray<string>): Promise<BraidRun> =>
      braid("join", "cluster-b", "--apply", "--wait", "--timeout-secs", "300", ...args)
    const upgrade = (...args: ReadonlyArray<string>): Promise<string> =>
      Effect.runPromise(runHelm(programs, primary(), ["upgrade", releaseName, chartFolder, "--reuse-values", ...args]))
    const members = async (): Promise<ReadonlyArray<unknown>> => {
      const found = await Effect.runPromise(primary().api.get(configMaps, "mirrord-configmap", "mirrord"))
      const list: unknown = parse(asString(at(found, "data", "clusters-config.yaml")) ?? "")
      return asObjects(at(list, "clusters"))
    }
    const names = async (): Promise<ReadonlyArray<unknown>> => (await members()).map((entry) => at(entry, "name"))

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "braid-join-"))
      kubeconfig = mergedKubeconfig(
        join(folder, "all.kubeconfig"),
        ["primary", "cluster-a", "cluster-b"].map((name) => ({
          name,
          kubeconfigPath: real.cluster(name).cluster.kubeconfigPath
        }))
      )
      await Effect.runPromise(real.playground().setMembers(["cluster-a"]))
    }, longestMs)
    afterAll(() => rmSync(folder, { recursive: true, force: true }))

    it("joins in one command, which the next upgrade takes back unless the values have the entry", async () => {
      const first = await joining("-o", "yaml")
      expect([first.code, first.errors]).toEqual([0, ""])
      const told = parse(first.output) as unknown
      expect(told).toMatchObject({
        verdict: "ok",
        entry: "Add",
        secret: "Create",
        awaited: { _tag: "Connected" },
        done: [
          "Secret mirrord/mirrord-cluster-cluster-b was made.",
          "Cluster cluster-b was added to clusters-config.yaml of ConfigMap mirrord/mirrord-configmap."
        ]
      })
      expect(await names()).toEqual(["cluster-a", "cluster-b"])

      await upgrade()
      expect(await names()).toEqual(["cluster-a"])
      const second = await joining()
      expect([second.code, second.errors]).toEqual([0, ""])
      expect(second.output).toContain(
        "# Values for the primary's release mirrord-operator, whose next upgrade takes the entry out if they do not"
      )
      const joined = await members()

      const values = join(folder, "values.json")
      writeFileSync(values, JSON.stringify(at(told, "values", "primary")))
      await upgrade("--values", values)
      expect(await members()).toEqual(joined)
      const third = await joining("-o", "yaml")
      expect(parse(third.output)).toMatchObject({ entry: "Kept", secret: "Kept", done: [] })
      expect(third.code).toBe(0)
    })

    it("leaves, and says that the values still have it", async () => {
      const run = await braid("leave", "cluster-b", "--apply")
      expect([run.code, run.errors]).toEqual([0, ""])
      expect(run.output).toContain("release mirrord-operator may still have operator.multiCluster.clusters.cluster-b:")
      expect(await names()).toEqual(["cluster-a"])
      const left = await Effect.runPromise(primary().api.list(secrets, { namespace: "mirrord" }))
      expect(left.items.map(({ metadata }) => metadata.name)).not.toContain("mirrord-cluster-cluster-b")
    })
  })
})
