/**
 * The workload clusters of a primary: which there are, and which credentials each has now. Each cluster has one
 * connection (cluster-connection.ts), which checks its health; clusters join and leave at any time.
 */

import { Effect, Exit, Queue, Scope } from "effect"
import { credentialsLabel } from "../../domain/credentials/cluster-auth.ts"
import {
  type ClusterName,
  credentialsSecretName,
  refreshedSecretName,
  type Sha256Hex
} from "../../domain/fleet/cluster-name.ts"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import {
  type ClusterState,
  type ConnectedOperator,
  defaultCheckOptions,
  lastCheckOf,
  type LastCheck
} from "../../domain/fleet/health.ts"
import { workloadClusters, type WorkloadCluster } from "../../domain/fleet/roles.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import type { ClusterReach } from "../../domain/session/observed-session.ts"
import { type ClusterAccess, ClusterConnector } from "../../ports/cluster-connector.ts"
import type { KubeObject } from "../../ports/kube-api.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"
import {
  type ClusterConnection,
  type ConnectionEvents,
  disengage,
  engage,
  isReadable,
  makeConnection
} from "./cluster-connection.ts"
import { followCredentials } from "./follow-credentials.ts"

/** One workload cluster of the fleet, as its users see it. */
export interface FleetCluster {
  readonly name: ClusterName
  readonly isDefault: boolean
  /** Missing while the cluster is not engaged, because its credentials are absent or unusable. */
  readonly access: () => ClusterAccess | undefined
  /** The cluster's `MirrordClusterSession`s; missing while it is not engaged. */
  readonly children: () => Reflector | undefined
  /** Since when the children cannot be read, epoch ms, if so. */
  readonly unreadableSince: () => number | undefined
  readonly health: () => LastCheck | undefined
  readonly reach: () => ClusterReach
}

export interface Fleet {
  /** The clusters that are in the fleet now. */
  readonly clusters: ReadonlyMap<ClusterName, FleetCluster>
  /** Completes when the health of each cluster is known. */
  readonly checked: Effect.Effect<void>
}

/** The fleet for the code that decides which clusters belong to it. */
export interface ChangingFleet extends Fleet {
  /** Connects to a cluster that is not in the fleet yet. A cluster of the same name leaves first. */
  readonly join: (cluster: WorkloadCluster) => Effect.Effect<void>
  /** Ends the connection; nothing happens for a cluster that is not in the fleet. */
  readonly leave: (cluster: ClusterName) => Effect.Effect<void>
}

/** Events for the users of the fleet; the first comes after {@link makeFleet} has returned. */
export interface FleetEvents extends ConnectionEvents {
  /** A cluster is in the fleet now. The first event of the cluster. */
  readonly joined: (cluster: FleetCluster) => void
  /** A cluster is not in the fleet any more. The last event of the cluster. */
  readonly left: (cluster: ClusterName) => void
}

export interface FleetOptions {
  readonly configuration: FleetConfiguration
  /** Namespace of this operator: the Secrets with credentials are there. */
  readonly namespace: string
  readonly sha256Hex: Sha256Hex
  /** How this operator describes itself. */
  readonly ownHealth: ConnectedOperator
  readonly events: FleetEvents
}

/** A cluster's connection, and the scope that ends when the cluster leaves. */
interface Joined {
  readonly connection: ClusterConnection
  readonly scope: Scope.Closeable
}

interface FleetState {
  readonly options: FleetOptions
  readonly connector: ClusterConnector["Service"]
  /** Ends with the fleet. */
  readonly scope: Scope.Scope
  readonly joined: Map<ClusterName, Joined>
  readonly clusters: Map<ClusterName, FleetCluster>
  /** The inboxes for changes of Secrets, by name of the Secret. */
  readonly inboxes: Map<string, Queue.Queue<void>>
  /** The events that connections are given; they are dropped until {@link announce}. */
  readonly events: ConnectionEvents
  /** The Secrets with credentials; missing until the first cluster needs one. */
  credentials: Reflector | undefined
  isAnnounced: boolean
}

const reachOf = (state: ClusterState): ClusterReach => {
  if (state._tag !== "Lost") return { reachable: true, error: undefined }
  const { reason } = state
  return {
    reachable: false,
    error: reason.message,
    ...(reason._tag === "NotEngaged" ? {} : { askedAt: reason.lastCheck.askedAt })
  }
}

const toFleetCluster = (connection: ClusterConnection): FleetCluster => ({
  name: connection.cluster.name,
  isDefault: connection.cluster.isDefault,
  access: () => connection.engagement?.access,
  children: () => connection.engagement?.children,
  unreadableSince: () => (isReadable(connection) ? undefined : connection.unreadableSince),
  health: () => lastCheckOf(connection.state),
  reach: () => reachOf(connection.state)
})

/** The Secrets with a member's credentials: the user's, and the operator's own. */
interface MemberSecrets {
  readonly secret: string
  readonly refreshed: string
}

/** Missing if no Secret is read. */
const secretsOf = ({ options }: FleetState, { member }: WorkloadCluster): MemberSecrets | undefined =>
  member === undefined || member.problems.length > 0
    ? undefined
    : {
        secret: credentialsSecretName(member.name, options.sha256Hex),
        refreshed: refreshedSecretName(member.name, options.sha256Hex)
      }

