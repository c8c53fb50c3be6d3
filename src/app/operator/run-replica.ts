/**
 * One replica of the operator: stands by or leads, and runs an operator while it leads. The election is in leadership,
 * the operator in operator.ts.
 */

import { Clock, Effect, type Scope } from "effect"
import type { OperatorPod } from "../../domain/leadership/identity.ts"
import type { LeaseTimes } from "../../domain/leadership/lease-times.ts"
import { Agents } from "../../ports/agents.ts"
import { ClusterConnector } from "../../ports/cluster-connector.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { type ConnectOutbound, OutboundConnector, PersonalLanes } from "../../ports/outbound-connector.ts"
import type { Facade } from "../api/facade-gate.ts"
import type { ConfigurationSource } from "../fleet/configuration-source.ts"
import type { ClusterOwners } from "../fleet/reported-clusters.ts"
import { clusterOwners, runShard } from "../fleet/sharding/shard.ts"
import { CurrentSettings } from "../kernel/setting-values.ts"
import { steadyClock } from "../kernel/steady-clock.ts"
import type { Term } from "../kernel/term.ts"
import type { ElectedFacade } from "../leadership/elected-facade.ts"
import { electLeader, leaseName } from "../leadership/elector.ts"
import { dropLeaderLabel, keepLeaderLabel } from "../leadership/leader-label.ts"
import { queuesWhileLeading } from "../leadership/queues-while-leading.ts"
import { usageWhileLeading } from "../leadership/usage-while-leading.ts"
import {
  agentsWhileLeading,
  apiWhileLeading,
  connectorWhileLeading,
  facadeWhileLeading,
  outboundWhileLeading
} from "../leadership/while-leading.ts"
import type { OutboundMembers } from "../outbound/outbound-members.ts"
import type { SplittingOptions } from "../queues/queue-splitting.ts"
import { watchPumpOrders } from "../queues/sharding/pump-orders.ts"
import { pumpQueues } from "../queues/sharding/pump-queues.ts"
import { makeSharedForwarders } from "../queues/sharding/shared-forwarders.ts"
import { watchLeases } from "../sharding/seen-leases.ts"
import { bePresent, type Sharer } from "../sharding/share.ts"
import { makeOperator, type OperatorOptions } from "./operator.ts"
import { untilStarted } from "./starting.ts"

/** How this replica takes part in the election. */
export interface Candidacy {
  readonly pod: OperatorPod
  readonly times: LeaseTimes
}

export interface ReplicaOptions {
  readonly operator: OperatorOptions
  readonly connector: ClusterConnector["Service"]
  /** The agents of this cluster, made through `api`. */
  readonly agents: (api: KubeApi) => Agents["Service"]
  /** Without a candidacy, as outside of a cluster, this process is the operator, and no other process may be. */
  readonly candidacy: Candidacy | undefined
  readonly elected: ElectedFacade
  /** Takes the tunnels of members that dial out, while this replica leads. `api`: of the own cluster. */
  readonly serveOutbound?: ((api: KubeApi) => Effect.Effect<OutboundMembers, never, Scope.Scope>) | undefined
  /** Keeps a tunnel to the primary, while this replica leads. `api`: of the own cluster. */
  readonly dialOut?: ((api: KubeApi) => Effect.Effect<never, never, Scope.Scope>) | undefined
  /** This replica's share where the replicas share the clusters of a fleet; more than 0. */
  readonly weight: number
}

/** Starts an operator in a given world: a leader's, or one without any bounds. `bounded`: keeps a connect within it. */
const startOperator = Effect.fnUntraced(function* (
  { dialOut, operator, serveOutbound }: ReplicaOptions,
  connector: ClusterConnector["Service"],
  agents: Agents["Service"],
  bounded: (connect: ConnectOutbound) => ConnectOutbound = (connect) => connect
): Effect.fn.Return<Facade, never, Scope.Scope> {
  const { api } = connector.own
  const members =
    serveOutbound === undefined
      ? { connect: yield* OutboundConnector, openPersonalLane: yield* PersonalLanes }
      : yield* serveOutbound(api)
  const outbound = serveOutbound === undefined ? members.connect : bounded(members.connect)
  if (dialOut !== undefined) yield* Effect.forkScoped(dialOut(api))
  return yield* untilStarted(
    makeOperator(operator).pipe(
      Effect.provideService(ClusterConnector, connector),
      Effect.provideService(OutboundConnector, outbound),
      Effect.provideService(PersonalLanes, members.openPersonalLane),
      Effect.provideService(Agents, agents)
    )
  )
})

