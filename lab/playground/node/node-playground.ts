/**
 * The playground on real nodes: a cluster with a node for each of the topology, joined by one network, with operators
 * that `helm` installs from the chart as people do: the image of a release, and no value but those of the fleet.
 */

import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Redacted, type Scope } from "effect"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { asString, at } from "../../../src/domain/json.ts"
import { services } from "../../cluster/store/resource-refs.ts"
import { installChart } from "../kubernetes/helm-release.ts"
import type { Programs } from "../kubernetes/programs.ts"
import { failed } from "../kubernetes/real-cluster.ts"
import type { AnyPlayground, AnyRunningCluster } from "../local-cluster.ts"
import { operatorNamespace, workloadManifests, workloadNamespace } from "../manifests.ts"
import { mergedKubeconfig } from "../merged-kubeconfig.ts"
import { PlaygroundError, waitForClusters, waitForView } from "../readiness.ts"
import type { PlaygroundCluster, Topology } from "../topology.ts"
import { type NodeCluster, startNodeCluster } from "./node-cluster.ts"
import { type NodeFiles, nodeImages } from "./node-files.ts"
import { joinWorlds } from "./node-world.ts"

const tokenLifetimeSecs = 30 * 24 * 3600

export interface NodePlaygroundOptions {
  readonly topology: Topology
  readonly programs: Programs
  readonly files: NodeFiles
  readonly directory: string
  /** As in `NodeClusterOptions`. */
  readonly enforcesPolicies?: boolean
  readonly sessionTtlSecs: number
  readonly remoteSessionTimeoutSecs: number
  /** Called for each step. */
  readonly progress: (step: string) => Effect.Effect<void>
}

interface Started {
  readonly description: PlaygroundCluster
  readonly cluster: NodeCluster
}

export interface RunningNode extends AnyRunningCluster {
  readonly cluster: NodeCluster
}

export interface NodePlayground extends AnyPlayground {
  readonly clusters: ReadonlyArray<RunningNode>
  readonly primary: RunningNode
}

/** Each cluster on a node of its own; pods of one reach the API servers of the others. */
const startClusters = ({ directory, enforcesPolicies = false, files, programs, topology }: NodePlaygroundOptions) =>
  Effect.gen(function* () {
    const started = yield* Effect.forEach(
      topology.clusters,
      (description, index) =>
        Effect.map(
          startNodeCluster({
            name: description.name,
            number: index + 1,
            programs,
            files,
            directory,
            enforcesPolicies
          }),
          (cluster): Started => ({ description, cluster })
        ),
      { concurrency: "unbounded" }
    )
    yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () =>
          joinWorlds(
            started.map(({ cluster }) => cluster.world),
            directory
          ),
        catch: failed("the network between the clusters")
      }),
      (close) => Effect.promise(close)
    )
    return started
  })

/** A member in the primary's values. */
const memberEntry = (member: Started) =>
  Effect.map(
    member.cluster
      .token(operatorNamespace, "mirrord-operator-envoy", tokenLifetimeSecs)
      .pipe(
        Effect.mapError(
          ({ message }) => new PlaygroundError({ detail: `${member.description.name} gives no token: ${message}` })
        )
      ),
    (token) =>
      [
        member.description.name,
        {
          authType: "bearerToken",
          bearerToken: Redacted.value(token),
          server: member.cluster.serverForOthers,
          caData: encodeBase64Text(member.cluster.caPem)
        }
      ] as const
  )

/** Installs the primary with the members that it is to have, which get new tokens. */
const installPrimary = (
  { programs, remoteSessionTimeoutSecs, sessionTtlSecs, topology }: NodePlaygroundOptions,
  primary: Started,
  members: ReadonlyArray<Started>
) =>
  Effect.gen(function* () {
    const clusters = yield* Effect.forEach(members, memberEntry)
    return yield* installChart(programs, primary.cluster, {
      operator: {
        multiCluster: {
          enabled: true,
          clusterName: primary.description.name,
          defaultCluster: topology.clusters.find(({ isDefault }) => isDefault)?.name ?? "",
          managementOnly: topology.managementOnly,
          remoteSessionTimeoutSecs,
          sessionTtlSecs,
          clusters: Object.fromEntries(clusters)
        }
      }
    })
  })

