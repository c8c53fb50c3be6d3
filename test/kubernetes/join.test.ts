import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parse } from "yaml"
import { releaseName, runHelm } from "../../lab/playground/kubernetes/helm-release.ts"
import { chartFolder, programsIn } from "../../lab/playground/kubernetes/programs.ts"
import type { RealCluster } from "../../lab/playground/kubernetes/real-cluster.ts"
import { mergedKubeconfig } from "../../lab/playground/merged-kubeconfig.ts"
import { encodeBase64Text } from "../../src/domain/fleet/credentials/base64.ts"
import { asObjects, asString, at } from "../../src/domain/json.ts"
import { configMaps, secrets } from "../../src/domain/resources/core-kinds.ts"
import { subnetOf } from "../address-plan.ts"
import { useKubernetesPlayground } from "../real/harness.ts"
import { type BraidRun, runBraid } from "../support/run-braid.ts"
import { untilTrue } from "../support/until-true.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

const repository = fileURLToPath(new URL("../..", import.meta.url))
const pages = ["fleet", "runbooks"]
  .map((name) => readFileSync(join(repository, `docs/operating/${name}.md`), "utf8"))
  .join("\n")

/** The commands of the first block under a heading of docs/operating/fleet.md and runbooks.md. */
const documented = (heading: string): string => {
  const [, commands] = new RegExp(`^#+ ${heading}$[^]*?^\`\`\`sh$([^]*?)^\`\`\`$`, "mu").exec(pages) ?? []
  if (commands === undefined) throw new Error(`docs/operating has no commands under ${heading}`)
  return commands
}

describeKubernetes("releases of the chart on kube-apiservers", (assets) => {
  describe("of which one is to join a fleet", () => {
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
    /** Runs lines as a person does at the root of the repository, with the programs by their names. */
    const shell = async (lines: string): Promise<string> => {
      const { KUBERNETES_SERVICE_HOST: _, PATH = "", ...others } = process.env
      const env = { ...others, HOME: folder, KUBECONFIG: kubeconfig, PATH: `${folder}:${assets}:${PATH}` }
      const { stdout } = await promisify(execFile)("bash", ["--norc", "-euc", lines], { cwd: repository, env })
      return stdout
    }
    const clusters = (): Promise<string> => shell("braid clusters --context primary")
    const plane = () => real.cluster("cluster-b").cluster.plane
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
      const program = join(repository, "src/app/braid.ts")
      writeFileSync(join(folder, "braid"), `#!/bin/sh\nexec ${process.execPath} ${program} "$@"\n`, { mode: 0o755 })
      await Effect.runPromise(real.playground().setMembers(["cluster-a"]))
    })
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

    it("is back by the documented command when the primary was away for longer than its token lives", async () => {
      // The member is not asked, since the token itself names its end.
      const claims = {
        sub: "system:serviceaccount:mirrord:mirrord-operator-envoy",
        iat: 1_700_000_000,
        exp: 1_700_003_600
      }
      const token = [{ alg: "none" }, claims, {}]
        .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
        .join(".")
      const { api } = primary()
      const data = { bearerToken: encodeBase64Text(token) }
      const place = { namespace: "mirrord" }
      await Effect.runPromise(api.mergePatch(secrets, "mirrord-cluster-cluster-b", { data }, place))
      await Effect.runPromise(Effect.option(api.delete(secrets, "mirrord-cluster-cluster-b-refreshed", place)))
      await shell("kubectl --context primary -n mirrord rollout restart deployment/mirrord-operator")
      await untilTrue("the primary says that the token has ended", async () =>
        (await clusters().catch(String)).includes("the token of this cluster ended at")
      )
      await shell(documented("A token has expired"))
      expect(await clusters()).toMatch(/^cluster-b +True/mu)
    })

    it("has other tokens by the documented commands, and the ones before have ended", async () => {
      const before = await plane().tokenOf("mirrord", "mirrord-operator-envoy")
      await shell(documented("Rotate a token"))
      expect(await clusters()).toMatch(/^cluster-b +True/mu)
      const access = `--server ${plane().server} --insecure-skip-tls-verify --token ${before}`
      await expect(shell(`kubectl ${access} get mirrordoperators`)).rejects.toThrow(/Unauthorized|must be logged in/u)
    })

    it("leaves by the documented commands, which say that the values still have it", async () => {
      expect(await shell(documented("Remove a cluster"))).toContain(
        "release mirrord-operator may still have operator.multiCluster.clusters.cluster-b:"
      )
      expect(await names()).toEqual(["cluster-a"])
      const left = await Effect.runPromise(primary().api.list(secrets, { namespace: "mirrord" }))
      expect(left.items.map(({ metadata }) => metadata.name)).not.toContain("mirrord-cluster-cluster-b")
    })

    it("is added by the documented commands", async () => {
      expect(await shell(documented("Add a cluster"))).toMatch(/^cluster-b +True/mu)
      expect(await names()).toEqual(["cluster-a", "cluster-b"])
    })
  })
})
