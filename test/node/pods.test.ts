import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { processesWith } from "../../lab/playground/branches/home-processes.ts"
import { operatorNamespace, workloadNamespace } from "../../lab/playground/manifests.ts"
import { nodeImages } from "../../lab/playground/node/node-files.ts"
import type { RunningNode } from "../../lab/playground/node/node-playground.ts"
import { image } from "../../scripts/image.mjs"
import { asObjects, asString, asStrings, at } from "../../src/domain/json.ts"
import { describeReal, request, type RunningCommand } from "../real/harness.ts"
import { attempts } from "../support/attempts.ts"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { exceedMemory } from "./exceed-memory.ts"
import { answersAt, useNodeSessions } from "./node-sessions.ts"
import { kubectl } from "./nodes.ts"

/** The process of a sidecar; ephemeral agents have its variables too. */
const sidecarIn = (cluster: string): number =>
  processesWith("CLUSTER", `sidecar in ${cluster}`).find((pid) =>
    readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("demo.mjs")
  ) ?? 0

/** A program and a sidecar; each has variables, a file and a port of its own. */
const twoContainers = (cluster: string, shareProcessNamespace: boolean): string => {
  const labels = { app: "pair" }
  const container = (name: string, port: number): object => ({
    name,
    image: nodeImages.demo,
    env: [
      { name: "CLUSTER", value: `${name} in ${cluster}` },
      { name: "PORT", value: String(port) }
    ],
    volumeMounts: [{ name: "files", mountPath: "/etc/pair", subPath: name }]
  })
  return [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "pair" },
      data: { program: `file of program in ${cluster}\n`, sidecar: `file of sidecar in ${cluster}\n` }
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "pair" },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            shareProcessNamespace,
            containers: [container("program", 80), container("sidecar", 8080)],
            volumes: [{ name: "files", configMap: { name: "pair" } }]
          }
        }
      }
    }
  ]
    .map((object) => JSON.stringify(object))
    .join("\n---\n")
}

/** Kills a process, which may have ended with another one of its container. */
const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It has ended.
  }
}

/** Processes with this among their arguments. */
const processesNamed = (argument: string): ReadonlyArray<number> =>
  readdirSync("/proc").flatMap((entry) => {
    const file = join("/proc", entry, "cmdline")
    return /^\d+$/u.test(entry) && existsSync(file) && readFileSync(file, "utf8").split("\0").includes(argument)
      ? [Number(entry)]
      : []
  })

/** A pod of another namespace, and one with the labels of a branch's pod. */
const strangers = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: "other" } },
  { apiVersion: "v1", kind: "Pod", metadata: { name: "stranger", namespace: "other" } },
  {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "branch",
      namespace: workloadNamespace,
      labels: { "operator.metalbear.co/owner": "mirrord-operator", "db-owner-name": "any" }
    }
  }
]
  .map((object) =>
    object.kind === "Pod" ? { ...object, spec: { containers: [{ name: "demo", image: nodeImages.demo }] } } : object
  )
  .map((object) => JSON.stringify(object))
  .join("\n---\n")

/** The policy of docs/operating/security.md for branches, in the namespace of the demo workload. */
const documentedPolicy = (): string => {
  const page = readFileSync(new URL("../../docs/operating/security.md", import.meta.url), "utf8")
  const [, yaml = ""] = /```yaml\n([^`]*name: branches[^`]*)```/u.exec(page) ?? []
  return yaml.replace("namespace: shop", `namespace: ${workloadNamespace}`)
}

/** A program of node that says whether it could connect. */
const tryToConnect = `
const [host, port] = process.argv.slice(1)
const say = (text) => { console.log(text); process.exit() }
const socket = require("node:net").connect({ host, port: Number(port) })
socket.on("connect", () => say("connected")).on("error", () => say("not connected"))`

