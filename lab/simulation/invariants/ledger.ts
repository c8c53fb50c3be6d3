/**
 * The bookkeeping of a whole story: every object, agent, connection, watch, timer and debt that was created anywhere is
 * gone when all clients have left. Only what a cluster with an uninstalled operator owes may stay, and then the
 * primary's ledger of debts, or a parent that waits for it, must say so. The debts themselves are read in `debts.ts`.
 */

import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { watchedOrders } from "../../../src/domain/branches/watched-branches.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { jobs, leases, pods, secrets } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { parentNameOf } from "../../../src/domain/sessions/child-owner.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { type OperatorReplica, operatorNamespace } from "../world/operator-replica.ts"
import { branchSettings } from "../world/source-databases.ts"
import type { SimCluster, World } from "../world/world.ts"
import { debtsOf, isAway, isOutOfReach } from "./debts.ts"
import type { Invariant } from "./invariant.ts"
import { isSharded, ownedClusters } from "./shards.ts"

/** An operator that has made copies looks for leftovers of others now and then, for as long as it lives. */
const leftovers = "keys of CopyTargetLeftovers"

/** The members that dial out have tunnels with sessions and without (T8). */
const tunnels = ["tunnels of members", "tunnels dialled"]

/** The end of credentials that others renew is told again and again, each time that they are new. */
const events = "Events to be written"

const names = (objects: ReadonlyArray<KubeObject>): string => objects.map(({ metadata }) => metadata.name).join(", ")

/**
 * Children that should be gone: they are not owed, and an operator could still delete them. `isMeddled`: a person
 * changed a parent, or a list was stale, so that only the member can end some child.
 */
const children = (world: World, { host, server }: SimCluster, isMeddled: boolean): ReadonlyArray<KubeObject> => {
  const debts = debtsOf(world)
  return server.objects.peekAll(mirrordClusterSessions).filter((child) => {
    if (debts.has(child.metadata.name)) return false
    // Neither the member nor the primary can delete the child: the member is gone, and the primary is gone too or keeps
    // the parent as its debt.
    const parent = parentNameOf(child)
    const isKept =
      parent !== undefined && world.primary.server.objects.peek(mirrordMultiClusterSessions, parent) !== undefined
    // A session of one cluster has no operator but its own.
    const isAlone = parent === undefined
    return !(host.isGone && (world.primary.host.isGone || isKept || isMeddled || isAlone))
  })
}

/** Resources of the primary that a replica also watches as the owner of members. */
const ofShards: ReadonlySet<string> = new Set([leases.plural, secrets.plural])

const ofCluster = (
  world: World,
  cluster: SimCluster,
  watches: ReadonlySet<string>,
  isMeddled: boolean
): ReadonlyArray<string> => {
  const { host, kubelet, name, server } = cluster
  const { objects } = server
  const parents = host.isGone ? [] : objects.peekAll(mirrordMultiClusterSessions)
  const left = children(world, cluster, isMeddled)
  const made = objects.peekAll(jobs).filter(({ metadata }) => metadata.namespace === operatorNamespace)
  const agentPods = objects
    .peekAll(pods)
    .filter(
      ({ metadata }) => metadata.namespace === operatorNamespace && metadata.labels?.["app"] !== "mirrord-operator"
    )
  const { agents } = kubelet
  const subscribed = agents.flatMap(({ agent, name: agentName }) =>
    [...agent.subscribedPorts].map((port) => `${agentName}:${port}`)
  )
  const traffic = agents.reduce((sum, { agent }) => sum + agent.openTraffic, 0)
  return [
    ...(parents.length > 0 ? [`parents in ${name}: ${names(parents)}`] : []),
    ...(left.length > 0 ? [`children in ${name}: ${names(left)}`] : []),
    ...(made.length > 0 ? [`Jobs of agents in ${name}: ${names(made)}`] : []),
    ...(agentPods.length > 0 ? [`pods of agents in ${name}: ${names(agentPods)}`] : []),
    ...(agents.length > 0 ? [`running agents in ${name}: ${agents.map((agent) => agent.name).join(", ")}`] : []),
    ...(subscribed.length > 0 ? [`subscriptions in ${name}: ${subscribed.join(", ")}`] : []),
    ...(traffic > 0 ? [`stolen requests in ${name}: ${traffic}`] : []),
    ...(objects.openWatches > watches.size
      ? [`watches in ${name}: ${objects.openWatches}, of which operators need ${watches.size}`]
      : [])
  ].map((text) => `Left over: ${text}.`)
}

/**
 * The fibers of a process that never end: the primary pays debts and looks after each cluster; a cluster that is away
 * is also listed again and again, and the token of a member is renewed.
 */
const sleepersOfPrimary = (world: World): number => {
  const { clusters, plan } = world
  const planned = [...clusters.values()].filter(({ tokens }) => tokens.isPlanned)
  const away = [...clusters.keys()].filter((cluster) => isAway(world, cluster))
  // A primary looks for clusters with copies of branches, for each kind of these.
  const orders = plan.branches ? watchedOrders(branchSettings, sha256Hex) : []
  return 1 + plan.clusters.length + planned.length + away.length + orders.length
}

/** The same for tunnels: a cell looks at them and at its authority, and an outpost at its own. */
const sleepersOfTunnels = ({ outbound, plan, primary }: World, name: string): number => {
  if (outbound === undefined) return 0
  if (name === plan.primary) return 2
  if (!outbound.members.includes(name)) return 0
  // A token is tried again until the primary says that it has ended.
  return primary.host.isGone ? 2 : 1
}

