import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { processesWith } from "../../lab/playground/branches/home-processes.ts"
import { workloadNamespace } from "../../lab/playground/manifests.ts"
import { nodeImages } from "../../lab/playground/node/node-files.ts"
import type { RunningNode } from "../../lab/playground/node/node-playground.ts"
import { asObjects, asString, at } from "../../src/domain/json.ts"
import { describeReal } from "../real/harness.ts"
import { until } from "../support/until.ts"
import { answers, useFleet } from "./fleet.ts"
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

describeReal(
  "pods of many shapes on real nodes",
  ["mirrord", "layerApp"],
  (binaries) => {
    const fleet = useFleet(binaries)
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
      for (const node of fleet.clusters()) await answers(await entry(node, port), path, wanted(node.description.name))
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
        const session = fleet.exec(actions, "deployment/pair/container/sidecar")
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
  },
  { also: ["mirrord-agent", "node", "control plane"] }
)
