import { KubeConfig } from "@kubernetes/client-node"
import { Data, Effect, FileSystem, Result, type Scope } from "effect"
import { createHash } from "node:crypto"
import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { stringify } from "yaml"
import { type EmbeddedCluster, type EmbeddedClusterError, startEmbeddedCluster } from "../../adapters/embedded/embedded-cluster.ts"
import type { ContainerProgram, ImageRegistry } from "../../adapters/embedded/kubelet/container-program.ts"
import { demoApp } from "../../adapters/embedded/kubelet/demo-app.ts"
import { type Kubelet, type KubeletError, startKubelet } from "../../adapters/embedded/kubelet/kubelet.ts"
import { processProgram } from "../../adapters/embedded/kubelet/process-program.ts"
import { serviceEntry, type ServiceEntryError } from "../../adapters/embedded/kubelet/service-entry.ts"
import { startWorkloadControllers } from "../../adapters/embedded/kubelet/workload-controllers.ts"
import { makeKubeApi } from "../../adapters/kubernetes/kube-api-http.ts"
import { clusterName, credentialsSecretName } from "../../domain/fleet/cluster-name.ts"
import { mirrordOperators } from "../../domain/resources/mirrord-operator.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import { agentProgram } from "../agent/agent-command.ts"
import {
  accountManifests,
  credentialsManifest,
  images,
  operatorManifests,
  operatorNamespace,
  workloadManifests,
  workloadNamespace
} from "./manifests.ts"
import type { PlaygroundCluster, Topology } from "./topology.ts"

const sha256Hex = (text: string): string => createHash("sha256").update(text).digest("hex")
const program = fileURLToPath(new URL("../braid.ts", import.meta.url))
const crds = fileURLToPath(new URL("../../../crds/", import.meta.url))
/** Several operators share one machine here: without it each young generation alone may take tens of MB. */
const smallHeap = ["--max-semi-space-size=2"]
const tokenLifetimeSecs = 30 * 24 * 3600

export class PlaygroundError extends Data.TaggedError("PlaygroundError")<{ readonly detail: string }> {
  override get message(): string {
    return this.detail
  }
}

export interface RunningCluster {
  readonly description: PlaygroundCluster
  readonly cluster: EmbeddedCluster
  readonly kubelet: Kubelet
  /** URL at which requests enter the demo workload; absent where it does not run. */
  readonly entry: string | undefined
}

export interface Playground {
  readonly clusters: ReadonlyArray<RunningCluster>
  readonly primary: RunningCluster
}

export interface PlaygroundOptions {
  readonly topology: Topology
  /** Everything that is written goes below; removed by whoever made it. */
  readonly directory: string
  /** Seconds; small ones make tests short. */
  readonly sessionTtlSecs: number
  readonly remoteSessionTimeoutSecs: number
  /** What runs as the agent; the reference agent unless given. */
  readonly agent?: ContainerProgram
  /** Told about each step. */
  readonly progress: (step: string) => Effect.Effect<void>
}

const registry = (agent: ContainerProgram): ImageRegistry =>
  new Map([
    [images.operator, processProgram({ command: () => [process.execPath, ...smallHeap, program, "operator"] })],
    [images.agent, agent],
    [images.demo, demoApp]
  ])

const startCluster = (options: PlaygroundOptions, description: PlaygroundCluster) =>
  Effect.gen(function* () {
    const { directory } = options
    const cluster = yield* startEmbeddedCluster({ name: description.name, directory })
    const kubelet = yield* startKubelet({
      store: cluster.store,
      nodeName: `${description.name}-node`,
      directory: join(directory, description.name),
      subnet: description.subnet,
      images: registry(options.agent ?? agentProgram),
      apiServer: { ip: "127.0.0.1", port: Number(new URL(cluster.server).port) }
    })
    yield* startWorkloadControllers(cluster.store)
    cluster.setPodLogs((namespace, pod, container, logs) => {
      const answer = kubelet.podLogs(namespace, pod, container, logs)
      return answer._tag === "Lines" ? answer.lines : undefined
    })
    for (const file of readdirSync(crds).filter((name) => name.endsWith(".yaml"))) {
      cluster.apply(readFileSync(join(crds, file), "utf8"))
    }
    cluster.apply(accountManifests())
    return { description, cluster, kubelet }
  })

/** A kubeconfig for a service account; JSON is YAML. */
const accountKubeconfig = (cluster: EmbeddedCluster, account: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: cluster.name,
        cluster: { server: cluster.server, "certificate-authority-data": Buffer.from(cluster.caPem).toString("base64") }
      }
    ],
    users: [{ name: account, user: { token: cluster.serviceAccountToken(operatorNamespace, account, tokenLifetimeSecs) } }],
    contexts: [{ name: cluster.name, context: { cluster: cluster.name, user: account, namespace: operatorNamespace } }],
    "current-context": cluster.name
  })

/** The two files of a primary, in the published format (helm-chart §2.1). */
const fleetFiles = (options: PlaygroundOptions, started: ReadonlyArray<{ readonly description: PlaygroundCluster; readonly cluster: EmbeddedCluster }>) => {
  const { sessionTtlSecs, remoteSessionTimeoutSecs, topology } = options
  const primary = started.find(({ description }) => description.isPrimary)
  const defaultCluster = started.find(({ description }) => description.isDefault)
  return {
    multiCluster: stringify({
      clusterName: primary?.description.name,
      defaultCluster: defaultCluster?.description.name,
      managementOnly: topology.managementOnly,
      remoteSessionTimeoutSecs,
      sessionTtlSecs
    }),
    clusters: stringify({
      clusters: started
        .filter(({ description }) => !description.isPrimary)
        .map(({ cluster, description }) => ({
          name: description.name,
          server: cluster.server,
          caData: Buffer.from(cluster.caPem).toString("base64"),
          authType: "bearerToken"
        }))
    })
  }
}