describeReal(
  "a session with pods of real nodes",
  ["mirrord", "layerApp"],
  (binaries) => {
    const fleet = useNodeSessions(binaries, { enforcesPolicies: true })
    const pair = ({ cluster: { store } }: RunningNode) =>
      store
        .list(pods, { namespace: workloadNamespace })
        .items.find(({ metadata: { deletionTimestamp, labels } }) => labels?.["app"] === "pair" && !deletionTimestamp)
    const statusOf = (node: RunningNode, container: string) =>
      asObjects(at(pair(node), "status", "containerStatuses")).find(({ name }) => name === container)
    const entry = async (node: RunningNode, port: number): Promise<string> => {
      const host = asString(at(pair(node), "status", "podIP")) ?? ""
      return `http://127.0.0.1:${await node.cluster.world.forward({ host, port })}`
    }

    /** Starts a workload of two containers in every cluster. */
    const apply = async (sharesProcesses: boolean): Promise<void> => {
      for (const { cluster, description } of fleet.clusters()) {
        await cluster.plane.apply(twoContainers(description.name, sharesProcesses))
        await kubectl(cluster, "rollout", "status", "deployment/pair", "--timeout=300s")
      }
    }
    /** Kills the sidecar's process in every cluster, and waits until the next one runs. */
    const restartSidecars = async (): Promise<void> => {
      const before = fleet.clusters().map((node) => statusOf(node, "sidecar")?.["containerID"])
      for (const { description } of fleet.clusters()) process.kill(sidecarIn(description.name), "SIGKILL")
      for (const [index, node] of fleet.clusters().entries())
        await until("the next run of the container", () => {
          const status = statusOf(node, "sidecar")
          return status?.["containerID"] !== before[index] && status?.["ready"] === true ? true : undefined
        })
    }
    const answerEverywhere = async (port: number, path: string, wanted: (cluster: string) => string): Promise<void> => {
      for (const node of fleet.clusters()) await answersAt(await entry(node, port), path, wanted(node.description.name))
    }

    it.each([
      { agent: "a Job", ephemeral: false, sharesProcesses: true },
      { agent: "an ephemeral container", ephemeral: true, sharesProcesses: true },
      { agent: "an ephemeral container", ephemeral: true, sharesProcesses: false }
    ])(
      "the sidecar alone is the target of $agent, also after it has started again (shared processes: $sharesProcesses)",
      async ({ ephemeral, sharesProcesses }) => {
        for (const node of fleet.clusters()) await fleet.install(node, { agent: { extraConfig: { ephemeral } } })
        await apply(sharesProcesses)
        const actions = ["--env", "CLUSTER", "--read", "/etc/pair", "--steal", "8080"]
        const session = fleet.exec(actions, { target: "deployment/pair/container/sidecar" })
        expect(await session.waitForEvent("env")).toMatchObject({ value: "sidecar in cluster-a" })
        expect(await session.waitForEvent("file")).toMatchObject({ text: "file of sidecar in cluster-a\n" })
        expect(await session.waitForEvent("subscribed")).toMatchObject({ ok: true })
        await answerEverywhere(8080, "/stolen", () => "layer-app /stolen")
        await restartSidecars()
        await answerEverywhere(8080, "/again", () => "layer-app /again")
        await answerEverywhere(80, "/own", (cluster) => `program in ${cluster}`)
        await fleet.end(session)
        await answerEverywhere(8080, "/after", (cluster) => `sidecar in ${cluster}`)
      }
    )

    const myapp = ({ cluster: { store } }: RunningNode) =>
      store
        .list(pods, { namespace: workloadNamespace })
        .items.find(({ metadata: { deletionTimestamp, labels } }) => labels?.["app"] === "myapp" && !deletionTimestamp)
    /** Begins a session that steals in both clusters. */
    const steal = async (): Promise<RunningCommand> => {
      const session = fleet.exec(["--steal", "80"])
      expect(await session.waitForEvent("subscribed")).toMatchObject({ ok: true })
      for (const { entry: url = "" } of fleet.clusters()) await answersAt(url, "/begun", "layer-app /begun")
      return session
    }
    /** Waits until it steals in both clusters again, ends it, and waits until all pods answer for themselves. */
    const stealsAgain = async (session: RunningCommand): Promise<void> => {
      for (const { entry: url = "" } of fleet.clusters()) await answersAt(url, "/again", "layer-app /again")
      await fleet.end(session)
      for (const { description, entry: url = "" } of fleet.clusters())
        await answersAt(url, "/after", `hello from ${description.name}`)
    }
    /** The processes of the agent beside the demo workload. */
    const agentProcesses = (node: RunningNode): ReadonlyArray<number> =>
      processesWith("MIRRORD_AGENT_POD_IPS", asString(at(myapp(node), "status", "podIP")) ?? "")

    it("steals again after an agent was killed, and after one exceeded its memory", async () => {
      for (const node of fleet.clusters()) await fleet.install(node, { agent: { extraConfig: { ephemeral: false } } })
      const session = await steal()
      for (const node of fleet.clusters()) agentProcesses(node).forEach(kill)
      for (const { entry: url = "" } of fleet.clusters()) await answersAt(url, "/killed", "layer-app /killed")
      for (const node of fleet.clusters()) {
        const [pid = 0] = agentProcesses(node)
        await exceedMemory(pid, () => request(node.entry ?? "", `/${"long".repeat(2_000)}`, {}, attempts()()))
      }
      await stealsAgain(session)
    })

    it("refuses a session with the kubelet's words where an agent has too little memory to start", async () => {
      const installWith = (memory: string, startupTimeout: number): Promise<void> =>
        fleet.install(fleet.primary(), {
          agent: { extraConfig: { resources: { limits: { memory } }, startup_timeout: startupTimeout } }
        })
      await installWith("1Mi", 30)
      const session = fleet.exec(["--env", "CLUSTER"])
      expect(await session.ended()).not.toBe(0)
      expect(session.stderr().replaceAll(/[\s│]+/gu, " ")).toMatch(/OOM-killed \(memory limit too low\?\)/u)
      await installWith("100Mi", 60)
    })

    it("steals from the next pod when a pod is deleted, and when it is evicted", async () => {
      const session = await steal()
      const replace = async (remove: (name: string, node: RunningNode) => Promise<unknown>): Promise<void> => {
        for (const node of fleet.clusters()) {
          const { name = "", uid } = myapp(node)?.metadata ?? {}
          await remove(name, node)
          await until("the next pod", () => ([uid, undefined].includes(myapp(node)?.metadata.uid) ? undefined : true))
        }
      }
      await replace((name, { cluster }) => kubectl(cluster, "delete", "pod", name, "--wait=false"))
      for (const { entry: url = "" } of fleet.clusters()) await answersAt(url, "/deleted", "layer-app /deleted")
      await replace((name, { cluster }) => {
        const file = join(cluster.plane.directory, "eviction.json")
        const metadata = { name, namespace: workloadNamespace }
        writeFileSync(file, JSON.stringify({ apiVersion: "policy/v1", kind: "Eviction", metadata }))
        return kubectl(cluster, "create", "--raw", `/api/v1/namespaces/default/pods/${name}/eviction`, "-f", file)
      })
      await stealsAgain(session)
    })

    it.each(["cluster-b", "cluster-a"])("goes on after the node of %s was drained, operator and all", async (name) => {
      const session = await steal()
      const { cluster } = fleet.named(name)
      await kubectl(cluster, "drain", name, "--delete-emptydir-data", "--force", "--timeout=300s")
      await kubectl(cluster, "uncordon", name)
      await stealsAgain(session)
    })

    it("is out of reach of other pods by the chart's NetworkPolicies; a branch is by the documented one", async () => {
      const { cluster } = fleet.primary()
      // API servers are in the networks of their nodes.
      const networkPolicy = { enabled: true, from: [{ ipBlock: { cidr: "10.99.0.0/16" } }] }
      await fleet.install(fleet.primary(), { networkPolicy })
      await cluster.plane.apply(strangers)
      await kubectl(cluster, "wait", "--for=condition=Ready", "pod/stranger", "-n", "other", "--timeout=300s")
      await kubectl(cluster, "wait", "--for=condition=Ready", "pod/branch", "--timeout=300s")
      const session = await steal()
      const found = (namespace: string, prefix: string) => {
        const pod = cluster.store
          .list(pods, { namespace })
          .items.find(({ metadata }) => metadata.name?.startsWith(prefix))
        const [container] = asObjects(at(pod, "spec", "containers"))
        const args = asStrings(container?.["args"])
        return { host: asString(at(pod, "status", "podIP")) ?? "", port: Number(args[args.indexOf("-l") + 1]) }
      }
      const agent = found(operatorNamespace, "mirrord-agent-")
      const operator = { ...found(operatorNamespace, "mirrord-operator-"), port: 443 }
      const branch = { ...found(workloadNamespace, "branch"), port: 80 }
      const [stranger, target] = [["pod/stranger", "-n", "other"], ["deployment/myapp"]]
      const ours = ["deployment/mirrord-operator", "-n", operatorNamespace]
      const connects = (from: ReadonlyArray<string>, { host, port }: typeof agent, does: boolean): Promise<void> =>
        eventually(`${from.join(" ")} ${does ? "connects" : "does not connect"} to ${host}:${port}`, async () =>
          expect(
            await kubectl(cluster, "exec", ...from, "--", image.node, "-e", tryToConnect, host, String(port))
          ).toBe(does ? "connected" : "not connected")
        )
      await connects(stranger, agent, false)
      await connects(target, agent, false)
      await connects(ours, agent, true)
      await connects(stranger, operator, false)
      await connects(stranger, branch, true)
      await cluster.plane.apply(documentedPolicy())
      await connects(stranger, branch, false)
      await connects(target, branch, true)
      await connects(ours, branch, true)
      await kubectl(cluster, "delete", "networkpolicy", "--all", "-n", operatorNamespace)
      await connects(stranger, agent, true)
      await connects(stranger, operator, true)
      await stealsAgain(session)
    })

    it("ends with its playground when a program of a node ends, which says so", async () => {
      const { cluster } = fleet.named("cluster-b")
      const config = `--config=${join(cluster.plane.directory, "kube-proxy.json")}`
      processesNamed(config).forEach(kill)
      const problem = await Effect.runPromise(Effect.flip(cluster.ended))
      expect(problem.message).toMatch(/the kube-proxy of cluster-b has ended; the end of its log:\n.*\S/u)
    })
  },
  { also: ["mirrord-agent", "node", "control plane"] }
)
