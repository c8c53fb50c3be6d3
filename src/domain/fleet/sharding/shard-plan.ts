/**
 * Decides which clusters a replica takes and which it gives up, from the Leases that it sees.
 *
 * Not here: the owner that a cluster is to have (rendezvous.ts), and what an owner does (app/fleet/sharding).
 */

import type { ClusterName, Sha256Hex } from "../cluster-name.ts"
import { rendezvousOwner, type ShardReplica } from "./rendezvous.ts"

/**
 * So many clusters of the fleet may be without an owner when a replica gives one up for the sake of balance. Each move
 * costs a cluster's watch and credentials a second or two, and the replica that takes it a list of its sessions.
 */
export const movesAtOnce = 10

/** A replica's view of the shards. */
export interface ObservedShards {
  /** The replica that decides: name of its pod. */
  readonly self: string
  /** The replicas that live, by their Leases. */
  readonly replicas: ReadonlyArray<ShardReplica>
  /** The members of the fleet, as configured. */
  readonly clusters: ReadonlyArray<ClusterName>
  /** By cluster: the pod that holds its Lease. A cluster that is missing here is free. */
  readonly holders: ReadonlyMap<ClusterName, string>
  /** The clusters whose Leases this process holds, or asks for. */
  readonly held: ReadonlySet<ClusterName>
  readonly sha256Hex: Sha256Hex
}

export interface ShardPlan {
  /** Clusters whose Leases are to be asked for. */
  readonly take: ReadonlyArray<ClusterName>
  /** Clusters whose Leases are to be given up. */
  readonly giveUp: ReadonlyArray<ClusterName>
}

/**
 * A free cluster is taken by the replica that is to own it, and a cluster that another replica holds is never taken. A
 * cluster that is to have another owner is given up, unless too many clusters are without one; so while the clusters of
 * a lost replica are taken over, no other cluster moves. A replica whose own Lease is not seen keeps what it has: it
 * cannot know who else is there.
 */
export const shardPlan = (observed: ObservedShards): ShardPlan => {
  const { clusters, held, holders, replicas, self, sha256Hex } = observed
  const gone = [...held].filter((cluster) => !clusters.includes(cluster))
  if (!replicas.some(({ name }) => name === self)) return { take: [], giveUp: gone }
  const owners = new Map(clusters.map((cluster) => [cluster, rendezvousOwner(cluster, replicas, sha256Hex)]))
  const take = clusters.filter((cluster) => {
    // The Lease of an earlier process of this pod is as good as free.
    const isFree = (holders.get(cluster) ?? self) === self
    return owners.get(cluster) === self && isFree && !held.has(cluster)
  })
  const free = clusters.filter((cluster) => !holders.has(cluster) && !held.has(cluster)).length
  const moving = clusters.filter((cluster) => held.has(cluster) && owners.get(cluster) !== self)
  return { take, giveUp: [...gone, ...moving.slice(0, Math.max(0, movesAtOnce - free))] }
}
