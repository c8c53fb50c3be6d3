/**
 * Sessions over many clusters, as a capability of an operator that has a fleet: the fleet, the session manager, the
 * connections, and what users see of them. Without a fleet it contributes nothing.
 */

import { Clock, Context, Effect, Layer, type Scope } from "effect"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import type { FleetConfiguration } from "../../../domain/fleet/configuration.ts"
import { sessionSamples } from "../../../domain/metrics/session-samples.ts"
import { mirrordClusters } from "../../../domain/resources/mirrord-cluster.ts"
import {
  mirrordMultiClusterSessions,
  type MirrordMultiClusterSession
} from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { parentsTold } from "../../../domain/sessions/child-owner.ts"
import { parentName } from "../../../domain/sessions/names.ts"
import { isOfCi, multiClusterSessionInfo, parentInfo } from "../../../domain/sessions/session-info.ts"
import type { ProtectedNamespaces } from "../../../domain/targets/protected-namespaces.ts"
import { seenParent } from "../../../domain/usage/seen-session.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { type ApiError, badRequest } from "../../api/status.ts"
import { unlessProtected } from "../../api/unless-protected.ts"
import { clusterSamples } from "../../fleet/cluster-samples.ts"
import type { ConfigurationSource } from "../../fleet/configuration-source.ts"
import { type Fleet, makeFleet } from "../../fleet/fleet.ts"
import { followConfiguration } from "../../fleet/follow-configuration.ts"
import { type ClusterOwners, ReportedClusters } from "../../fleet/reported-clusters.ts"
import { auditedParent } from "../../kernel/audit.ts"
import { type Change, Changes } from "../../kernel/change-feed.ts"
import { clusterUid } from "../../kernel/cluster-uid.ts"
import { Events } from "../../kernel/event-recorder.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { makeLedgerCache } from "../../kernel/ledger.ts"
import { logWarning } from "../../kernel/log.ts"
import { measure } from "../../kernel/metrics.ts"
import { CurrentPeopleCounts } from "../../kernel/people-counts.ts"
import { retryingApi } from "../../kernel/retrying-api.ts"
import { CurrentSettings } from "../../kernel/setting-values.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import { cachedLedger, makeStoppedLedger, type StoppedLedger } from "../../kernel/stopped-ledger.ts"
import { makeSessionLockTable, type SessionLockTable } from "../../relay/session-locks.ts"
import { type Capability, type ConnectAttempt, withCapability } from "../../services/capability.ts"
import { FleetView, noFleet, type ReachedCluster } from "../../services/fleet-view.ts"
import { OwnCluster } from "../../services/own-cluster.ts"
import { SessionLimits } from "../../services/session-limits.ts"
import { type ServedSession, type ServedSessions, Sessions } from "../../services/sessions.ts"
import { Targets } from "../../services/targets.ts"
import { SessionServices } from "../session-services.ts"
import { makeSocketRegistry, type SocketRegistry } from "../socket-registry.ts"
import { type DebtLedger, makeDebtLedger } from "./debt-ledger.ts"
import { connectedClusters, fleetConditions, fleetObjects, fleetReadiness } from "./fleet-status.ts"
import { makeSessionManager, type SessionManager } from "./multi-cluster-session-manager.ts"
import { makePrimarySessions } from "./primary-sessions.ts"
import { sessionsOfMembers } from "./sessions-of-members.ts"
import { targetsOfDefault } from "./targets-of-default.ts"

/** The parts of the operator that only a primary needs. The operator provides them. */
export class PrimaryServices extends Context.Service<
  PrimaryServices,
  {
    /** This operator's version as clients see it; the operator is a member of its own fleet. */
    readonly operatorVersion: string
    /** Fingerprint of the authority for users' certificates. */
    readonly fingerprint: string
    /** Where the fleet's configuration changes while the operator runs; without it never. */
    readonly configuration: ConfigurationSource | undefined
    /** The owners of the clusters, which report on them, if clusters are shared among replicas. */
    readonly owners: ClusterOwners | undefined
  }