/** Waits until a condition of the cluster's objects holds; the stand-in kubelet changes them at any time. */
const waitFor = (what: string, holds: () => boolean): Effect.Effect<void, PlaygroundError> =>
  Effect.gen(function* () {
    while (!holds()) yield* Effect.sleep("50 millis")
  }).pipe(
    Effect.timeoutOrElse({
      duration: "60 seconds",
      orElse: () => Effect.fail(new PlaygroundError({ detail: `${what} did not happen within 60 s` }))
    })
  )

const deployments = { group: "apps", version: "v1", resource: "deployments" }

const isAvailable = (cluster: EmbeddedCluster, namespace: string, name: string): boolean => {
  const status = cluster.store.get(deployments, namespace, name)?.["status"] as { readonly readyReplicas?: number } | undefined
  return (status?.readyReplicas ?? 0) > 0
}

/** Whether the cluster's APIService answers: the operator is reachable through the API server. */
const isServed = (cluster: EmbeddedCluster): boolean => {
  const service = cluster.store.get({ group: "apiregistration.k8s.io", version: "v1", resource: "apiservices" }, undefined, "v1.operator.metalbear.co")
  const conditions = (service?.["status"] as { readonly conditions?: ReadonlyArray<{ type: string; status: string }> } | undefined)?.conditions ?? []
  return conditions.some(({ status, type }) => type === "Available" && status === "True")
}

/** Waits until the primary's operator says that it is connected to every workload cluster. */
const waitForFleet = (primary: EmbeddedCluster): Effect.Effect<void, PlaygroundError> =>
  Effect.gen(function* () {
    const config = new KubeConfig()
    config.loadFromFile(primary.kubeconfigPath)
    const api = yield* makeKubeApi(config, primary.name)
    for (;;) {
      const operator = yield* Effect.result(api.get(mirrordOperators, "operator"))
      const read = Result.flatMap(operator, (object) => readResource(mirrordOperators, object))
      const clusters = Result.isSuccess(read) ? (read.success.status?.connected_clusters ?? []) : []
      if (clusters.length > 0 && clusters.every((cluster) => "connected" in cluster)) return
      yield* Effect.sleep("100 millis")
    }
  }).pipe(
    Effect.scoped,
    Effect.timeoutOrElse({
      duration: "60 seconds",
      orElse: () => Effect.fail(new PlaygroundError({ detail: "the primary did not connect to every cluster within 60 s" }))
    })
  )

/** Starts the clusters, installs an operator in each of them and the demo workload where it belongs. Lives as long as the scope. */
export const startPlayground = (
  options: PlaygroundOptions
): Effect.Effect<Playground, PlaygroundError | EmbeddedClusterError | KubeletError | ServiceEntryError, FileSystem.FileSystem | Scope.Scope> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const { directory, progress, topology } = options
    const write = (name: string, text: string) =>
      files.writeFileString(join(directory, name), text, { mode: 0o600 }).pipe(
        Effect.as(join(directory, name)),
        Effect.mapError((error) => new PlaygroundError({ detail: `${name} cannot be written: ${error.message}` }))
      )

    const started = yield* Effect.forEach(topology.clusters, (description) => startCluster(options, description), { concurrency: "unbounded" })
    yield* progress("clusters")

    const fleet = fleetFiles(options, started)
    const multiClusterFile = yield* write("multicluster-config.yaml", fleet.multiCluster)
    const clustersFile = yield* write("clusters-config.yaml", fleet.clusters)
    const primary = started.find(({ description }) => description.isPrimary)
    if (primary === undefined) return yield* new PlaygroundError({ detail: "the topology has no primary" })
    for (const { cluster, description } of started) {
      if (!description.isPrimary) {
        const token = cluster.serviceAccountToken(operatorNamespace, "mirrord-operator-envoy", tokenLifetimeSecs)
        primary.cluster.apply(credentialsManifest(credentialsSecretName(clusterName(description.name), sha256Hex), token))
      }
      const kubeconfig = yield* write(`${description.name}-operator.kubeconfig`, accountKubeconfig(cluster, "mirrord-operator"))
      cluster.apply(
        operatorManifests(description, {
          kubeconfig,
          multiClusterFile: description.isPrimary ? multiClusterFile : undefined,
          clustersFile: description.isPrimary ? clustersFile : undefined
        })
      )
      if (description.hasWorkload) cluster.apply(workloadManifests(description))
    }
    yield* Effect.forEach(
      started.filter(({ description }) => description.hasWorkload),
      ({ cluster, description }) =>
        waitFor(`the start of the demo workload in ${description.name}`, () => isAvailable(cluster, workloadNamespace, "myapp")),
      { concurrency: "unbounded" }
    )
    yield* progress("workload")
    yield* Effect.forEach(
      started,
      ({ cluster, description }) => waitFor(`the start of the operator in ${description.name}`, () => isServed(cluster)),
      { concurrency: "unbounded" }
    )
    yield* waitForFleet(primary.cluster)
    yield* progress("operators")

    const clusters = yield* Effect.forEach(
      started,
      Effect.fnUntraced(function* ({ cluster, description, kubelet }) {
        const entry = description.hasWorkload ? yield* serviceEntry(cluster.store, workloadNamespace, "myapp", 80, kubelet.reach) : undefined
        return { description, cluster, kubelet, entry: entry?.url } satisfies RunningCluster
      })
    )
    const running = clusters.find(({ description }) => description.isPrimary)
    if (running === undefined) return yield* new PlaygroundError({ detail: "the topology has no primary" })
    return { clusters, primary: running }
  })
