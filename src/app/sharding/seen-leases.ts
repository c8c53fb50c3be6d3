/**
 * The Leases of sharding as this process sees them: which replicas live, and who holds the Leases of shared things.
 * Kept by one watch.
 *
 * Not here: holding a Lease (leadership/elector.ts), and what follows from them (share.ts).
 */

import { Clock, Effect, Result, type Scope } from "effect"
import { podNameOf } from "../../domain/leadership/identity.ts"
import { freeSince, observeLease, type ObservedLease } from "../../domain/leadership/lease.ts"
import { leases } from "../../domain/resources/core-kinds.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import type { ShardReplica } from "../../domain/sharding/rendezvous.ts"
import { shardLeases, shardLeaseTimes, weightOf } from "../../domain/sharding/shard-leases.ts"
import type { KubeApi, KubeObject } from "../../ports/kube-api.ts"
import { makeReflector } from "../kernel/reflector.ts"
import { elapsedOf } from "../kernel/term.ts"

/** Leases are asked for by their names. */
export interface SeenLeases {
  /** Completes when all Leases have been read once. */
  readonly awaitSynced: Effect.Effect<void>
  /** The replicas that live. */
  readonly replicas: () => ReadonlyArray<ShardReplica>
  /** A Lease, held or not. */
  readonly leaseOf: (lease: string) => ObservedLease | undefined
  /** Name of the pod that holds a Lease; `undefined` while it is free. */
  readonly holderOf: (lease: string) => string | undefined
  /** For how long a Lease has been free, ms; 0 while it is held. */
  readonly freeFor: (lease: string) => number
  /** Calls back when a Lease has come, changed its holder or gone, until the returned function is called. */
  readonly listen: (changed: () => void) => () => void
}

interface SeenLease {
  readonly observed: ObservedLease
  /** Of a replica's Lease. */
  readonly weight: number | undefined
}

/** Watches the Leases until the scope closes. */
export const watchLeases = Effect.fnUntraced(function* (at: {
  readonly api: KubeApi
  readonly namespace: string
}): Effect.fn.Return<SeenLeases, never, Scope.Scope> {
  const elapsed = elapsedOf(yield* Clock.Clock)
  const seen = new Map<string, SeenLease>()
  const listeners = new Set<() => void>()
  const begun = elapsed()
  const take = (object: KubeObject, isDeleted: boolean): void => {
    const { name } = object.metadata
    const before = seen.get(name)
    const lease = readResource(leases, object)
    if (isDeleted || Result.isFailure(lease)) seen.delete(name)
    else {
      const { metadata } = lease.success
      const weight = weightOf({
        labels: metadata.labels ?? undefined,
        annotations: metadata.annotations ?? undefined
      })
      seen.set(name, { observed: observeLease(before?.observed, lease.success, elapsed()), weight })
    }
    // Most changes are renewals, which change no owner.
    if (before?.observed.record.holder === seen.get(name)?.observed.record.holder) return
    for (const changed of listeners) changed()
  }
  const reflector = yield* makeReflector(at.api, leases, take, {
    namespace: at.namespace,
    labelSelector: shardLeases
  })
  const leaseOf = (lease: string) => seen.get(lease)?.observed
  const freeFrom = (lease: ObservedLease | undefined): number | undefined =>
    lease === undefined ? begun : freeSince(lease, elapsed(), shardLeaseTimes)
  return {
    awaitSynced: reflector.awaitSynced,
    leaseOf,
    replicas: () =>
      [...seen.values()].flatMap(({ observed, weight }) =>
        weight === undefined || freeFrom(observed) !== undefined
          ? []
          : [{ name: podNameOf(observed.record.holder), weight }]
      ),
    holderOf: (name) => {
      const lease = leaseOf(name)
      return lease === undefined || freeFrom(lease) !== undefined ? undefined : podNameOf(lease.record.holder)
    },
    freeFor: (name) => {
      const from = freeFrom(leaseOf(name))
      return from === undefined ? 0 : elapsed() - from
    },
    listen: (changed) => {
      listeners.add(changed)
      return () => void listeners.delete(changed)
    }
  }
})
