/**
 * The workload clusters of a primary: which there are now. Each cluster has one connection (cluster-connection.ts),
 * which checks its health; clusters join and leave at any time.
 *
 * Not here: which clusters are to be there (domain/fleet), and their credentials (credential-watch.ts).
 */

import { Clock, Effect, Exit, Result, Scope, Semaphore } from "effect"
import type { ClusterName, Sha256Hex } from "../../domain/fleet/cluster-name.ts"
import { type FleetConfiguration, isOutbound, type MemberConfiguration } from "../../domain/fleet/configuration.ts"
import { authWords } from "../../domain/fleet/credentials/cluster-auth.ts"
import { type ConnectedOperator, defaultCheckOptions } from "../../domain/fleet/health.ts"
import { workloadClusters, type WorkloadCluster } from "../../domain/fleet/roles.ts"
import type { ClusterReport } from "../../domain/fleet/sharding/cluster-report.ts"
import { ClusterConnector } from "../../ports/cluster-connector.ts"
import { CredentialMaker, type MakeCredentials } from "../../ports/credential-maker.ts"
import { OutboundConnector } from "../../ports/outbound-connector.ts"
import {
  type ClusterConnection,
  type ConnectionEvents,
  disengage,
  engage,
  isReadable,
  type KnownRefusal,
  knownRefusal,
  makeConnection,
  usable
} from "./cluster-connection.ts"
import {
  closeInbox,
  type CredentialWatch,
  makeCredentialWatch,
  openInbox,
  type SecretNames,
  secretNamesOf,
  secretOf,
  tellAgain,
  watchSecrets
} from "./credential-watch.ts"
import { type FleetCluster, toFleetCluster } from "./fleet-cluster.ts"
import { followCredentials } from "./follow-credentials.ts"
import { type JudgeIdentity, makeIdentityPins } from "./identity-pins.ts"
import { makeRenewalTurns } from "./renewal-turns.ts"
import type { ReportedClusters } from "./reported-clusters.ts"
import { engageReported, eventsOfReported, followReports } from "./reported-connection.ts"

export interface Fleet {
  /** The clusters that are in the fleet now. */
  readonly clusters: ReadonlyMap<ClusterName, FleetCluster>
  /** Completes when the health of each cluster is known. */
  readonly checked: Effect.Effect<void>
}

/** The fleet for the code that decides which clusters belong to it. */
export interface ChangingFleet extends Fleet {
  /** Connects to a cluster, in place of the connection to one of the same name. */
  readonly join: (cluster: WorkloadCluster) => Effect.Effect<void>
  /** Ends the connection of a cluster, if it is in the fleet. */
  readonly leave: (cluster: ClusterName) => Effect.Effect<void>
  /** Takes up another way to authenticate at a cluster. Its watches and links go on. */
  readonly reauthenticate: (member: MemberConfiguration) => Effect.Effect<void>
  /** The report on a member for other replicas; `undefined` while nothing is known. */
  readonly reportOf: (cluster: ClusterName) => ClusterReport | undefined
}

/** Events for the users of the fleet; the first comes after {@link makeFleet} has returned. */
export interface FleetEvents extends ConnectionEvents {
  /** A cluster is in the fleet now, or is connected to again. The first event of the connection. */
  readonly joined: (cluster: FleetCluster) => void
  /** A cluster is not in the fleet any more. The last event of the cluster. */
  readonly left: (cluster: ClusterName) => void
  /** Runs after that, before the cluster's connection is closed. */
  readonly leaving?: (cluster: ClusterName) => Effect.Effect<void>
}

