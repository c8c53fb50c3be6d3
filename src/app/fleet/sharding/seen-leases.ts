/**
 * The Leases of sharding as this process sees them: which replicas live, and whose the clusters are. Kept by one watch.
 *
 * Not here: holding a Lease (leadership/elector.ts), and what follows from them (shard.ts).
 */

import { Clock, Effect, Result, type Scope } from "effect"
import type { ClusterName, Sha256Hex } from "../../../domain/fleet/cluster-name.ts"
import type { ShardReplica } from "../../../domain/fleet/sharding/rendezvous.ts"
import {
  clusterLeaseName,
  shardLeases,
  shardLeaseTimes,
  weightOf
} from "../../../domain/fleet/sharding/shard-leases.ts"
import { podNameOf } from "../../../domain/leadership/identity.ts"
import { freeSince, observeLease, type ObservedLease } from "../../../domain/leadership/lease.ts"
import { leases } from "../../../domain/resources/core-kinds.ts"
import { readResource } from "../../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeObject } from "../../../ports/kube-api.ts"
import { makeReflector } from "../../kernel/reflector.ts"
import { elapsedOf } from "../../kernel/term.ts"
import type { ClusterOwners } from "../reported-clusters.ts"

export interface SeenLeases extends ClusterOwners {
  /** Completes when all Leases have been read once. */
  readonly awaitSynced: Effect.Effect<void>
  /** The replicas that live. */
  readonly replicas: () => ReadonlyArray<ShardReplica>
  /** A cluster's Lease, held or not. */
  readonly leaseOf: (cluster: ClusterName) => ObservedLease | undefined
}

interface SeenLease {
  readonly observed: ObservedLease
  /** Of a replica's Lease. */
  readonly weight: number | undefined
}

/** Watches the Leases until the scope closes. `changed`: called when one has come, changed or gone. */
export const watchLeases = Effect.fnUntraced(function* (
  at: { readonly api: KubeApi; readonly namespace: string; readonly sha256Hex: Sha256Hex },
  changed: () => void
): Effect.fn.Return<SeenLeases, never, Scope.Scope> {
  const elapsed = elapsedOf(yield* Clock.Clock)
  const seen = new Map<string, SeenLease>()
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
    if (before?.observed.record.holder !== seen.get(name)?.observed.record.holder) changed()
  }
  const reflector = yield* makeReflector(at.api, leases, take, {
    namespace: at.namespace,
    labelSelector: shardLeases
  })
  const leaseOf = (cluster: ClusterName) => seen.get(clusterLeaseName(cluster, at.sha256Hex))?.observed
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
    ownerOf: (cluster) => {
      const lease = leaseOf(cluster)
      return lease === undefined || freeFrom(lease) !== undefined ? undefined : podNameOf(lease.record.holder)
    },
    ownerlessFor: (cluster) => {
      const from = freeFrom(leaseOf(cluster))
      return from === undefined ? 0 : elapsed() - from
    }
  }
})