/** How many fibers a replica needs that sleep. */
const neededSleepers = (
  world: World,
  { host, name }: SimCluster,
  { holdings, holdsLease }: OperatorReplica
): number => {
  const isPrimary = [world.plan.primary, world.plan.secondPrimary].includes(name)
  const asLeader = isPrimary ? sleepersOfPrimary(world) : 0
  // A leader renews its Lease and looks after its label; a standby only looks at the Lease.
  const ofElected = holdsLease ? 2 + asLeader : 1
  // A primary reads files with kubeconfigs again and again, whether it leads or not.
  const asReader = name === world.primary.name ? world.authors.filesRead : 0
  // An owner renews the Lease of each member and its own, checks each member and renews its token, and looks at all
  // Leases; a leader looks for members without an owner.
  const isOwner = isSharded(world) && name === world.primary.name
  const asOwner = isOwner ? 3 + 3 * (holdings.get(ownedClusters) ?? 0) : 0
  const ofTunnels = holdsLease || !host.isElected ? sleepersOfTunnels(world, name) : 0
  return (host.isElected ? ofElected : asLeader) + ofTunnels + (holdings.get(leftovers) ?? 0) + asReader + asOwner
}

/**
 * Memory that living operators hold although their cluster has no session and no branch any more. `sleepers`: the
 * fewest fibers of each process that slept at a time, since some fibers sleep only for a moment.
 */
const inMemory = (world: World, sleepers: ReadonlyMap<string, number>): ReadonlyArray<string> =>
  [...world.clusters.values()].flatMap((cluster) => {
    const hasSessions = [mirrordClusterSessions, mirrordMultiClusterSessions, branchDatabases].some(
      (kind) => cluster.server.objects.peekAll(kind).length > 0
    )
    const expected = [leftovers, ownedClusters, ...tunnels, ...(world.authors.areEndsTold ? [events] : [])]
    return (hasSessions ? [] : cluster.host.replicas).flatMap((replica) => {
      if (replica.process === undefined) return []
      const { name } = replica.process
      const held = [...replica.holdings].flatMap(([kind, count]) =>
        expected.includes(kind) ? [] : [`${kind}: ${count}`]
      )
      const [needed, sleeping] = [neededSleepers(world, cluster, replica), sleepers.get(name) ?? 0]
      return [
        ...(held.length > 0 ? [`Left over: in the memory of ${name}: ${held.join(", ")}.`] : []),
        ...(sleeping > needed ? [`Left over: timers of ${name}: ${sleeping}, of which it needs ${needed}.`] : [])
      ]
    })
  })

export const ledger: Invariant = {
  id: "ledger",
  sentence: "When all clients have left, nothing is left, or an operator owes it and says so.",
  begin: (world) => {
    /** The watches of each living operator process in each cluster: `<process> <resource> <selection>`. */
    const watched = new Map<string, Set<string>>()
    let isMeddled = false
    /** Fewest sleeping fibers by operator process, counted since the world was well; undefined before. */
    let minSleepers: Map<string, number> | undefined
    const countSleepers = (): void => {
      for (const {
        host: { processes }
      } of world().clusters.values()) {
        for (const process of processes)
          minSleepers?.set(process.name, Math.min(process.sleeping, minSleepers.get(process.name) ?? Infinity))
      }
    }
    const forget = (process: string): void => {
      for (const set of watched.values()) for (const key of set) if (key.startsWith(`${process} `)) set.delete(key)
    }
    return {
      each: () => (minSleepers === undefined ? undefined : countSleepers()),
      on: {
        Fault: ({ kind, text }) => {
          isMeddled ||=
            kind === "stale lists" || /^somebody does kubectl (\S+ to parent|drop-annotations to child)/.test(text)
        },
        Operator: ({ change, process }) => {
          if (change === "crashed" || change === "ended") forget(process)
        },
        Called: ({ call: { body, operator, resource, to, verb }, process }) => {
          if (verb !== "watch") return
          const set = watched.get(to) ?? new Set()
          watched.set(to, set.add(`${process} ${resource} ${JSON.stringify(body ?? {})}`))
          const { clusters, primary } = world().plan
          if (operator !== to || to !== primary) return
          // The cell reads the same Secrets as the fleet.
          if (world().outbound !== undefined && resource === secrets.plural) set.add(`${process} ${resource} as a cell`)
          // A primary that is a workload cluster too has two readers of its own children.
          const isBoth = clusters.some(({ name }) => name === to)
          if (isBoth && resource === mirrordClusterSessions.plural) set.add(`${process} ${resource} as a member`)
          if (isSharded(world()) && ofShards.has(resource)) set.add(`${process} ${resource} as an owner`)
        }
      },
      atRest: (moment) => {
        if (moment === "healed") minSleepers = new Map()
        if (moment !== "left") return []
        const theWorld = world()
        const connections = theWorld.network.connections.flatMap(({ places, what }) =>
          what.startsWith("tunnel ") ? [] : [`${what} (${places.join(" to ")})`]
        )
        return [
          ...[...theWorld.clusters.values()].flatMap((cluster) =>
            ofCluster(theWorld, cluster, watched.get(cluster.name) ?? new Set(), isMeddled)
          ),
          ...inMemory(theWorld, minSleepers ?? new Map()),
          ...(connections.length > 0 ? [`Left over: connections: ${connections.join(", ")}.`] : []),
          ...[...debtsOf(theWorld)].flatMap(([child, cluster]) =>
            isOutOfReach(theWorld, cluster) || theWorld.primary.host.isGone
              ? []
              : [`Left over: a debt of ${child} in ${cluster}, which is there.`]
          )
        ]
      }
    }
  }
}