export interface FleetOptions {
  readonly configuration: FleetConfiguration
  /** Namespace of this operator: the Secrets with credentials are there. */
  readonly namespace: string
  readonly sha256Hex: Sha256Hex
  /** How this operator describes itself. */
  readonly ownHealth: ConnectedOperator
  readonly events: FleetEvents
  /** The text of the kubeconfig that a cluster was found by. `name`: of the cluster. */
  readonly kubeconfig?: ((name: string) => string | undefined) | undefined
  /** The reports of the members, if other processes watch them. */
  readonly reports?: ReportedClusters | undefined
  /** The world as it may be changed for a member; that of the fleet unless given. */
  readonly connectorFor?: ((cluster: ClusterName) => ClusterConnector["Service"]) | undefined
}

/** A cluster's connection, and the scope that ends when the cluster leaves. */
interface Joined {
  readonly connection: ClusterConnection
  readonly scope: Scope.Closeable
}

/** How many members are connected to at once: a replica that starts with many would else wait for all handshakes. */
const maxConnecting = 64

/** How many clusters that have left refused are remembered. */
const rememberedRefusals = 1_000

interface FleetState {
  readonly options: FleetOptions
  readonly connector: ClusterConnector["Service"]
  readonly makeCredentials: MakeCredentials
  /** Ends with the fleet. */
  readonly scope: Scope.Scope
  readonly joined: Map<ClusterName, Joined>
  readonly clusters: Map<ClusterName, FleetCluster>
  /** Clusters that have left; those that are found may come back at any moment. */
  readonly refused: Map<ClusterName, KnownRefusal>
  readonly credentials: CredentialWatch
  readonly judgeIdentity: JudgeIdentity
  readonly places: Semaphore.Semaphore
  /** Waits for the turn of a renewal of credentials. */
  readonly renewalTurn: Effect.Effect<void>
  /** The events that connections are given; they are dropped until {@link announce}. */
  readonly events: ConnectionEvents
  isAnnounced: boolean
}

/** A cluster's place in the spread of what is due for many at once: any, but the same after a restart. */
const shareOf = (name: ClusterName, sha256Hex: Sha256Hex): number =>
  Number.parseInt(sha256Hex(name).slice(0, 8), 16) / 2 ** 32

/** Engages a member that dials out, also while it has no tunnel: its checks say so then. */
const startOutbound = Effect.fnUntraced(function* (connection: ClusterConnection, member: MemberConfiguration) {
  const connect = yield* OutboundConnector
  const accessed = yield* Effect.result(connect(member))
  if (Result.isFailure(accessed)) return yield* disengage(connection, accessed.failure)
  const { since, until, ...access } = accessed.success
  connection.credentials = () => ({ auth: authWords.Outbound, until: until(), failures: 0 })
  connection.tunnelSince = since
  yield* engage(connection, Effect.succeed(access))
})

/** Starts engaging a cluster: our own at once, a member whenever it has credentials. */
const startConnection = Effect.fnUntraced(function* (
  fleet: FleetState,
  connection: ClusterConnection
): Effect.fn.Return<void, never, Scope.Scope> {
  const { cluster } = connection
  const { member } = cluster
  if (member === undefined) return yield* engage(connection, Effect.succeed(fleet.connector.own))
  const { credentials, options } = fleet
  const { namespace, reports, sha256Hex } = options
  if (isOutbound(member) && member.problems.length === 0) return yield* startOutbound(connection, member)
  const names = secretNamesOf(cluster, sha256Hex)
  if (names === undefined) return yield* disengage(connection, member.problems.join(" "))
  yield* Effect.forkScoped(
    followCredentials({
      connection,
      connector: options.connectorFor?.(cluster.name) ?? fleet.connector,
      makeCredentials: fleet.makeCredentials,
      // Read again each time, as the way to authenticate may change.
      member: () => connection.cluster.member ?? member,
      namespace,
      ...names,
      secretOf: (name) => secretOf(credentials, name),
      kubeconfig: () => options.kubeconfig?.(member.name),
      changes: yield* openInbox(credentials, names),
      share: connection.share,
      turn: fleet.renewalTurn,
      ...(reports === undefined ? {} : { engage: engageReported(reports), renews: false })
    })
  )
})

