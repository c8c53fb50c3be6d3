/**
 * The shard of one replica: the clusters that it owns. Takes and gives up their Leases, and while it holds one, it
 * watches the cluster, checks it, renews its credentials and reports on it.
 *
 * Not here: the decisions (domain/fleet/sharding), and sessions, which are the leader's.
 */

import { Clock, Effect, FiberMap, Queue, type Scope } from "effect"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { type FleetConfiguration, isOutbound } from "../../../domain/fleet/configuration.ts"
import { workloadClusters } from "../../../domain/fleet/roles.ts"
import {
  clusterLeaseMetadata,
  clusterLeaseName,
  replicaLeaseMetadata,
  replicaLeaseName,
  shardLeaseTimes
} from "../../../domain/fleet/sharding/shard-leases.ts"
import { shardPlan } from "../../../domain/fleet/sharding/shard-plan.ts"
import type { OperatorPod } from "../../../domain/leadership/identity.ts"
import { configMaps, leases } from "../../../domain/resources/core-kinds.ts"
import { mirrordClusters } from "../../../domain/resources/mirrord-cluster.ts"
import { ClusterConnector } from "../../../ports/cluster-connector.ts"
import type { ResourceRef } from "../../../ports/kube-api.ts"
import { type EventRecorder, makeEventRecorder } from "../../kernel/event-recorder.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { logInfo, logWarning } from "../../kernel/log.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import { elapsedOf, type Term } from "../../kernel/term.ts"
import { untilDone } from "../../kernel/until-done.ts"
import { holdLease } from "../../leadership/elector.ts"
import { apiWhileLeading, connectorWhileLeading } from "../../leadership/while-leading.ts"
import { changeFleet } from "../change-fleet.ts"
import type { ConfigurationSource } from "../configuration-source.ts"
import { type ChangingFleet, type FleetEvents, makeFleet } from "../fleet.ts"
import { placeOf, publishReports } from "./publish-report.ts"
import type { SeenLeases } from "./seen-leases.ts"

/** How often a replica looks at the Leases without news, in ms: they end without a word. */
const lookEvery = 1_000
/** How long a replica that has just come waits for others before it takes clusters, in ms. */
const settleFor = 4_000

export interface ShardOptions {
  readonly namespace: string
  readonly pod: OperatorPod
  /** This replica's weight among the others; more than 0. */
  readonly weight: number
  readonly configuration: ConfigurationSource
  readonly seen: SeenLeases
  /** Reports that a Lease has another holder. */
  readonly news: Queue.Queue<void>
}

interface Shard {
  readonly options: ShardOptions
  readonly connector: ClusterConnector["Service"]
  readonly fleet: ChangingFleet
  /** The attempts to get each cluster's Lease, and the work with it. */
  readonly tasks: FiberMap.FiberMap<ClusterName>
  /** The clusters of {@link tasks}. */
  readonly held: Set<ClusterName>
  /** The terms of the clusters that are owned. */
  readonly terms: Map<ClusterName, Term>
  /** The inboxes of the reports. */
  readonly reports: Map<ClusterName, Queue.Queue<void>>
  /** Since when the own Lease is held, by the steady clock; `undefined` while it is not. */
  presentSince: number | undefined
}

const electionOf = ({ connector, options: { namespace, pod } }: Pick<Shard, "connector" | "options">) => ({
  api: connector.own.api,
  namespace,
  pod,
  times: shardLeaseTimes,
  resign: Effect.void
})

/** The fleet without any cluster: clusters join when they are owned. */
const withoutMembers = (configuration: FleetConfiguration): FleetConfiguration => ({
  ...configuration,
  managementOnly: true,
  members: []
})

const fleetEvents = (events: EventRecorder, changed: (cluster: ClusterName) => void): FleetEvents => ({
  joined: ({ name }) => changed(name),
  left: () => {},
  childChanged: changed,
  reachChanged: changed,
  happened: (cluster, event) => events.record(mirrordClusters, { metadata: { name: cluster } }, event)
})