/** Runs the operator from the start of this process to its end. */
const runAlone = (options: ReplicaOptions): Effect.Effect<never, never, Scope.Scope> => {
  const { agents, connector, elected } = options
  return startOperator(options, connector, agents(connector.own.api)).pipe(
    Effect.flatMap(elected.serve),
    Effect.andThen(Effect.never)
  )
}

/** Runs an operator for one term, in a world that checks at each write whether the term lasts. */
const runForTerm = (
  options: ReplicaOptions,
  { pod }: Candidacy,
  term: Term
): Effect.Effect<never, never, Scope.Scope> => {
  const { agents, connector, elected, operator } = options
  const connected = connectorWhileLeading(term, connector)
  const { splitting, usage } = operator
  const led = {
    splitting: splitting && { ...splitting, queues: queuesWhileLeading(term, splitting.queues) },
    usage: usage && { ...usage, open: usageWhileLeading(term, usage.open) }
  }
  return startOperator(
    { ...options, operator: { ...operator, ...led } },
    connected,
    agentsWhileLeading(term, agents(connected.own.api)),
    (connect) => outboundWhileLeading(term, connect)
  ).pipe(
    Effect.flatMap((facade) => elected.serve(facadeWhileLeading(term, facade))),
    Effect.andThen(
      keepLeaderLabel({ api: apiWhileLeading(term, connector.own.api), namespace: operator.namespace, pod })
    )
  )
}

/** Takes part among the replicas that share what one of them is not enough for. */
const startSharing = Effect.fnUntraced(function* (
  { connector, operator: { namespace }, weight }: ReplicaOptions,
  { pod }: Candidacy
): Effect.fn.Return<Sharer, never, Scope.Scope> {
  const at = { api: connector.own.api, namespace, pod }
  return { ...at, seen: yield* watchLeases(at), presentSince: yield* bePresent(at, weight) }
})

/** The owners of what the replicas share: of clusters, and of queues. */
interface Shares {
  readonly owners: ClusterOwners | undefined
  readonly sharedForwarders: SplittingOptions["sharedForwarders"]
}

/** Shares the clusters of the fleet with the other replicas. */
const shareClusters = (
  { connector }: ReplicaOptions,
  sharer: Sharer,
  configuration: ConfigurationSource
): Effect.Effect<ClusterOwners, never, Scope.Scope> =>
  runShard(sharer, configuration).pipe(
    Effect.provideService(ClusterConnector, connector),
    Effect.forkScoped,
    Effect.as(clusterOwners(sharer.seen))
  )

/** Shares the queues that are split with the other replicas. */
const shareQueues = Effect.fnUntraced(function* (
  sharer: Sharer,
  splitting: SplittingOptions
): Effect.fn.Return<Shares["sharedForwarders"], never, Scope.Scope> {
  const { api: own, namespace, seen } = sharer
  const orders = yield* watchPumpOrders(own, namespace)
  yield* Effect.forkScoped(pumpQueues(sharer, splitting, orders))
  return (api, changed) => makeSharedForwarders({ api, namespace, orders, seen }, changed)
})

/** Takes part in what the replicas share. */
const share = Effect.fnUntraced(function* (
  options: ReplicaOptions,
  candidacy: Candidacy
): Effect.fn.Return<Shares, never, Scope.Scope> {
  const { sharding, sharesQueues } = yield* CurrentSettings
  const { configuration, splitting } = options.operator
  const [clusters, queues] = [sharding ? configuration : undefined, sharesQueues ? splitting : undefined]
  if (clusters === undefined && queues === undefined) return { owners: undefined, sharedForwarders: undefined }
  const sharer = yield* startSharing(options, candidacy)
  return {
    owners: clusters && (yield* shareClusters(options, sharer, clusters)),
    sharedForwarders: queues && (yield* shareQueues(sharer, queues))
  }
})

/** Runs an operator whenever this replica is the leader. */
export const runReplica = (options: ReplicaOptions): Effect.Effect<never, never, Scope.Scope> => {
  const { candidacy, connector, operator } = options
  if (candidacy === undefined) return runAlone(options)
  const { pod, times } = candidacy
  const at = { api: connector.own.api, namespace: operator.namespace, pod }
  return Effect.gen(function* () {
    // As for sessions: no change of the host's clock may lose what this replica owns.
    const steady = steadyClock(yield* Clock.Clock)
    const { owners, sharedForwarders } = yield* Effect.provideService(share(options, candidacy), Clock.Clock, steady)
    const splitting = operator.splitting && { ...operator.splitting, sharedForwarders }
    const sharing = { ...options, operator: { ...operator, owners, splitting } }
    return yield* electLeader({ ...at, lease: leaseName, times, resign: dropLeaderLabel(at) }, (term) =>
      runForTerm(sharing, candidacy, term)
    )
  })
}
