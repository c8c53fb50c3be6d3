import { execFile } from "node:child_process"
import { cp, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { parse, stringify } from "yaml"
import { programsIn } from "../../lab/playground/kubernetes/programs.ts"
import { makeKubeApi } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { cleanup } from "../../src/app/commands/cleanup/cleanup.ts"
import { operatorApiService } from "../../src/domain/resources/operator-api.ts"
import { parentFinalizer } from "../../src/domain/sessions/names.ts"
import { type ControlPlane, startControlPlane } from "../kubernetes/control-plane.ts"
import { describeKubernetes } from "../kubernetes/describe-kubernetes.ts"
import { ApiClient } from "../lab/cluster/api-client.ts"
import { Chart, chartFolder, type Rendered, samplePath, samples } from "./chart.ts"
import { describeHelm } from "./describe-helm.ts"
import { execute, installAndUninstall, judgeAll, startChartPlane } from "./installing.ts"
import { asList, at } from "./json.ts"
import { publishedRelease } from "./published-shape.ts"

const parent = (name: string): object => ({
  apiVersion: "operator.metalbear.co/v1alpha",
  kind: "MirrordMultiClusterSession",
  metadata: { name, finalizers: [parentFinalizer] },
  spec: {
    owner: { userId: "u", username: "ann", hostname: "laptop", k8sUsername: "ann" },
    namespace: "default",
    target: { apiVersion: "apps/v1", kind: "Deployment", name: "shop", container: "shop" },
    targetAlias: "deployment.shop",
    clusters: ["a"],
    primaryCluster: "primary"
  }
})

/** The API server judges what each sample renders; `npm run test:long` also installs all of them. */
const installedSamples = samples.filter((_, index) => process.env["BRAID_TEST_LONG"] === "true" || index % 12 === 0)

describeKubernetes("the chart in a real cluster", (assets) => {
  describeHelm("with the real helm", (helm) => {
    const chart = new Chart(helm)
    let plane: ControlPlane
    let admin: ApiClient
    const kubectl = (...args: ReadonlyArray<string>): Promise<string> =>
      execute(plane, join(assets, "kubectl"), ...args)
    const as = (token: string): ApiClient => new ApiClient(plane.server, plane.caPem, { token })
    const statusOf = async (client: ApiClient, method: string, path: string, body?: object): Promise<number> =>
      (await client.call(method, path, body === undefined ? {} : { body })).code

    beforeAll(async () => {
      plane = await startChartPlane(assets)
      admin = new ApiClient(plane.server, plane.caPem, plane.admin)
    })
    afterAll(() => plane.close())

    it.each(installedSamples)("%s is installed by helm, its hooks are accepted, and it is uninstalled", (sample) =>
      installAndUninstall(plane, programsIn(assets), samplePath(sample))
    )

    // After the installs, which make namespaces themselves.
    it("renders objects that the API server takes, with all samples", async () => {
      const renders: Array<Rendered> = []
      for (const sample of samples) renders.push(await chart.render({ sample }))
      await judgeAll(plane, programsIn(assets), renders)
    })

    it("lets the pods of operator and hook into a namespace that enforces the restricted standard", async () => {
      const rendered = await chart.render({ sample: "multicluster_rfc" })
      await plane.apply(rendered.text)
      await kubectl("label", "namespace", "mirrord", "pod-security.kubernetes.io/enforce=restricted", "--overwrite")
      for (const [kind, name] of [
        ["Deployment", "mirrord-operator"],
        ["Job", "mirrord-cleanup"]
      ] as const) {
        const template = at(rendered.get(kind, name), "spec", "template") as {
          readonly metadata: object
          readonly spec: object
        }
        const pod = {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { ...template.metadata, generateName: `try-${name}-` },
          spec: template.spec
        }
        const { code, text } = await admin.call("POST", "/api/v1/namespaces/mirrord/pods", { body: pod })
        expect([code, code === 201 ? "" : text]).toEqual([201, ""])
      }
      const test = rendered.get("Pod", "mirrord-doctor")
      const { code, text } = await admin.call("POST", "/api/v1/namespaces/mirrord/pods", {
        body: { ...test, metadata: { name: "try-mirrord-doctor" } }
      })
      expect([code, code === 201 ? "" : text]).toEqual([201, ""])
      const privileged = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "refused" },
        spec: { containers: [{ name: "a", image: "a" }] }
      }
      expect(await statusOf(admin, "POST", "/api/v1/namespaces/mirrord/pods", privileged)).toBe(403)
      await kubectl("label", "namespace", "mirrord", "pod-security.kubernetes.io/enforce-")
    })

    describe("a member's remote identity", () => {
      let primary: ApiClient
      beforeAll(async () => {
        await kubectl("delete", "clusterrolebindings", "--selector=app.kubernetes.io/instance=braid")
        const rendered = await chart.render({ sample: "child_in_multicluster" })
        await kubectl(
          "delete",
          "job/mirrord-cleanup",
          "pod/mirrord-doctor",
          "--namespace=mirrord",
          "--ignore-not-found"
        )
        await plane.apply(rendered.text)
        primary = as(await plane.tokenOf("mirrord", "mirrord-operator-envoy"))
      })

      it("may make, read and delete sessions", async () => {
        const path = "/apis/mirrord.metalbear.co/v1alpha/mirrordclustersessions"
        expect(await statusOf(primary, "GET", path)).toBe(200)
        expect(await statusOf(primary, "DELETE", `${path}/none`)).toBe(404)
      })

      it("may renew its own token, and make none of another account", async () => {
        const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} }
        const ask = (namespace: string, account: string): Promise<number> =>
          statusOf(primary, "POST", `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, request)
        expect(await ask("mirrord", "mirrord-operator-envoy")).toBe(201)
        expect(await ask("mirrord", "mirrord-operator")).toBe(403)
        expect(await ask("kube-system", "default")).toBe(403)
      })

      it.each([
        ["GET", "/api/v1/namespaces/mirrord/secrets"],
        ["GET", "/api/v1/pods"],
        ["DELETE", "/api/v1/namespaces/default/pods/none"],
        ["GET", "/apis/operator.metalbear.co/v1alpha/mirrordmulticlustersessions"]
      ])("may not %s %s", async (method, path) => {
        expect(await statusOf(primary, method, path)).toBe(403)
      })
    })

    it("the hook ends sessions with its own rights", async () => {
      const rendered = await chart.render({ sample: "multicluster_bearer_token" })
      await kubectl("delete", "job/mirrord-cleanup", "pod/mirrord-doctor", "--namespace=mirrord", "--ignore-not-found")
      await plane.apply(rendered.text)
      await plane.apply(
        [parent("mc-0000000000000001"), parent("mc-0000000000000002")].map((object) => stringify(object)).join("---\n")
      )
      const config = new KubeConfig()
      config.loadFromOptions({
        clusters: [{ name: "c", server: plane.server, caData: Buffer.from(plane.caPem).toString("base64") }],
        users: [{ name: "hook", token: await plane.tokenOf("mirrord", "mirrord-hooks") }],
        contexts: [{ name: "c", cluster: "c", user: "hook" }],
        currentContext: "c"
      })
      const problems = await Effect.runPromise(
        Effect.scoped(Effect.flatMap(makeKubeApi(config, "c"), (api) => cleanup(api, { waitSecs: 1 })))
      )
      expect(problems).toEqual([])
      expect((await kubectl("get", "mirrordmulticlustersessions", "--output=name")).trim()).toBe("")
    })
  })
})

describeKubernetes("a release of the chart", (assets) => {
  describeHelm("by the real helm", (helm) => {
    let plane: ControlPlane
    const run = (program: string, args: ReadonlyArray<string>): Promise<string> => execute(plane, program, ...args)
    const release = async (values: object, ...args: ReadonlyArray<string>): Promise<string> => {
      const file = join(plane.directory, "values.json")
      await writeFile(file, JSON.stringify(values))
      return run(helm, ["upgrade", "--install", "braid", chartFolder, "--values", file, ...args])
    }
    const crds = async (): Promise<ReadonlyArray<string>> =>
      (await run(join(assets, "kubectl"), ["get", "crd", "--output=name"])).trim().split("\n").toSorted()
    const primary = {
      operator: {
        multiCluster: {
          enabled: true,
          defaultCluster: "a",
          clusters: { a: { authType: "bearerToken", server: "https://a.example.com", bearerToken: "token" } }
        }
      }
    }
    let installed: ReadonlyArray<string> = []

    beforeAll(async () => {
      plane = await startControlPlane({ name: "release", assets })
    })
    afterAll(() => plane.close())

    it("is installed into another namespace than the release's, and tells what is to do", async () => {
      expect(await release(primary)).toMatch(/primary primary\.[^]*To do for cluster a/u)
      expect(
        await run(join(assets, "kubectl"), [
          "get",
          "secret",
          "mirrord-cluster-a",
          "--namespace=mirrord",
          "--output=jsonpath={.data.bearerToken}"
        ])
      ).toBe(Buffer.from("token").toString("base64"))
      installed = await crds()
      expect(installed).toContain(
        "customresourcedefinition.apiextensions.k8s.io/mirrordclustersessions.mirrord.metalbear.co"
      )
      expect(installed).toContain(
        "customresourcedefinition.apiextensions.k8s.io/mirrordmulticlustersessions.operator.metalbear.co"
      )
    })

    it("is upgraded with other values, and back", async () => {
      await release({
        ...primary,
        operator: {
          ...primary.operator,
          multiClusterMember: true,
          port: 8443,
          extraEnv: { OPERATOR_ADDR: "0.0.0.0:8443" }
        }
      })
      await release(primary)
    })

    it("keeps what the operator writes into the APIService, if the values leave it to the operator", async () => {
      const apiService = async (): Promise<readonly [caBundle: unknown, unchecked: unknown]> => {
        const text = await run(join(assets, "kubectl"), ["get", "apiservice", operatorApiService, "--output=json"])
        const spec = at(JSON.parse(text) as unknown, "spec")
        return [at(spec, "caBundle"), at(spec, "insecureSkipTLSVerify")]
      }
      const [written, given] = ["written by the operator", "given"].map((text) => Buffer.from(text).toString("base64"))
      const write = () =>
        run(join(assets, "kubectl"), [
          "patch",
          "apiservice",
          operatorApiService,
          "--type=merge",
          "--patch",
          JSON.stringify({ spec: { caBundle: written, insecureSkipTLSVerify: null } })
        ])
      expect(await apiService()).toEqual([undefined, undefined])
      await write()
      await release(primary)
      await release({
        ...primary,
        service: { name: "mirrord-operator" },
        operator: { ...primary.operator, port: 8443 }
      })
      expect(await apiService()).toEqual([written, undefined])
      // The API server refuses the two together.
      await release({ ...primary, tls: { apiService: { insecureSkipTLSVerify: true } } })
      expect(await apiService()).toEqual([undefined, true])
      await release(primary)
      await write()
      await release({ ...primary, tls: { apiService: { caBundle: given } } })
      expect(await apiService()).toEqual([given, undefined])
      await release(primary)
    })

    it("keeps sessions and their kind when multi-cluster is turned off, and takes them up again", async () => {
      const file = join(plane.directory, "session.yaml")
      await writeFile(file, stringify(parent("mc-0000000000000001")))
      await run(join(assets, "kubectl"), ["apply", "-f", file])
      await release({})
      expect(await crds()).toEqual(installed)
      expect(await run(join(assets, "kubectl"), ["get", "mmcs", "--output=name"])).toContain("mc-0000000000000001")
      await release(primary)
      expect(await run(join(assets, "kubectl"), ["get", "mmcs", "--output=name"])).toContain("mc-0000000000000001")
    })

    it("is refused in a role that could not end the copies that live", async () => {
      const file = join(plane.directory, "copies.yaml")
      const meta = (name: string, label: string) => ({ name, labels: { [`operator.metalbear.co/${label}`]: "1" } })
      const containers = [{ name: "app", image: "app" }]
      const copies = [
        { apiVersion: "v1", kind: "Pod", metadata: meta("mirrord-copy-shop", "copy-target"), spec: { containers } },
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: meta("shop", "scaled-down-from"),
          spec: {
            replicas: 0,
            selector: { matchLabels: { app: "shop" } },
            template: { metadata: { labels: { app: "shop" } }, spec: { containers } }
          }
        }
      ]
      await writeFile(file, copies.map((copy) => stringify(copy)).join("---\n"))
      const kubectl = (...args: ReadonlyArray<string>) => run(join(assets, "kubectl"), args)
      // Helm takes an empty map for "the values of before".
      await release({ operator: { replicas: 1 } })
      await kubectl("apply", "-f", file)
      const cure = "end the copy's session, or run braid cleanup --copies --apply, and upgrade again."
      for (const values of [primary, { operator: { copyTarget: { enabled: false } } }]) {
        const refused = await release(values).catch(String)
        expect(refused).toContain(
          `Pod default/mirrord-copy-shop: it is a copy of a target, which nobody would end with these values; ${cure}`
        )
        expect(refused).toContain(
          "Deployment default/shop: it has given its pods to a copy, and nobody would give them back with these " +
            `values; ${cure}`
        )
      }
      await release({ operator: { multiClusterMember: true } })
      await kubectl("delete", "-f", file, "--force", "--grace-period=0")
      await release(primary)
    })

    it("is refused with values by which nothing would end the splits of queues that live", async () => {
      const file = join(plane.directory, "splits.yaml")
      const split = (name: string, annotations: object) => ({
        apiVersion: "mirrord.metalbear.co/v1alpha",
        kind: "MirrordClusterWorkloadPatch",
        metadata: { name, annotations },
        spec: { workloadRef: { apiVersion: "apps/v1", kind: "Deployment", name, namespace: "shop" }, requests: [] }
      })
      const ours = stringify(split("ours", { "operator.metalbear.co/queue-split": "{}" }))
      await writeFile(file, [ours, stringify(split("foreign", {}))].join("---\n"))
      await release({ operator: { sqsSplitting: true } })
      await run(join(assets, "kubectl"), ["apply", "-f", file])
      const refused = await release({ operator: { replicas: 1 } }).catch(String)
      expect(refused).toContain(
        "Deployment shop/ours: its pods read temporary queues, which nothing would fill with these values; end its " +
          "sessions, or run braid cleanup --splits --apply, and upgrade again."
      )
      expect(refused).not.toContain("shop/foreign")
      await release({ operator: { sqsSplitting: true, replicas: 1 } })
      const shared = { sqsSplitting: true, sqsSplittingSharding: true, replicas: 2 }
      await release({ operator: shared })
      expect(await release({ operator: { ...shared, sqsSplittingSharding: false } }).catch(String)).toContain(
        "Deployment shop/ours: the replicas share its queues, and with operator.sqsSplittingSharding off the next " +
          "leader would read them at the same time; end its sessions, or run braid cleanup --splits --apply"
      )
      await release({ operator: { ...shared, replicas: 3 } })
      // A primary may watch ConfigMaps, and shares no queues by that.
      await run(join(assets, "kubectl"), ["delete", "-f", file])
      const splitting = { operator: { ...primary.operator, sqsSplitting: true } }
      await release(splitting)
      await run(join(assets, "kubectl"), ["apply", "-f", file])
      await release(splitting)
      await run(join(assets, "kubectl"), ["delete", "-f", file])
      await release(primary)
      // The kinds of splits stay, and the tests after this one do not expect them.
      const others = (await crds()).filter((crd) => !installed.includes(crd))
      await run(join(assets, "kubectl"), ["delete", ...others])
    })

    it("is refused with the sentence and leaves the release as it was", async () => {
      await expect(
        release({
          operator: {
            multiCluster: { enabled: true, clusters: { a: { server: "https://a.example.com", authType: "token" } } }
          }
        })
      ).rejects.toThrow("this authType does not exist")
      expect(await run(helm, ["status", "braid"])).toContain("STATUS: deployed")
    })

    it("is uninstalled and leaves the custom resources", async () => {
      // No pod runs here, so the hook could not end; what it does is tested above.
      await run(helm, ["uninstall", "braid", "--no-hooks", "--ignore-not-found"])
      expect(await crds()).toEqual(installed)
      expect(await run(join(assets, "kubectl"), ["get", "clusterroles", "--output=name"])).not.toContain("mirrord")
    })

    describe("whose hook cannot run", () => {
      const readme = async (): Promise<ReadonlyArray<string>> => {
        const section =
          (await readFile(join(chartFolder, "README.md"), "utf8"))
            .split("\n## ")
            .find((text) => text.startsWith("Uninstalling\n")) ?? ""
        return [...section.matchAll(/```sh\n([^]*?)```/gu)].map(([, commands = ""]) => commands)
      }
      /** No node is here, so that its pod never starts. */
      const impatient = async (): Promise<string> => {
        const folder = join(plane.directory, "impatient")
        await cp(chartFolder, folder, { recursive: true })
        const hooks = join(folder, "templates/hooks.yaml")
        await writeFile(
          hooks,
          (await readFile(hooks, "utf8")).replace("activeDeadlineSeconds: 280", "activeDeadlineSeconds: 1")
        )
        return folder
      }
      /** A shell's commands with the programs of a user; they wait for no operator, since none is there. */
      const typed = async (commands: string): Promise<void> => {
        const folder = join(plane.directory, "bin")
        await mkdir(folder, { recursive: true })
        await writeFile(
          join(folder, "braid"),
          `#!/bin/sh\nexec "${process.execPath}" ` +
            `"${fileURLToPath(new URL("../../src/app/braid.ts", import.meta.url))}" "$@"\n`,
          { mode: 0o755 }
        )
        const inHaste = commands
          .replaceAll("RELEASE", "braid")
          .replaceAll("braid cleanup", "braid cleanup --wait-secs 1")
          .replaceAll("--timeout=30s", "--timeout=1s")
        const env = {
          ...process.env,
          KUBECONFIG: plane.kubeconfigPath,
          PATH: [folder, assets, process.env["PATH"]].join(":")
        }
        await promisify(execFile)("sh", ["-c", inHaste], { env })
      }

      it.each([
        ["with braid", ([uninstall = ""]: ReadonlyArray<string>) => uninstall],
        [
          "with kubectl",
          ([uninstall = "", byHand = ""]: ReadonlyArray<string>) =>
            uninstall.replace("braid cleanup --copies --apply\n", byHand)
        ]
      ])("is uninstalled as the README says, %s, and no finalizer is left", async (_, commands) => {
        const kubectl = join(assets, "kubectl")
        await run(kubectl, ["wait", "--for=delete", "namespace/mirrord", "--timeout=300s"])
        await release(primary)
        await run(helm, ["upgrade", "braid", await impatient(), "--reuse-values"])
        await run(kubectl, ["apply", "-f", join(plane.directory, "session.yaml")])

        await expect(run(helm, ["uninstall", "braid"])).rejects.toThrow("DeadlineExceeded")
        expect(await run(kubectl, ["get", "mmcs", "--output=jsonpath={.items[*].metadata.finalizers[*]}"])).toBe(
          parentFinalizer
        )

        await typed(commands(await readme()))
        expect(await run(kubectl, ["get", "mmcs,mirrordclustersessions", "--output=name"])).toBe("")
        expect(await run(helm, ["list", "--all", "--output=json"])).toBe("[]\n")
        expect(await run(kubectl, ["get", "clusterroles,clusterrolebindings", "--output=name"])).not.toContain(
          "mirrord"
        )
        expect(await crds()).toEqual(installed)
      })
    })

    it("takes over a release of the published chart, with its sessions", async () => {
      const folder = join(plane.directory, "published")
      await mkdir(join(folder, "templates"), { recursive: true })
      await writeFile(
        join(folder, "Chart.yaml"),
        stringify({ apiVersion: "v2", name: "mirrord-operator", version: "3.187.0" })
      )
      // The last two are of features that the new values do not have.
      const names = [
        "mirrordclustersessions",
        "mirrordmulticlustersessions",
        "mirrordsqssessions",
        "mirrordrmqsessions"
      ]
      const definitions = await Promise.all(
        names.map(
          async (name) => parse(await readFile(join(chartFolder, "../../crds", `${name}.yaml`), "utf8")) as object
        )
      )
      await writeFile(
        join(folder, "templates/all.yaml"),
        publishedRelease(definitions)
          .map((object) => stringify(object))
          .join("---\n")
      )
      const kubectl = join(assets, "kubectl")
      // Objects that the release before has kept belong to that release; the namespace goes slowly.

      await run(kubectl, [
        "delete",
        "crd",
        ...installed.map((name) => name.replace(/^.*\//u, "")),
        "--ignore-not-found",
        "--wait=false"
      ])
      await run(kubectl, [
        "patch",
        "mmcs",
        "mc-0000000000000001",
        "--type=merge",
        "--patch",
        '{"metadata":{"finalizers":null}}'
      ]).catch(() => "")
      await run(kubectl, ["wait", "--for=delete", ...installed, "namespace/mirrord", "--timeout=300s"])
      await run(helm, ["install", "operator", folder])
      await run(kubectl, ["wait", "--for=condition=Established", "crd", "--all", "--timeout=300s"])
      await run(kubectl, ["apply", "-f", join(plane.directory, "session.yaml")])
      // As the chart's README advises; for the other one nobody did it.
      await run(kubectl, [
        "annotate",
        "crd",
        "mirrordsqssessions.queues.mirrord.metalbear.co",
        "helm.sh/resource-policy=keep"
      ])

      await writeFile(join(plane.directory, "values.json"), JSON.stringify({ ...primary, license: { key: "key" } }))
      await run(helm, ["upgrade", "operator", chartFolder, "--values", join(plane.directory, "values.json")])

      expect(await run(kubectl, ["get", "mmcs", "--output=name"])).toContain("mc-0000000000000001")
      await run(kubectl, [
        "wait",
        "--for=delete",
        "crd/mirrordrmqsessions.queues.mirrord.metalbear.co",
        "--timeout=300s"
      ])
      expect(await run(kubectl, ["get", "crd", "--output=name"])).toContain("mirrordsqssessions")
      expect(
        await run(kubectl, [
          "get",
          "secrets",
          "--all-namespaces",
          "--field-selector=metadata.name=mirrord-cluster-a",
          "--output=jsonpath={.items[*].metadata.namespace}"
        ])
      ).toBe("mirrord")
      const deployment = JSON.parse(
        await run(kubectl, ["get", "deployment", "mirrord-operator", "--namespace=mirrord", "--output=json"])
      ) as unknown
      expect(at(deployment, "spec", "replicas")).toBe(1)
      expect(at(deployment, "spec", "strategy")).toEqual({
        type: "RollingUpdate",
        rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
      })
      expect(asList(at(deployment, "spec", "template", "spec", "volumes")).map((volume) => at(volume, "name"))).toEqual(
        ["config", "tmp"]
      )
      expect(at(deployment, "spec", "template", "spec", "containers", 0, "args")).toEqual(["operator"])
    })
  })
})
