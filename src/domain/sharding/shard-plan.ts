/**
 * Decides which of the shared things a replica takes and which it gives up, from the Leases that it sees.
 *
 * Not here: the owner that a thing is to have (rendezvous.ts), and what an owner does with it.
 */

import type { Sha256Hex } from "../fleet/cluster-name.ts"
import { rendezvousOwner, type ShardReplica } from "./rendezvous.ts"

/**
 * So many things may be without an owner when a replica gives one up for the sake of balance. Each move costs a
 * cluster's watch and credentials a second or two, and the replica that takes it a list of its sessions.
 */
export const movesAtOnce = 10

/** A replica's view of the shards. `Name`: of the things that are shared. */
export interface ObservedShards<Name extends string = string> {
  /** The replica that decides: name of its pod. */
  readonly self: string
  /** The replicas that live, by their Leases. */
  readonly replicas: ReadonlyArray<ShardReplica>
  /** All that is shared, such as the members of the fleet. */
  readonly things: ReadonlyArray<Name>
  /** By thing: the pod that holds its Lease. A thing that is missing here is free. */
  readonly holders: ReadonlyMap<Name, string>
  /** The things whose Leases this process holds, or asks for. */
  readonly held: ReadonlySet<Name>
  readonly sha256Hex: Sha256Hex
}

export interface ShardPlan<Name extends string = string> {
  /** Things whose Leases are to be asked for. */
  readonly take: ReadonlyArray<Name>
  /** Things whose Leases are to be given up. */
  readonly giveUp: ReadonlyArray<Name>
}

/**
 * A free thing is taken by the replica that is to own it, and a thing that another replica holds is never taken. A
 * thing that is to have another owner is given up, unless too many are without one; so while the things of a lost
 * replica are taken over, no other thing moves. A replica whose own Lease is not seen keeps what it has: it cannot know
 * who else is there.
 */
export const shardPlan = <Name extends string>(observed: ObservedShards<Name>): ShardPlan<Name> => {
  const { held, holders, replicas, self, sha256Hex, things } = observed
  const gone = [...held].filter((thing) => !things.includes(thing))
  if (!replicas.some(({ name }) => name === self)) return { take: [], giveUp: gone }
  const owners = new Map(things.map((thing) => [thing, rendezvousOwner(thing, replicas, sha256Hex)]))
  const take = things.filter((thing) => {
    // The Lease of an earlier process of this pod is as good as free.
    const isFree = (holders.get(thing) ?? self) === self
    return owners.get(thing) === self && isFree && !held.has(thing)
  })
  const free = things.filter((thing) => !holders.has(thing) && !held.has(thing)).length
  const moving = things.filter((thing) => held.has(thing) && owners.get(thing) !== self)
  return { take, giveUp: [...gone, ...moving.slice(0, Math.max(0, movesAtOnce - free))] }
}
