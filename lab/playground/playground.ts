/**
 * The playground on embedded clusters: whole clusters in this process, an operator in each, one demo workload. The
 * playground on real control planes is `kubernetes/kubernetes-playground.ts`.
 */

import { readFileSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, FileSystem, type Scope } from "effect"
import { stringify } from "yaml"
import { sha256Hex } from "../../src/app/kernel/sha256-hex.ts"
import type { DialledCell } from "../../src/domain/commands/join/join-request.ts"
import { clusterName, credentialsSecretName } from "../../src/domain/fleet/cluster-name.ts"
import { at } from "../../src/domain/json.ts"
import type { BranchEngine } from "../../src/domain/resources/chart-switches.ts"
import { agentProgram, agentProgramPlaying } from "../agent/agent-command.ts"
import { startWorkloadControllers } from "../cluster/controllers/workload-controllers.ts"
import { type EmbeddedCluster, type EmbeddedClusterError, startEmbeddedCluster } from "../cluster/embedded-cluster.ts"
import type { ServiceEntryError } from "../cluster/network/service-entry.ts"
import type { ContainerProgram, ImageRegistry } from "../cluster/node/container-program.ts"
import { type KubeletError, startKubelet } from "../cluster/node/kubelet.ts"
import { localNodeStore } from "../cluster/node/node-store.ts"
import { processProgram } from "../cluster/node/process-program.ts"
import { demoApp } from "./demo-app.ts"
import { makeToken, openCell, type OpenedCell } from "./dial-out.ts"
import type { Playground, RunningCluster } from "./local-cluster.ts"
import {
  accountManifests,
  configurationManifest,
  configurationName,
  credentialsManifest,
  images,
  type OperatorEnvironment,
  operatorManifests,
  operatorNamespace,
  workloadManifests
} from "./manifests.ts"
import { openEntries } from "./open-entries.ts"
import { PlaygroundError, waitForClusters } from "./readiness.ts"
import type { PlaygroundCluster, Topology } from "./topology.ts"

const program = fileURLToPath(new URL("../../src/app/braid.ts", import.meta.url))
const crds = fileURLToPath(new URL("../../crds/", import.meta.url))
/** Several operators share one machine here. Without this option the young generation of each may take tens of MB. */
const smallHeap = ["--max-semi-space-size=2"]
/** Keys of the ConfigMap with a primary's configuration, and its files (published-chart.md §2.4). */
const multiClusterKey = "multicluster-config.yaml"
const clustersKey = "clusters-config.yaml"
const tokenLifetimeSecs = 30 * 24 * 3600

export interface PlaygroundOptions {
  readonly topology: Topology
  /** Folder below which everything is written; the caller that made it removes it. */
  readonly directory: string
  /** Seconds; small values make tests short. */
  readonly sessionTtlSecs: number
  readonly remoteSessionTimeoutSecs: number
  /** Replicas of the primary's operator; one unless given. */
  readonly primaryReplicas?: number
  /** Whether the primary finds clusters by Secrets with kubeconfigs; not unless given. */
  readonly findsClusters?: boolean
  /** Whether branches of the engines are switched on; not unless given. */
  readonly hasBranches?: boolean
  /** Names of engines in the chart's values; PostgreSQL unless given. */
  readonly branchEngines?: ReadonlyArray<BranchEngine>
  /** Those of the primary alone; `branchEngines` unless given. */
  readonly primaryBranchEngines?: ReadonlyArray<BranchEngine>
  /** URL of the default cluster's database, which the demo workload there gets; none unless given. */
  readonly databaseUrl?: string
  /** URL of the server that stands in for SQS, whose queues are split; no queues are unless given. */
  readonly sqsEndpoint?: string
  /** The program that runs as the agent; the reference agent unless given. */
  readonly agent?: ContainerProgram
  /** Protocol versions of earlier releases, by cluster, whose agents the reference agent plays there. */
  readonly agentProtocols?: Readonly<Record<string, string>>
  /** Whether agents speak TLS; as with the chart, they do not unless it is `true`. */
  readonly agentTls?: boolean
  /** Whether the primary records the use of sessions; it does not unless given. */
  readonly recordsUsage?: boolean
  /** Settings of agents, as in `agent-config.yaml`; none unless given. */
  readonly agentSettings?: object
  /** More variables of agents, as `agent.extraEnv` of the chart; none unless given. */
  readonly agentEnv?: Readonly<Record<string, string>>
  /** The program that runs as the operator; this repository's unless given. */
  readonly operator?: ContainerProgram
  /** Called for each cluster once its API server serves, before its operator is installed. */
  readonly started?: (cluster: EmbeddedCluster) => void
  /** More images of the clusters' nodes, by name; none unless given. */
  readonly images?: ImageRegistry
  /** Called for each step. */
  readonly progress: (step: string) => Effect.Effect<void>
}