/** The refusal of a cluster that comes back; at another address it may be the right one. */
const takeRefusal = ({ refused }: FleetState, { member, name }: WorkloadCluster): KnownRefusal | undefined => {
  const known = refused.get(name)
  refused.delete(name)
  return known?.server === member?.server ? known : undefined
}

const rememberRefusal = ({ refused }: FleetState, { connection }: Joined): void => {
  const refusal = knownRefusal(connection)
  if (refusal === undefined) return
  refused.set(connection.cluster.name, refusal)
  const [oldest] = refused.keys()
  if (refused.size > rememberedRefusals && oldest !== undefined) refused.delete(oldest)
}

const connect = Effect.fnUntraced(function* (fleet: FleetState, cluster: WorkloadCluster): Effect.fn.Return<void> {
  const { events, options } = fleet
  const scope = yield* Scope.fork(fleet.scope)
  // The tunnels of members that dial out end at the leader, who watches them itself.
  const isReported = options.reports !== undefined && cluster.member !== undefined && !isOutbound(cluster.member)
  const connection = yield* makeConnection(
    {
      cluster,
      isReported,
      ownHealth: options.ownHealth,
      events: isReported ? eventsOfReported(events) : events,
      options: defaultCheckOptions,
      judgeIdentity: fleet.judgeIdentity,
      share: shareOf(cluster.name, options.sha256Hex),
      places: fleet.places
    },
    takeRefusal(fleet, cluster)
  ).pipe(Scope.provide(scope))
  const owners = isReported ? options.reports?.owners : undefined
  const view = toFleetCluster(connection, owners && (() => owners.ownerOf(cluster.name)))
  fleet.clusters.set(cluster.name, view)
  fleet.joined.set(cluster.name, { connection, scope })
  if (fleet.isAnnounced) {
    // Until its first list is read, its silence proves nothing.
    connection.unreadableSince = yield* Clock.currentTimeMillis
    // Sessions can go on without the cluster, so none waits for its first check.
    if (!cluster.isDefault) connection.isKnown.openUnsafe()
    options.events.joined(view)
  }
  yield* startConnection(fleet, connection).pipe(Scope.provide(scope))
})

const namesOf = ({ options }: FleetState, cluster: WorkloadCluster): SecretNames | undefined =>
  secretNamesOf(cluster, options.sha256Hex)

const lookAgain = (fleet: FleetState, cluster: WorkloadCluster): Effect.Effect<void> => {
  const names = namesOf(fleet, cluster)
  return names === undefined ? Effect.void : tellAgain(fleet.credentials, names)
}

const end = ({ connection, scope }: Joined): Effect.Effect<void> =>
  Effect.suspend(() => {
    // Opened so that no session waits for a check that is never made.
    connection.isKnown.openUnsafe()
    return Scope.close(scope, Exit.void)
  })

const leave = (fleet: FleetState, cluster: ClusterName): Effect.Effect<void> =>
  Effect.suspend(() => {
    const left = fleet.joined.get(cluster)
    if (left === undefined) return Effect.void
    fleet.joined.delete(cluster)
    fleet.clusters.delete(cluster)
    rememberRefusal(fleet, left)
    closeInbox(fleet.credentials, namesOf(fleet, left.connection.cluster))
    // Notified first, so that sessions give up what leads to the cluster while it is still connected.
    const told = Effect.suspend(() => {
      const { events } = fleet.options
      if (!fleet.isAnnounced) return Effect.void
      events.left(cluster)
      return events.leaving?.(cluster) ?? Effect.void
    })
    return Effect.ensuring(told, end(left))
  }).pipe(Effect.uninterruptible)

