/**
 * The memory of one process that keeps branches of databases the same in two clusters, and the caches that it decides
 * from. A new process begins with what the objects say.
 *
 * Not here: what follows (domain/branches/sync).
 */

import { Result, type Semaphore } from "effect"
import {
  copyNamespace,
  type PrimaryIdentity,
  type WrittenGenerations
} from "../../../domain/branches/sync/copy-object.ts"
import {
  type BranchAddress,
  copyOf,
  type CopyReference,
  originOf,
  type SyncedBranch,
  syncedBranches,
  type SyncedKind
} from "../../../domain/branches/sync/synced-branch.ts"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { isBeingDeleted } from "../../../domain/resources/object-meta.ts"
import type { KubeApi, KubeObject } from "../../../ports/kube-api.ts"
import type { EventRecorder } from "../../kernel/event-recorder.ts"
import type { PlannedController } from "../../kernel/planned-controller.ts"
import { readCached } from "../../kernel/read-cached.ts"
import type { ReachedCluster } from "../../services/fleet-view.ts"
import type { BranchPlaces } from "../branch-places.ts"

/** The parts that the synchronisation builds on. */
export interface BranchSyncOptions {
  /** The kind of the branches. */
  readonly resource: SyncedKind
  /** The API of the primary's cluster. */
  readonly api: KubeApi
  readonly primary: PrimaryIdentity
  /** Name of the primary's cluster. */
  readonly ownCluster: ClusterName
  readonly clusters: () => ReadonlyArray<ReachedCluster>
  readonly events: EventRecorder
  readonly places: BranchPlaces
}

/** One origin, until it is gone. Times are epoch ms. */
export interface KnownOrigin {
  readonly uid: string | undefined
  copy: CopyReference | undefined
  written: WrittenGenerations | undefined
  /** Why its cluster has refused the copy; a sentence. */
  refusal: string | undefined
  failedSince: number | undefined
  /** The reason for which it waits, as people were told last. */
  toldWaiting: string | undefined
}

/** The branches of a cluster that has copies, or is to have them. */
export interface CopiesOfCluster {
  readonly cluster: ClusterName
  readonly api: KubeApi
  readonly controller: PlannedController<SyncedBranch>
}

export interface SyncState {
  readonly options: BranchSyncOptions
  /** By `namespace/name`. */
  readonly known: Map<string, KnownOrigin>
  /** UIDs of origins that this process has seen deleted, and whose copies may be there still. */
  readonly stopped: Set<string>
  readonly engaged: Map<ClusterName, CopiesOfCluster>
  /** For the archives of migrations that are in memory. */
  readonly archives: Semaphore.Semaphore
  readonly origins: PlannedController<SyncedBranch>
}

export const keyOf = ({ name, namespace }: BranchAddress): string => `${namespace}/${name}`

/** A cached object as a branch; `undefined` if it cannot be read. */
export const viewOf = (object: KubeObject): SyncedBranch | undefined =>
  Result.getOrUndefined(readCached(syncedBranches, object))

/** The place of an origin's copy; `undefined` if it can have none. */
export const copyAddress = (
  origin: SyncedBranch,
  { copy }: Pick<KnownOrigin, "copy">,
  { primary }: Pick<BranchSyncOptions, "primary">
): BranchAddress | undefined => {
  const { name } = origin.metadata
  const known = copyOf(origin) ?? copy
  if (known !== undefined) return { name, namespace: known.namespace }
  const place = copyNamespace(origin.metadata, primary.namespace)
  return Result.isSuccess(place) ? { name, namespace: place.success } : undefined
}

/** The places of all origins that a branch in the default cluster may concern. */
export const originAddresses = (
  { options: { primary } }: Pick<SyncState, "options">,
  copy: Pick<KubeObject, "metadata">
): ReadonlyArray<BranchAddress> => {
  const { name, namespace = "" } = copy.metadata
  const named = originOf(copy)?.namespace
  return [...new Set([namespace, primary.namespace, ...(named === undefined ? [] : [named])])].map((place) => ({
    namespace: place,
    name
  }))
}

/** Whether an object is there, and stays for now. */
export const isAlive = ({ metadata }: Pick<KubeObject, "metadata">): boolean => !isBeingDeleted(metadata)