/** The operator of a file, this repository's sources or a bundle of them. `env`: variables beside those of its pod. */
export const operatorProgram = (file: string, env: Readonly<Record<string, string>> = {}): ContainerProgram =>
  processProgram({ command: () => [process.execPath, ...smallHeap, file, "operator"], env: () => env })

const registry = (options: PlaygroundOptions, cluster: string): ImageRegistry => {
  const { agent = agentProgram, operator = operatorProgram(program), images: more = [] } = options
  const earlier = options.agentProtocols?.[cluster]
  const played = earlier === undefined ? agent : agentProgramPlaying(earlier)
  return new Map([...more, [images.operator, operator], [images.agent, played], [images.demo, demoApp]])
}

const startCluster = (options: PlaygroundOptions, description: PlaygroundCluster) =>
  Effect.gen(function* () {
    const { directory } = options
    const cluster = yield* startEmbeddedCluster({ name: description.name, directory })
    options.started?.(cluster)
    const kubelet = yield* startKubelet({
      store: localNodeStore(cluster.store),
      nodeName: `${description.name}-node`,
      directory: join(directory, description.name),
      subnet: description.subnet,
      images: registry(options, description.name),
      apiServer: { ip: "127.0.0.1", port: Number(new URL(cluster.server).port) }
    })
    yield* startWorkloadControllers(cluster.store, cluster.admitPod)
    cluster.setPodLogs((namespace, pod, container, logs) => {
      const answer = kubelet.podLogs(namespace, pod, container, logs)
      return answer._tag === "Lines" ? answer.lines : answer.message
    })
    for (const file of readdirSync(crds).filter((name) => name.endsWith(".yaml"))) {
      cluster.apply(readFileSync(join(crds, file), "utf8"))
    }
    cluster.apply(accountManifests())
    return { description, cluster, kubelet }
  })

/** A kubeconfig for a service account, written as JSON, which is also YAML. */
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
    users: [
      { name: account, user: { token: cluster.serviceAccountToken(operatorNamespace, account, tokenLifetimeSecs) } }
    ],
    contexts: [{ name: cluster.name, context: { cluster: cluster.name, user: account, namespace: operatorNamespace } }],
    "current-context": cluster.name
  })

type Started = Pick<RunningCluster, "cluster" | "description">

/** The configuration file of a primary in the published format (published-chart.md §2.4). */
const multiClusterFile = (options: PlaygroundOptions): string => {
  const { sessionTtlSecs, remoteSessionTimeoutSecs, topology } = options
  return stringify({
    clusterName: topology.clusters.find(({ isPrimary }) => isPrimary)?.name,
    defaultCluster: topology.clusters.find(({ isDefault }) => isDefault)?.name,
    managementOnly: topology.managementOnly,
    remoteSessionTimeoutSecs,
    sessionTtlSecs
  })
}

/** The list of clusters of a primary in the same format. */
const clustersFile = (members: ReadonlyArray<Started>): string =>
  stringify({
    clusters: members.map(({ cluster, description: { dialsOut, name } }) =>
      dialsOut
        ? { name, authType: "outbound" }
        : {
            name,
            server: cluster.server,
            caData: Buffer.from(cluster.caPem).toString("base64"),
            authType: "bearerToken"
          }
    )
  })

/** Writes the list of clusters into its file as often as it changes, as a kubelet does with a mounted ConfigMap. */
const mount = ({ store }: EmbeddedCluster, path: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() =>
      store.watch({ group: "", version: "v1", resource: "configmaps" }, { namespace: operatorNamespace }, (event) => {
        const list = at(event.object, "data", clustersKey)
        if (event.object.metadata.name === configurationName && typeof list === "string") writeFileSync(path, list)
      })
    ),
    (end) => Effect.sync(end)
  )

/** Gives the primary the credentials of a member, new ones each time. None are needed of a member that dials out. */
const giveCredentials = (primary: Started, { cluster, description }: Started): void => {
  if (description.dialsOut) return
  const token = cluster.serviceAccountToken(operatorNamespace, "mirrord-operator-envoy", tokenLifetimeSecs)
  primary.cluster.apply(credentialsManifest(credentialsSecretName(clusterName(description.name), sha256Hex), token))
}

const operatorKubeconfig = ({ name }: PlaygroundCluster): string => `${name}-operator.kubeconfig`