>()("braid/app/PrimaryServices") {}

/** The parts of the capability. */
interface Primary {
  readonly configuration: FleetConfiguration
  readonly sockets: SocketRegistry
  readonly debts: DebtLedger
  readonly stopped: StoppedLedger
  readonly fleet: Fleet
  readonly manager: SessionManager
}

const makeOwnFleet = Effect.fnUntraced(function* (
  configuration: FleetConfiguration,
  reports: ReportedClusters | undefined
) {
  const { namespace } = yield* OwnCluster
  const { configuration: source, fingerprint, operatorVersion } = yield* PrimaryServices
  const [events, feed] = [yield* Events, yield* Changes]
  const ownHealth = { _tag: "Connected", operatorVersion, fingerprint, parametersInHeader: true } as const
  const clusterChanged = (cluster: ClusterName): void => feed.publish({ _tag: "ClusterChanged", cluster })
  return yield* makeFleet({
    configuration,
    namespace,
    sha256Hex,
    ownHealth,
    events: {
      joined: ({ name }) => clusterChanged(name),
      left: clusterChanged,
      leaving: feed.leave,
      childChanged: (_cluster, child) => {
        for (const session of parentsTold(child)) feed.publish({ _tag: "ParentChanged", session })
      },
      reachChanged: clusterChanged,
      happened: (cluster, event) => events.record(mirrordClusters, { metadata: { name: cluster } }, event)
    },
    kubeconfig: source?.provided?.kubeconfig,
    reports
  })
})

/** The API of a cluster that answers. A lost one may be another cluster by now, which has no child of ours. */
const reachableApi = ({ clusters }: Fleet, cluster: ClusterName): KubeApi | undefined => {
  const known = clusters.get(cluster)
  return known?.reach().reachable === true ? known.access()?.api : undefined
}

/**
 * The primary's name towards members. Without it they cannot distinguish it from others, and most accept it all the
 * same.
 */
const ownUid = (ownApi: KubeApi): Effect.Effect<string | undefined> =>
  clusterUid(ownApi).pipe(
    // Only now with retries, which draw their jitter for a namespace that is not there, too.
    Effect.catch(() => clusterUid(retryingApi(ownApi))),
    Effect.catch((error) =>
      Effect.as(logWarning("identity of this cluster is not known", { problem: error.message }), undefined)
    )
  )

const makePrimary = Effect.fnUntraced(function* (configuration: FleetConfiguration) {
  const { api: ownApi, namespace } = yield* OwnCluster
  const { ends, maxSessionSecs, notifier } = yield* SessionServices
  const { configuration: source, owners } = yield* PrimaryServices
  const [events, feed] = [yield* Events, yield* Changes]
  const reports = owners && new ReportedClusters(owners, sha256Hex, yield* Clock.Clock)
  const ledgers = yield* makeLedgerCache(ownApi, namespace, reports?.heard)
  const debts = makeDebtLedger(ownApi, namespace, ledgers)
  const stopped = makeStoppedLedger(ownApi, namespace, cachedLedger(ownApi, namespace, ledgers))
  const sockets = makeSocketRegistry((session) => feed.publish({ _tag: "ParentChanged", session }))
  yield* countHolding("sockets of sessions", sockets.size)
  const fleet = yield* makeOwnFleet(configuration, reports)
  const primaryUid = yield* ownUid(ownApi)
  yield* Effect.forkScoped(debts.keepPaying((cluster) => reachableApi(fleet, cluster)))
  const manager = yield* makeSessionManager({
    ownApi,
    fleet,
    defaultCluster: configuration.defaultCluster,
    settings: { ...configuration, maxSessionSecs, primaryUid },
    sockets,
    debts,
    stopped,
    notifier,
    ends,
    events,
    sha256Hex
  })
  if (source !== undefined) yield* followConfiguration({ fleet, made: configuration, events }, source)
  return { configuration, sockets, debts, stopped, fleet, manager } satisfies Primary
})

