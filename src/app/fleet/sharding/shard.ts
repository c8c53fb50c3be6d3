/**
 * The shard of one replica: the clusters that it owns. While it holds a cluster's Lease, it watches the cluster, checks
 * it, renews its credentials and reports on it.
 *
 * Not here: taking and giving up Leases (app/sharding), and sessions, which are the leader's.
 */

import { Effect, Queue, type Scope } from "effect"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { type FleetConfiguration, isOutbound } from "../../../domain/fleet/configuration.ts"
import { workloadClusters } from "../../../domain/fleet/roles.ts"
import { clusterLeaseMetadata, clusterLeaseName } from "../../../domain/fleet/sharding/cluster-leases.ts"
import { configMaps } from "../../../domain/resources/core-kinds.ts"
import { mirrordClusters } from "../../../domain/resources/mirrord-cluster.ts"
import { ClusterConnector } from "../../../ports/cluster-connector.ts"
import { type EventRecorder, makeEventRecorder } from "../../kernel/event-recorder.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import type { Term } from "../../kernel/term.ts"
import { untilDone } from "../../kernel/until-done.ts"
import { apiWhileLeading, connectorWhileLeading } from "../../leadership/while-leading.ts"
import type { SeenLeases } from "../../sharding/seen-leases.ts"
import { runShare, type Sharer } from "../../sharding/share.ts"
import { changeFleet } from "../change-fleet.ts"
import type { ConfigurationSource } from "../configuration-source.ts"
import { type ChangingFleet, type FleetEvents, makeFleet } from "../fleet.ts"
import type { ClusterOwners } from "../reported-clusters.ts"
import { placeOf, publishReports } from "./publish-report.ts"

/** The owners of the clusters, by their Leases. */
export const clusterOwners = ({ freeFor, holderOf }: SeenLeases): ClusterOwners => ({
  ownerOf: (cluster) => holderOf(clusterLeaseName(cluster, sha256Hex)),
  ownerlessFor: (cluster) => freeFor(clusterLeaseName(cluster, sha256Hex))
})

interface Shard {
  readonly connector: ClusterConnector["Service"]
  readonly configuration: ConfigurationSource
  readonly namespace: string
  readonly fleet: ChangingFleet
  /** The terms of the clusters that are owned. */
  readonly terms: Map<ClusterName, Term>
  /** The inboxes of the reports. */
  readonly reports: Map<ClusterName, Queue.Queue<void>>
}

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
  { configuration, connector, fleet, namespace, reports, terms }: Shard,
  name: ClusterName,
  term: Term
): Effect.fn.Return<never, never, Scope.Scope> {
  const news = yield* Queue.sliding<void>(1)
  const cluster = workloadClusters(configuration.known()).find((found) => found.name === name)
  if (cluster === undefined) return yield* Effect.never
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

/** Deletes the report of a cluster that has left the fleet. */
const removeReport = ({ api, namespace }: Sharer, cluster: ClusterName): Effect.Effect<void> => {
  const { name } = placeOf({ api, namespace, sha256Hex }, cluster)
  return Effect.ignore(
    Effect.flatMap(api.get(configMaps, name, namespace), ({ metadata: { uid } }) =>
      api.delete(configMaps, name, { namespace, ...(uid === undefined ? {} : { uid }) })
    )
  )
}

/** Brings the owned clusters to each new configuration. */
const followConfiguration = Effect.fnUntraced(function* (
  { configuration, fleet, terms }: Shard,
  news: Queue.Queue<void>
) {
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
  sharer: Sharer,
  configuration: ConfigurationSource
): Effect.fn.Return<never, never, ClusterConnector | Scope.Scope> {
  const connector = yield* ClusterConnector
  const { namespace } = sharer
  const news = yield* Queue.sliding<void>(1)
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
  const shard: Shard = { connector, configuration, namespace, fleet, terms, reports }
  yield* countHolding("clusters owned", () => terms.size)
  yield* followConfiguration(shard, news)
  return yield* runShare(
    sharer,
    {
      noun: "cluster",
      shown: (cluster) => cluster,
      names: () => configuration.known().members.flatMap((member) => (isOutbound(member) ? [] : [member.name])),
      leaseOf: (cluster) => clusterLeaseName(cluster, sha256Hex),
      metadata: () => clusterLeaseMetadata,
      serve: (cluster, term) => serveCluster(shard, cluster, term),
      forget: (cluster) => removeReport(sharer, cluster)
    },
    news
  )
})
