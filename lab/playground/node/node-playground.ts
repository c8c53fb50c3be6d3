/**
 * The playground on real nodes: a cluster with a node for each of the topology, joined by one network, with operators
 * that `helm` installs from the chart as people do: the image of a release, and no value but those of the fleet.
 */

import { execFile } from "node:child_process"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { Effect, Redacted, type Scope } from "effect"
import type { DialledCell } from "../../../src/domain/commands/join/join-request.ts"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { asObjects, asString, at } from "../../../src/domain/json.ts"
import { services } from "../../cluster/store/resource-refs.ts"
import { seen } from "../awaited.ts"
import { dialFrom } from "../dial-from.ts"
import { makeToken, pinOfCell } from "../dial-out.ts"
import { installChart } from "../kubernetes/helm-release.ts"
import type { Programs } from "../kubernetes/programs.ts"
import { failed } from "../kubernetes/real-cluster.ts"
import type { AnyPlayground, AnyRunningCluster, NetworksApart, PlaygroundCell } from "../local-cluster.ts"
import { cellService, operatorNamespace, workloadManifests, workloadNamespace } from "../manifests.ts"
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
  /** Groups of the primary whose people members that dial out let in; none unless given. */
  readonly peopleGroups?: ReadonlyArray<string>
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
    for (const { cluster, description } of started) if (description.dialsOut) yield* closeToOthers(cluster)
    return started
  })

/** Refuses all connections to a cluster that begin outside of its world. */
const closeToOthers = ({ name, world }: NodeCluster) =>
  Effect.tryPromise({
    try: () => {
      const rules = ["INPUT", "FORWARD"].map((chain) => `iptables -I ${chain} -i node0 -p tcp --syn -j REJECT`)
      const [file, ...args] = world.inNetwork(["sh", "-ec", rules.join("\n")])
      return promisify(execFile)(file, args)
    },
    catch: failed(`the network of ${name} cannot be closed`)
  })

/** A member in the primary's values. */
const memberEntry = (member: Started): Effect.Effect<readonly [string, object], PlaygroundError> => {
  const { dialsOut, name } = member.description
  if (dialsOut) return Effect.succeed([name, { authType: "outbound" }])
  return Effect.map(
    member.cluster
      .token(operatorNamespace, "mirrord-operator-envoy", tokenLifetimeSecs)
      .pipe(Effect.mapError(({ message }) => new PlaygroundError({ detail: `${name} gives no token: ${message}` }))),
    (token) =>
      [
        name,
        {
          authType: "bearerToken",
          bearerToken: Redacted.value(token),
          server: member.cluster.serverForOthers,
          caData: encodeBase64Text(member.cluster.caPem)
        }
      ] as const
  )
}

/** Installs a member. `dialled`: `undefined` unless it dials the primary. */
const installMember = (
  { peopleGroups: groups = [], programs }: NodePlaygroundOptions,
  { cluster }: Started,
  dialled?: DialledCell
) =>
  installChart(programs, cluster, {
    operator: {
      multiClusterMember: true,
      ...(dialled && { outbound: { enabled: true, ...dialled, proxy: { groups } } })
    }
  })

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
        ...(topology.clusters.some(({ dialsOut }) => dialsOut) && {
          cell: { enabled: true, service: { type: "NodePort" } }
        }),
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

/** The way to the cell for other worlds: a port of the primary's node leads to it. */
const findCell = ({ cluster }: Started) =>
  Effect.gen(function* () {
    const pin = yield* pinOfCell(cluster)
    const ports = yield* seen(
      "the ports of the cell",
      Effect.sync(() => {
        const found = asObjects(at(cluster.store.get(services, operatorNamespace, cellService), "spec", "ports"))
        return found.length === 0 ? undefined : found
      })
    ).pipe(Effect.mapError(({ message }) => new PlaygroundError({ detail: message })))
    const addressOf = (wanted: string): string =>
      `${cluster.world.address}:${String(ports.find(({ name }) => name === wanted)?.["nodePort"])}`
    return { cell: addressOf("tunnels"), bootstrap: addressOf("bootstrap"), pin }
  })

/** Has the members that dial out dial the primary. */
const dialPrimary = (options: NodePlaygroundOptions, primary: Started, members: ReadonlyArray<Started>) =>
  Effect.gen(function* () {
    const dialling = members.filter(({ description }) => description.dialsOut)
    if (dialling.length === 0) return {}
    const opened = yield* findCell(primary)
    for (const member of dialling) {
      const { dialled, secret } = yield* makeToken(member.description.name, opened)
      yield* Effect.tryPromise({ try: () => primary.cluster.plane.apply(secret), catch: failed("a member's token") })
      yield* installMember(options, member, dialled)
    }
    const networks: NetworksApart = {
      dialled: (server) =>
        Effect.tryPromise({
          try: async () => {
            const { cluster } = members.find((member) => member.cluster.server === server) ?? primary
            const { hostname: host, port } = new URL(cluster.serverForOthers)
            const outcome = await dialFrom(primary.cluster.world.inNetwork, { host, port: Number(port) })
            return { [`${host}:${port}`]: outcome }
          },
          catch: failed("the primary's network cannot be entered")
        })
    }
    const cell: PlaygroundCell = {
      ...opened,
      dial: (name, dialled) =>
        Effect.forEach(
          dialling.filter(({ description }) => description.name === name),
          (member) => installMember(options, member, dialled),
          { discard: true }
        )
    }
    return { networks, cell }
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
    const { progress } = options
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
      members.filter(({ description }) => !description.dialsOut),
      (member) => installMember(options, member),
      { concurrency: "unbounded" }
    )
    yield* installPrimary(options, primary, members)
    const dialled = yield* dialPrimary(options, primary, members)
    yield* waitForClusters(started, primary.cluster, progress)
    for (const { cluster, description } of started)
      yield* waitForView(cluster.name, cluster.awaitSessions(description.isPrimary))
    const clusters = yield* Effect.forEach(started, openEntry)
    const running = clusters.find(({ description }) => description.isPrimary)
    if (running === undefined) return yield* new PlaygroundError({ detail: "the topology has no primary" })
    return {
      ...dialled,
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