/** Deletes the children that a cluster still owes, as soon as it is reachable again. */
const payDebts = ({ debts, fleet }: Primary, cluster: ChangedCluster): Effect.Effect<void> => {
  const api = reachableApi(fleet, cluster)
  if (api === undefined) return Effect.void
  return debts.pay(cluster, api).pipe(Effect.catch((error) => logWarning("debts not paid", { problem: error.message })))
}
type ChangedCluster = Extract<Change, { readonly _tag: "ClusterChanged" }>["cluster"]

/** Passes a change on. Sessions are planned again before their waiters are woken. */
const hearOf =
  (
    primary: Primary,
    { notifier }: SessionServices["Service"],
    run: (act: Effect.Effect<void>) => void
  ): NonNullable<Capability["hear"]> =>
  (change) => {
    const { manager } = primary
    switch (change._tag) {
      case "ParentChanged":
        manager.enqueue(change.session)
        return notifier.notify(change.session)
      case "ClusterChanged":
        manager.enqueueAll()
        notifier.notifyAll()
        return run(payDebts(primary, change.cluster))
      case "ChildChanged":
        return undefined
    }
  }

const served =
  (locks: SessionLockTable, { isInactive }: SessionManager) =>
  (parent: MirrordMultiClusterSession): ServedSession => ({
    resource: mirrordMultiClusterSessions,
    metadata: parent.metadata,
    namespace: parent.spec.namespace,
    owner: parent.spec.owner,
    info: (now) => parentInfo(parent, locks.ports(parent.metadata.name), now),
    isOfCi: isOfCi(parent.spec),
    use: () => seenParent(parent),
    isInactive: (now) => isInactive(parent, now),
    audited: auditedParent(parent.metadata.name, parent.spec)
  })

const parentsOf = ({ parent, parents }: SessionManager): ReadonlyArray<MirrordMultiClusterSession> =>
  parents.all().flatMap(({ metadata }) => parent(metadata.name) ?? [])

const measurePrimary = Effect.fnUntraced(function* ({
  debts,
  fleet,
  manager
}: Primary): Effect.fn.Return<void, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const people = yield* CurrentPeopleCounts
  yield* measure(() => {
    const now = clock.currentTimeMillisUnsafe()
    const phases = parentsOf(manager).map(({ status }) => status?.phase ?? "Initializing")
    const clusters = [...fleet.clusters.values()]
    return [
      ...sessionSamples("multi_cluster", phases),
      { name: "braid_debts", labels: {}, value: debts.names().size },
      ...clusters.flatMap((cluster) => clusterSamples(cluster, now)),
      ...people.samples(clusters.map(({ name }) => name))
    ]
  })
})

/**
 * Refuses sessions that are known to be impossible before anything is made for them. A member other than this cluster
 * judges its targets itself.
 */
const admit =
  ({ clusterName, defaultCluster, managementOnly }: FleetConfiguration, namespaces: ProtectedNamespaces) =>
  ({ _tag, request }: ConnectAttempt): Effect.Effect<void, ApiError> => {
    if (_tag === "SingleCluster" && managementOnly) {
      const cure = "leave multi_cluster unset and target a workload by its name."
      return Effect.fail(badRequest(`This cluster only manages sessions and runs no workloads; ${cure}`))
    }
    return _tag === "MultiCluster" && defaultCluster === clusterName
      ? unlessProtected(namespaces, request, clusterName)
      : Effect.void
  }

const reachedClusters = ({ clusters }: Fleet): ReadonlyArray<ReachedCluster> =>
  [...clusters.values()].map(({ access, branchFeatures, isDefault, name, reach, seenChildren }) => ({
    name,
    isDefault,
    branchFeatures,
    sessions: seenChildren,
    api: () => access()?.api,
    lost: () => {
      const { error, reachable } = reach()
      return reachable ? undefined : (error ?? "it is lost")
    }
  }))

