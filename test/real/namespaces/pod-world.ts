/** A playground with mirrord's own agents, whose workload `deployment/web` has pods with network namespaces. */

import * as http from "node:http"
import * as http2 from "node:http2"
import { beforeAll } from "vitest"
import { stringify } from "yaml"
import type { TopologyName } from "../../../lab/playground/topology.ts"
import { type NetworkUser, subnetOf } from "../../address-plan.ts"
import { selfSigned } from "../../lab/cluster/node/self-signed.ts"
import { listenLocally } from "../../support/listen-locally.ts"
import { until } from "../../support/until.ts"
import { fleetIs } from "../fleet-health.ts"
import {
  type AnyRealPlayground,
  type RealPlaygroundOptions,
  useKubernetesPlayground,
  usePlayground
} from "../harness.ts"
import { type PodNode, usePodNode } from "./pod-node.ts"
import { podApp, realAgent } from "./pod-programs.ts"

/** The image of the workload in pods with network namespaces. */
export const podImage = "pod-app"
/** How many pods the workload has in each cluster. */
const replicasOf = {
  management: { "cluster-a": 2, "cluster-b": 1 },
  "three-workloads": { "cluster-a": 2, "cluster-b": 2, "cluster-c": 2 }
} as const satisfies Partial<Record<TopologyName, Readonly<Record<string, number>>>>

/** `deployment/web`, with an image that wants these variables or does without. */
export const webManifest = (
  cluster: string,
  {
    image = podImage,
    replicas = 1,
    tls = {}
  }: {
    readonly image?: string
    readonly replicas?: number
    readonly tls?: { readonly cert?: string; readonly key?: string }
  }
): string => {
  const labels = { app: "web" }
  return stringify({
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default", labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name: "web",
              image,
              env: [
                { name: "CLUSTER", value: cluster },
                { name: "POD", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
                { name: "TLS_CERT", value: tls.cert },
                { name: "TLS_KEY", value: tls.key }
              ],
              ports: [80, 443, 8080].map((containerPort) => ({ containerPort }))
            }
          ]
        }
      }
    }
  })
}

export interface WebPod {
  readonly cluster: string
  readonly name: string
  /** The address at which requests reach the pod from outside. */
  readonly ip: string
  /** The workload's process, and with it the pod's network namespace. */
  readonly pid: number
}

export interface PodWorld {
  readonly real: AnyRealPlayground
  /** `kubectl apply` in a cluster. */
  readonly apply: (cluster: string, yaml: string) => Promise<void>
  /** All pods of the workload, cluster by cluster. Each has a file of its own, `/mnt/pod.txt`. */
  readonly pods: () => ReadonlyArray<WebPod>
  /** The requests that the workload in a pod has served so far: `METHOD PATH` each. */
  readonly served: (pod: WebPod) => Promise<ReadonlyArray<string>>
}

export interface PodWorldOptions {
  readonly network: NetworkUser
  /** Default `management`, with two pods in cluster-a and one in cluster-b; `three-workloads` has two in each. */
  readonly topology?: keyof typeof replicasOf
  /** As in `RealPlaygroundOptions`. */
  readonly agentTls?: boolean
  readonly agentIdleTtlSecs?: number
  readonly ephemeralAgents?: boolean
}

/** Starts it before the tests of the calling `describe`, and removes everything after them. */
export const usePodWorld = (agent: string, options: PodWorldOptions): PodWorld => {
  // Before the playground's own hooks: its end comes first.
  const node = usePodNode()
  const real = usePlayground(playgroundOptions(node, agent, options))
  return withWorkload(node, real, options, async (cluster, yaml) => real.cluster(cluster).cluster.apply(yaml))
}

/** The same on real control planes, with the programs of a folder. It needs six networks. */
export const usePodWorldOnKubernetes = (assets: string, agent: string, options: PodWorldOptions): PodWorld => {
  const node = usePodNode()
  const real = useKubernetesPlayground(assets, playgroundOptions(node, agent, options))
  return withWorkload(node, real, options, (cluster, yaml) => real.cluster(cluster).cluster.plane.apply(yaml))
}

const playgroundOptions = (
  node: () => PodNode,
  agent: string,
  { network, topology = "management", ...agents }: PodWorldOptions
): RealPlaygroundOptions => ({
  topology,
  subnet: subnetOf(network),
  agent: realAgent(node, agent),
  ...agents,
  images: new Map([[podImage, podApp(node)]]),
  containerRuntime: "docker"
})

const withWorkload = (
  node: () => PodNode,
  real: AnyRealPlayground,
  { topology = "management" }: PodWorldOptions,
  apply: PodWorld["apply"]
): PodWorld => {
  const replicas = Object.entries(replicasOf[topology])
  const pods = (): ReadonlyArray<WebPod> =>
    replicas.flatMap(([cluster]) => {
      const { kubelet } = real.cluster(cluster)
      return kubelet
        .containers()
        .filter(({ container }) => container === "web")
        .map(({ containerId, pod, podIp }) => {
          const pid = node().runtime.pidOf(containerId.replace("docker://", ""))
          if (pid === undefined) throw new Error(`the process of ${pod} is not known`)
          // The user that makes network namespaces may bind every port, so all ports have this address.
          const { ip } = kubelet.reach({ ip: podIp, port: 80 })
          return { cluster, name: pod, ip, pid }
        })
    })
  beforeAll(async () => {
    const tls = await selfSigned()
    for (const [cluster, count] of replicas) await apply(cluster, webManifest(cluster, { replicas: count, tls }))
    for (const [name, count] of replicas) {
      const { store } = real.cluster(name).cluster
      await until(`${count} ready pods in ${name}`, () => {
        const web = store.get({ group: "apps", version: "v1", resource: "deployments" }, "default", "web")
        return (web?.["status"] as { readyReplicas?: number } | undefined)?.readyReplicas === count ? true : undefined
      })
    }
    await fleetIs(real.playground())
  })
  const served = async ({ cluster, name }: WebPod): Promise<ReadonlyArray<string>> => {
    const answer = real.cluster(cluster).kubelet.podLogs("default", name, undefined)
    if (answer._tag !== "Lines") throw new Error(answer.message)
    const lines: Array<string> = []
    for await (const line of answer.lines) lines.push(line)
    return lines.filter((line) => /^[A-Z]+ \//.test(line))
  }
  return { real, apply, pods, served }
}

/** An HTTP server of this machine, as a developer runs it. */
export interface LocalServer {
  readonly port: number
  /** The requests so far: `METHOD PATH` each. */
  readonly received: ReadonlyArray<string>
  readonly close: () => void
}

/** Answers each request with `local`, its path and its body. */
export const startLocalServer = async (protocol: "HTTP/1.1" | "HTTP/2" = "HTTP/1.1"): Promise<LocalServer> => {
  const received: Array<string> = []
  const answer = (
    request: http.IncomingMessage | http2.Http2ServerRequest,
    response: http.ServerResponse | http2.Http2ServerResponse
  ): void => {
    let body = ""
    request.setEncoding("utf8")
    request.on("data", (text: string) => {
      body += text
    })
    request.on("end", () => {
      received.push(`${request.method ?? ""} ${request.url ?? ""}`)
      response.end(`local ${request.url ?? ""} ${body}`)
    })
  }
  const server = protocol === "HTTP/1.1" ? http.createServer(answer) : http2.createServer(answer)
  return { port: await listenLocally(server), received, close: () => server.close() }
}