/** A port of this machine at which requests enter the demo workload. */
const openEntry = ({ cluster, description }: Started) =>
  Effect.gen(function* () {
    const running = { description, cluster, entry: undefined }
    if (!description.hasWorkload) return running satisfies RunningNode
    const host = asString(at(cluster.store.get(services, workloadNamespace, "myapp"), "spec", "clusterIP")) ?? ""
    const port = yield* Effect.tryPromise({
      try: () => cluster.world.forward({ host, port: 80 }),
      catch: failed(`the entry of ${description.name}`)
    })
    return { ...running, entry: `http://127.0.0.1:${port}` } satisfies RunningNode
  })

/** A kubeconfig in which the clusters have the addresses that they have for each other. */
const administratorKubeconfig = (directory: string, started: ReadonlyArray<Started>) =>
  Effect.tryPromise({
    try: async () => {
      const each = started.map(
        async ({ cluster: { kubeconfigPath, server, serverForOthers }, description: { name } }) => {
          const path = join(directory, name, "administrator.kubeconfig")
          const text = (await readFile(kubeconfigPath, "utf8")).replace(server, serverForOthers)
          await writeFile(path, text, { mode: 0o600 })
          return { name, kubeconfigPath: path }
        }
      )
      return mergedKubeconfig(join(directory, "administrator.kubeconfig"), await Promise.all(each))
    },
    catch: failed("the administrator's kubeconfig")
  })

/** The operators and workloads of clusters that have started. */
const installOn = (options: NodePlaygroundOptions, started: ReadonlyArray<Started>) =>
  Effect.gen(function* () {
    const { programs, progress } = options
    const [primary, members] = [
      started.find(({ description }) => description.isPrimary),
      started.filter(({ description }) => !description.isPrimary)
    ]
    if (primary === undefined) return yield* new PlaygroundError({ detail: "the topology has no primary" })
    for (const { cluster, description } of started.filter((one) => one.description.hasWorkload))
      yield* Effect.tryPromise({
        try: () => cluster.plane.apply(workloadManifests(description, { image: nodeImages.demo })),
        catch: failed(`the demo workload of ${description.name}`)
      })
    yield* Effect.forEach(
      members,
      ({ cluster }) => installChart(programs, cluster, { operator: { multiClusterMember: true } }),
      { concurrency: "unbounded" }
    )
    yield* installPrimary(options, primary, members)
    yield* waitForClusters(started, primary.cluster, progress)
    for (const { cluster, description } of started)
      yield* waitForView(cluster.name, cluster.awaitSessions(description.isPrimary))
    const clusters = yield* Effect.forEach(started, openEntry)
    const running = clusters.find(({ description }) => description.isPrimary)
    if (running === undefined) return yield* new PlaygroundError({ detail: "the topology has no primary" })
    return {
      clusters,
      primary: running,
      administrator: {
        kubeconfig: yield* administratorKubeconfig(options.directory, started),
        command: primary.cluster.world.inNetwork
      },
      setMembers: (names: ReadonlyArray<string>) =>
        installPrimary(
          options,
          primary,
          members.filter(({ description: { name } }) => names.includes(name))
        )
    }
  })

/** Starts the playground on real nodes. Everything lives as long as the scope. */
export const startNodePlayground = (
  options: NodePlaygroundOptions
): Effect.Effect<NodePlayground, PlaygroundError, Scope.Scope> =>
  Effect.gen(function* () {
    const started = yield* startClusters(options)
    yield* options.progress("clusters")
    const ended = Effect.raceAllFirst(started.map(({ cluster }) => cluster.ended))
    return { ...(yield* Effect.raceFirst(installOn(options, started), ended)), ended }
  })