/** The sessions over many clusters, for lists and for users who stop them. */
const servedSessions = ({ manager, stopped }: Primary, locks: SessionLockTable): ServedSessions => ({
  all: () => parentsOf(manager).map(served(locks, manager)),
  nameOf: parentName,
  find: (name) => {
    const parent = manager.parent(name)
    return parent === undefined ? undefined : served(locks, manager)(parent)
  },
  stopped
})

/** The services that other capabilities and the operator have of the fleet and its sessions. */
const providedServices = Effect.fnUntraced(function* (primary: Primary, locks: SessionLockTable) {
  const {
    configuration: { clusterName, defaultCluster },
    fleet,
    manager
  } = primary
  const { distant, served: ofCluster } = yield* Sessions
  const targets = yield* Targets
  return Context.make(Sessions, {
    served: [...ofCluster, servedSessions(primary, locks)],
    distant: () => [...distant(), ...sessionsOfMembers(fleet, clusterName)]
  }).pipe(
    Context.add(FleetView, {
      objects: (now) => fleetObjects(fleet, clusterName, parentsOf(manager), now),
      readiness: (now) => fleetReadiness(fleet, now),
      clusters: () => reachedClusters(fleet)
    }),
    Context.add(
      Targets,
      defaultCluster === clusterName
        ? targets
        : targetsOfDefault(() => reachedClusters(fleet).find(({ isDefault }) => isDefault))
    )
  )
})

const addPrimary = Effect.fnUntraced(function* (primary: Primary) {
  const { configuration, fleet, manager, sockets, stopped } = primary
  const { api: ownApi, protectedNamespaces } = yield* OwnCluster
  const services = yield* SessionServices
  const { configuration: source } = yield* PrimaryServices
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const locks = makeSessionLockTable()
  yield* countHolding("session locks", locks.size)
  yield* measurePrimary(primary)
  const sessions = makePrimarySessions({
    ownApi,
    clusterName: configuration.clusterName,
    defaultCluster: configuration.defaultCluster,
    manager,
    fleet,
    sockets,
    locks,
    notifier: services.notifier,
    ends: services.ends,
    stopped,
    remoteSessionTimeoutSecs: configuration.remoteSessionTimeoutSecs,
    limits: (yield* SessionLimits).ask,
    interceptions: services.interceptions,
    addsSessionKey: (yield* CurrentSettings).addsSessionKey
  })
  const capability = yield* withCapability({
    features: () => ["MultiClusterPrimary"],
    problems: () => (manager.parents.synced() ? [] : ["The multi-cluster sessions have not been read yet."]),
    started: Effect.andThen(manager.parents.awaitSynced, fleet.checked),
    status: (now) => ({
      connected_clusters: connectedClusters(fleet, now),
      ...(source === undefined ? {} : { conditions: fleetConditions(source, fleet, now) }),
      multi_cluster_sessions: parentsOf(manager).map((parent) => multiClusterSessionInfo(parent, now))
    }),
    hear: hearOf(primary, services, run),
    admit: admit(configuration, protectedNamespaces),
    attach: (attempt) =>
      attempt._tag === "MultiCluster"
        ? sessions.attach(attempt.request, attempt.id, attempt.owner, attempt.params)
        : undefined
  })
  return Context.merge(capability, yield* providedServices(primary, locks))
})

/** Sessions over the fleet of this operator. Their sessions and targets come to those of this cluster. */
export const primaryLayer = Layer.effectContext(
  Effect.gen(function* () {
    const { fleet } = yield* OwnCluster
    if (fleet !== undefined) return yield* addPrimary(yield* makePrimary(fleet))
    return (yield* withCapability({})).pipe(
      Context.add(Sessions, yield* Sessions),
      Context.add(Targets, yield* Targets),
      Context.add(FleetView, noFleet)
    )
  })
)