/** A cluster of the same name is replaced without a gap, in which sessions would take it for gone. */
const join = (fleet: FleetState, cluster: WorkloadCluster): Effect.Effect<void> =>
  Effect.gen(function* () {
    const before = fleet.joined.get(cluster.name)
    if (before !== undefined) closeInbox(fleet.credentials, namesOf(fleet, before.connection.cluster))
    yield* connect(fleet, cluster).pipe(Effect.ensuring(before === undefined ? Effect.void : end(before)))
    yield* lookAgain(fleet, cluster)
  }).pipe(Effect.uninterruptible)

const reauthenticate = (fleet: FleetState, member: MemberConfiguration): Effect.Effect<void> =>
  Effect.suspend(() => {
    const connection = fleet.joined.get(member.name)?.connection
    if (connection === undefined) return Effect.void
    connection.cluster = { ...connection.cluster, member }
    return lookAgain(fleet, connection.cluster)
  })

const reportOf = ({ joined }: FleetState, cluster: ClusterName): ClusterReport | undefined => {
  const connection = joined.get(cluster)?.connection
  const server = connection?.cluster.member?.server
  if (connection === undefined || server === undefined || connection.state._tag === "Connecting") return undefined
  const { state, stateSince: since } = connection
  const unreadable = isReadable(connection) ? {} : { unreadableSince: connection.unreadableSince ?? since }
  return { server, state, since, isUsable: usable(connection) !== undefined, ...unreadable }
}

/** Begins the events when the caller has the fleet, because listeners use the fleet. */
const announce = (fleet: FleetState): Effect.Effect<void> =>
  Effect.andThen(Effect.yieldNow, () =>
    Effect.sync(() => {
      fleet.isAnnounced = true
      for (const cluster of fleet.clusters.values()) fleet.options.events.joined(cluster)
    })
  )

const awaitChecked = ({ joined }: FleetState): Effect.Effect<void> =>
  Effect.suspend(() =>
    Effect.forEach([...joined.values()], ({ connection }) => connection.isKnown.await, {
      discard: true,
      concurrency: "unbounded"
    })
  )

/**
 * Keeps a connection to every workload cluster: engages each cluster as soon as its credentials are there, and again
 * when they change, and checks the health of its operator regularly.
 */
export const makeFleet = Effect.fnUntraced(function* (
  options: FleetOptions
): Effect.fn.Return<ChangingFleet, never, ClusterConnector | Scope.Scope> {
  const connector = yield* ClusterConnector
  const scope = yield* Effect.scope
  const { namespace, sha256Hex } = options
  const fleet: FleetState = {
    options,
    connector,
    makeCredentials: yield* CredentialMaker,
    scope,
    credentials: makeCredentialWatch({ api: connector.own.api, namespace, scope }),
    places: Semaphore.makeUnsafe(maxConnecting),
    renewalTurn: yield* makeRenewalTurns,
    judgeIdentity: makeIdentityPins({ api: connector.own.api, namespace, sha256Hex }),
    joined: new Map(),
    clusters: new Map(),
    refused: new Map(),
    events: {
      childChanged: (cluster, child) => {
        if (fleet.isAnnounced) options.events.childChanged(cluster, child)
      },
      reachChanged: (cluster) => {
        if (fleet.isAnnounced) options.events.reachChanged(cluster)
      },
      happened: (cluster, event) => {
        if (fleet.isAnnounced) options.events.happened(cluster, event)
      }
    },
    isAnnounced: false
  }
  for (const cluster of workloadClusters(options.configuration)) yield* connect(fleet, cluster)
  if (fleet.credentials.inboxes.size > 0) yield* watchSecrets(fleet.credentials)
  if (options.reports !== undefined) yield* followReports(options.reports, fleet.joined)
  yield* Effect.forkScoped(announce(fleet))
  return {
    clusters: fleet.clusters,
    checked: awaitChecked(fleet),
    join: (cluster) => join(fleet, cluster),
    leave: (cluster) => leave(fleet, cluster),
    reauthenticate: (member) => reauthenticate(fleet, member),
    reportOf: (cluster) => reportOf(fleet, cluster)
  }
})