/** A member's place in the spread of renewals: any, but the same after a restart. */
const shareOf = (name: ClusterName, sha256Hex: Sha256Hex): number =>
  Number.parseInt(sha256Hex(name).slice(0, 8), 16) / 2 ** 32

/** Starts engaging a cluster: our own at once, a member whenever it has credentials. */
const startConnection = (fleet: FleetState, connection: ClusterConnection): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { cluster } = connection
    const { member } = cluster
    if (member === undefined) return yield* engage(connection, Effect.succeed(fleet.connector.own))
    const names = secretsOf(fleet, cluster)
    if (names === undefined) return yield* disengage(connection, member.problems.join(" "))
    const { connector, options } = fleet
    const { namespace, sha256Hex } = options
    const changes = yield* Queue.sliding<void>(1)
    for (const name of [names.secret, names.refreshed]) fleet.inboxes.set(name, changes)
    const secretOf = (name: string): KubeObject | undefined => fleet.credentials?.get(name, namespace)
    const share = shareOf(member.name, sha256Hex)
    yield* Effect.forkScoped(
      followCredentials({ connection, connector, member, namespace, ...names, secretOf, changes, share })
    )
  })

const connect = (fleet: FleetState, cluster: WorkloadCluster): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { events, options } = fleet
    const scope = yield* Scope.fork(fleet.scope)
    const connection = yield* makeConnection({
      cluster,
      ownHealth: options.ownHealth,
      events,
      options: defaultCheckOptions
    }).pipe(Scope.provide(scope))
    const view = toFleetCluster(connection)
    fleet.clusters.set(cluster.name, view)
    fleet.joined.set(cluster.name, { connection, scope })
    if (fleet.isAnnounced) options.events.joined(view)
    yield* startConnection(fleet, connection).pipe(Scope.provide(scope))
  })

/** Tells each cluster of the changes of its Secrets. */
const watchCredentials = (fleet: FleetState): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { connector, inboxes, options } = fleet
    const { namespace } = options
    const reflector = yield* makeReflector(
      connector.own.api,
      secrets,
      ({ metadata }) => {
        const inbox = inboxes.get(metadata.name)
        if (inbox !== undefined) Queue.offerUnsafe(inbox, undefined)
      },
      { namespace, labelSelector: `${credentialsLabel}=true` }
    )
    fleet.credentials = reflector
    // Tells clusters whose Secret is missing from the first list.
    const tellMissing = Effect.sync(() => {
      for (const [name, inbox] of inboxes) {
        if (reflector.get(name, namespace) === undefined) Queue.offerUnsafe(inbox, undefined)
      }
    })
    yield* Effect.forkScoped(Effect.andThen(reflector.awaitSynced, () => tellMissing))
  }).pipe(Scope.provide(fleet.scope))

/** Brings its Secret to a cluster that has joined a running fleet: the watch may have delivered it long ago. */
const bringCredentials = (fleet: FleetState, secretName: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (fleet.credentials === undefined) return watchCredentials(fleet)
    const inbox = fleet.inboxes.get(secretName)
    if (inbox !== undefined && fleet.credentials.synced()) Queue.offerUnsafe(inbox, undefined)
    return Effect.void
  })

const leave = (fleet: FleetState, cluster: ClusterName): Effect.Effect<void> =>
  Effect.suspend(() => {
    const left = fleet.joined.get(cluster)
    if (left === undefined) return Effect.void
    fleet.joined.delete(cluster)
    fleet.clusters.delete(cluster)
    for (const name of Object.values(secretsOf(fleet, left.connection.cluster) ?? {})) fleet.inboxes.delete(name)
    // Opened so that nobody waits for a check that is never made.
    left.connection.isKnown.openUnsafe()
    return Effect.andThen(Scope.close(left.scope, Exit.void), () =>
      Effect.sync(() => {
        if (fleet.isAnnounced) fleet.options.events.left(cluster)
      })
    )
  }).pipe(Effect.uninterruptible)

const join = (fleet: FleetState, cluster: WorkloadCluster): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* leave(fleet, cluster.name)
    yield* connect(fleet, cluster)
    const names = secretsOf(fleet, cluster)
    if (names !== undefined) yield* bringCredentials(fleet, names.secret)
  })

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
export const makeFleet = (options: FleetOptions): Effect.Effect<ChangingFleet, never, ClusterConnector | Scope.Scope> =>
  Effect.gen(function* () {
    const fleet: FleetState = {
      options,
      connector: yield* ClusterConnector,
      scope: yield* Effect.scope,
      joined: new Map(),
      clusters: new Map(),
      inboxes: new Map(),
      events: {
        childChanged: (cluster, child) => {
          if (fleet.isAnnounced) options.events.childChanged(cluster, child)
        },
        reachChanged: (cluster) => {
          if (fleet.isAnnounced) options.events.reachChanged(cluster)
        }
      },
      credentials: undefined,
      isAnnounced: false
    }
    for (const cluster of workloadClusters(options.configuration)) yield* connect(fleet, cluster)
    if (fleet.inboxes.size > 0) yield* watchCredentials(fleet)
    yield* Effect.forkScoped(announce(fleet))
    return {
      clusters: fleet.clusters,
      checked: awaitChecked(fleet),
      join: (cluster) => join(fleet, cluster),
      leave: (cluster) => leave(fleet, cluster)
    }
  })