/** The operator of a cluster. `dialled`: `undefined` for a cluster that does not dial out. */
const environmentOf = (
  options: PlaygroundOptions,
  description: PlaygroundCluster,
  {
    agentFile,
    clustersFile,
    multiClusterFile
  }: Pick<OperatorEnvironment, "agentFile" | "clustersFile" | "multiClusterFile">,
  dialled: DialledCell | undefined
): OperatorEnvironment => {
  const { agentEnv, agentTls = false, branchEngines, directory, hasBranches = false, sqsEndpoint, topology } = options
  const { isPrimary } = description
  return {
    kubeconfig: join(directory, operatorKubeconfig(description)),
    replicas: isPrimary ? (options.primaryReplicas ?? 1) : 1,
    multiClusterFile: isPrimary ? multiClusterFile : undefined,
    clustersFile: isPrimary ? clustersFile : undefined,
    findsClusters: isPrimary && options.findsClusters === true,
    hasBranches,
    branchEngines: isPrimary ? (options.primaryBranchEngines ?? branchEngines) : branchEngines,
    sqsEndpoint,
    takesTunnels: isPrimary && topology.clusters.some(({ dialsOut }) => dialsOut),
    dialled,
    usageFile: isPrimary && options.recordsUsage === true ? join(directory, "usage.db") : undefined,
    agentTls,
    agentFile,
    agentEnv
  }
}

/**
 * Starts the clusters, installs an operator in each, and the demo workload where the topology wants it. Everything
 * lives as long as the scope.
 */
export const startPlayground = (
  options: PlaygroundOptions
): Effect.Effect<
  Playground,
  PlaygroundError | EmbeddedClusterError | KubeletError | ServiceEntryError,
  FileSystem.FileSystem | Scope.Scope
> =>
  Effect.gen(function* () {
    const files = yield* FileSystem.FileSystem
    const { directory, progress, topology } = options
    const write = (name: string, text: string) =>
      files.writeFileString(join(directory, name), text, { mode: 0o600 }).pipe(
        Effect.as(join(directory, name)),
        Effect.mapError((error) => new PlaygroundError({ detail: `${name} cannot be written: ${error.message}` }))
      )

    const started = yield* Effect.forEach(topology.clusters, (description) => startCluster(options, description), {
      concurrency: "unbounded"
    })
    yield* progress("clusters")

    const members = started.filter(({ description }) => !description.isPrimary)
    const multiCluster = yield* write(multiClusterKey, multiClusterFile(options))
    const clusters = yield* write(clustersKey, clustersFile(members))
    const agentFile = options.agentSettings && (yield* write("agent-config.yaml", stringify(options.agentSettings)))
    const primary = started.find(({ description }) => description.isPrimary)
    if (primary === undefined) return yield* new PlaygroundError({ detail: "the topology has no primary" })
    const setMembers = (named: ReadonlyArray<Started>): void =>
      primary.cluster.apply(
        configurationManifest({ [multiClusterKey]: multiClusterFile(options), [clustersKey]: clustersFile(named) })
      )
    setMembers(members)
    yield* mount(primary.cluster, clusters)
    const written = { multiClusterFile: multiCluster, clustersFile: clusters, agentFile }
    const install = ({ cluster, description }: Started, dialled: DialledCell | undefined): void =>
      cluster.apply(operatorManifests(description, environmentOf(options, description, written, dialled)))
    let cell: OpenedCell | undefined
    for (const { cluster, description } of [primary, ...members]) {
      if (!description.isPrimary) giveCredentials(primary, { cluster, description })
      if (description.dialsOut) cell ??= yield* openCell(primary)
      yield* write(operatorKubeconfig(description), accountKubeconfig(cluster, "mirrord-operator"))
      const token = description.dialsOut && cell !== undefined ? yield* makeToken(description.name, cell) : undefined
      if (token !== undefined) primary.cluster.apply(token.secret)
      install({ cluster, description }, token?.dialled)
      if (description.hasWorkload) cluster.apply(workloadManifests(description, { databaseUrl: options.databaseUrl }))
    }
    yield* waitForClusters(started, primary.cluster, progress)
    return {
      ...(yield* openEntries(started)),
      ...(cell === undefined
        ? {}
        : {
            cell: {
              ...cell,
              dial: (name, dialled) =>
                Effect.sync(() => {
                  for (const member of members) if (member.description.name === name) install(member, dialled)
                })
            }
          }),
      setMembers: (names) => {
        const named = members.filter(({ description: { name } }) => names.includes(name))
        return Effect.sync(() => {
          for (const member of named) giveCredentials(primary, member)
          setMembers(named)
        })
      }
    }
  })