/** Serves one cluster for as long as its Lease is held. */
const serveCluster = Effect.fnUntraced(function* (
  { connector, fleet, options, reports, terms }: Shard,
  name: ClusterName,
  term: Term
): Effect.fn.Return<never, never, Scope.Scope> {
  const { configuration, namespace } = options
  const news = yield* Queue.sliding<void>(1)
  const cluster = workloadClusters(configuration.known()).find((found) => found.name === name)
  if (cluster === undefined) return yield* Effect.never
  yield* logInfo("cluster is owned by this replica", { cluster: name, epoch: term.epoch })
  yield* Effect.acquireRelease(
    Effect.suspend(() => {
      terms.set(name, term)
      reports.set(name, news)
      return fleet.join(cluster)
    }),
    () =>
      Effect.andThen(fleet.leave(name), () =>
        Effect.sync(() => {
          terms.delete(name)
          reports.delete(name)
        })
      )
  )
  const children = () => {
    const known = fleet.clusters.get(name)
    return known?.unreadableSince() === undefined ? known?.children()?.all() : undefined
  }
  return yield* publishReports(
    { cluster: name, report: () => fleet.reportOf(name), children, news },
    { api: apiWhileLeading(term, connector.own.api), namespace, sha256Hex }
  )
})

/** Gets the Lease of a free cluster, and serves it until it is given up or lost. */
const own = (shard: Shard, cluster: ClusterName): Effect.Effect<void> =>
  holdLease(
    { ...electionOf(shard), lease: clusterLeaseName(cluster, sha256Hex), metadata: clusterLeaseMetadata },
    shard.options.seen.leaseOf(cluster),
    (term) => serveCluster(shard, cluster, term)
  ).pipe(
    Effect.flatMap(({ wasHeld, why }) =>
      wasHeld
        ? logWarning("cluster is not owned by this replica any more", { cluster, why })
        : Effect.andThen(logInfo("cluster is not owned yet", { cluster, why }), Effect.sleep(lookEvery))
    )
  )

const begin = (shard: Shard, cluster: ClusterName): Effect.Effect<unknown> => {
  const { held, tasks } = shard
  held.add(cluster)
  const ended = Effect.sync(() => held.delete(cluster))
  return FiberMap.run(tasks, cluster)(Effect.ensuring(own(shard, cluster), ended))
}

/** Deletes what is left of a cluster that has left the fleet. */
const forget = ({ connector, options: { namespace } }: Shard, cluster: ClusterName): Effect.Effect<void> => {
  const { api } = connector.own
  const remove = (ref: ResourceRef, name: string): Effect.Effect<void> =>
    Effect.ignore(
      Effect.flatMap(api.get(ref, name, namespace), ({ metadata: { uid } }) =>
        api.delete(ref, name, { namespace, ...(uid === undefined ? {} : { uid }) })
      )
    )
  const { name } = placeOf({ api, namespace, sha256Hex }, cluster)
  return Effect.andThen(remove(configMaps, name), remove(leases, clusterLeaseName(cluster, sha256Hex)))
}

const giveUp = (shard: Shard, cluster: ClusterName, isInFleet: boolean): Effect.Effect<void> =>
  logInfo("cluster is given up to another replica", { cluster, isInFleet }).pipe(
    Effect.andThen(FiberMap.remove(shard.tasks, cluster)),
    Effect.andThen(isInFleet ? Effect.void : forget(shard, cluster))
  )

/** Takes and gives up what the plan says. */
const turn = Effect.fnUntraced(function* (shard: Shard): Effect.fn.Return<void> {
  const { held, options, presentSince } = shard
  const { configuration, pod, seen } = options
  const clusters = configuration.known().members.flatMap((member) => (isOutbound(member) ? [] : [member.name]))
  const holders = new Map(
    clusters.flatMap((cluster) => {
      const owner = seen.ownerOf(cluster)
      return owner === undefined ? [] : [[cluster, owner] as const]
    })
  )
  const plan = shardPlan({ self: pod.name, replicas: seen.replicas(), clusters, holders, held, sha256Hex })
  const now = elapsedOf(yield* Clock.Clock)()
  const isSettled = presentSince !== undefined && now >= presentSince + settleFor
  if (isSettled) yield* Effect.forEach(plan.take, (cluster) => begin(shard, cluster), { discard: true })
  yield* Effect.forEach(plan.giveUp, (cluster) => giveUp(shard, cluster, clusters.includes(cluster)), {
    discard: true,
    concurrency: "unbounded"
  })
})

/** Says by a Lease that this replica lives. */
const bePresent = (shard: Shard): Effect.Effect<never> => {
  const { pod, weight } = shard.options
  const present = Effect.flatMap(Clock.Clock, (clock) =>
    Effect.acquireRelease(
      Effect.sync(() => (shard.presentSince = elapsedOf(clock)())),
      () => Effect.sync(() => (shard.presentSince = undefined))
    )
  )
  return holdLease(
    { ...electionOf(shard), lease: replicaLeaseName(pod), metadata: replicaLeaseMetadata(pod, weight) },
    undefined,
    () => Effect.andThen(present, Effect.never)
  ).pipe(
    Effect.flatMap(({ why }) => logWarning("this replica owns no further clusters: its Lease is not held", { why })),
    Effect.andThen(Effect.sleep(lookEvery)),
    Effect.forever
  )
}

/** Brings the owned clusters to each new configuration. */
const followConfiguration = Effect.fnUntraced(function* ({ fleet, options: { configuration, news }, terms }: Shard) {
  const changes = yield* Queue.sliding<void>(1)
  yield* Effect.acquireRelease(
    Effect.sync(() => configuration.listen(() => Queue.offerUnsafe(changes, undefined))),
    (stop) => Effect.sync(stop)
  )
  let running = configuration.known()
  const ownedIn = (known: FleetConfiguration): FleetConfiguration => ({
    ...withoutMembers(known),
    members: known.members.filter(({ name }) => terms.has(name))
  })
  const step = Effect.suspend(() => {
    const [before, after] = [ownedIn(running), ownedIn(configuration.known())]
    running = configuration.known()
    Queue.offerUnsafe(news, undefined)
    return changeFleet(fleet, before, after)
  })
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(Queue.take(changes), untilDone(step, "clusters could not be brought to their configuration"))
    )
  )
})

/** Owns this replica's share of the clusters. Never ends. */
export const runShard = Effect.fnUntraced(function* (
  options: ShardOptions
): Effect.fn.Return<never, never, ClusterConnector | Scope.Scope> {
  const connector = yield* ClusterConnector
  const { configuration, namespace, news, seen } = options
  const terms: Shard["terms"] = new Map()
  const reports: Shard["reports"] = new Map()
  const changed = (cluster: ClusterName): void => {
    const inbox = reports.get(cluster)
    if (inbox !== undefined) Queue.offerUnsafe(inbox, undefined)
  }
  const fleet = yield* makeFleet({
    configuration: withoutMembers(configuration.known()),
    namespace,
    sha256Hex,
    ownHealth: { _tag: "Connected", operatorVersion: "", fingerprint: undefined, parametersInHeader: true },
    events: fleetEvents(yield* makeEventRecorder(connector.own.api), changed),
    kubeconfig: configuration.provided?.kubeconfig,
    connectorFor: (cluster) => {
      const term = terms.get(cluster)
      return term === undefined ? connector : connectorWhileLeading(term, connector)
    }
  })
  const tasks = yield* FiberMap.make<ClusterName>()
  const held: Shard["held"] = new Set()
  const shard: Shard = { options, connector, fleet, tasks, held, terms, reports, presentSince: undefined }
  yield* countHolding("clusters owned", () => terms.size)
  yield* followConfiguration(shard)
  yield* Effect.forkScoped(bePresent(shard))
  yield* seen.awaitSynced
  return yield* Effect.forever(
    Effect.andThen(untilDone(turn(shard), "clusters could not be shared out"), () =>
      Effect.timeoutOption(Queue.take(news), lookEvery)
    )
  )
})
