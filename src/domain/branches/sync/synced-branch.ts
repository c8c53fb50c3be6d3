/**
 * A branch of a database as the synchronisation between two clusters of a fleet sees it: its origin in the primary's
 * cluster, and its copy in the default cluster. Spec and status are JSON of any shape, because fields that this version
 * does not know travel along.
 *
 * Not here: what a spec asks for (domain/branches/branch-request.ts).
 */

import * as Schema from "effect/Schema"
import { type ClusterName, clusterName } from "../../fleet/cluster-name.ts"
import { asString, at } from "../../json.ts"
import { branchDatabases } from "../../resources/branches/branch-database.ts"
import { keptBy } from "../../resources/kept-fields.ts"
import type { MirrorOwner } from "../../resources/mirrored-object.ts"
import { isBeingDeleted, ObjectMeta } from "../../resources/object-meta.ts"
import type { ResourceDescriptor, WatchedResource } from "../../resources/resource-descriptor.ts"

const fields = Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))

export const SyncedBranch = Schema.Struct({ metadata: ObjectMeta, spec: fields, status: fields })
export type SyncedBranch = typeof SyncedBranch.Type

/** A kind of branches, of which every object can be read. */
export type SyncedKind = WatchedResource<SyncedBranch>

/** A kind of branches as it is kept the same in two clusters. */
export const syncedKind = ({
  group,
  keeps = keptBy(SyncedBranch),
  kind,
  plural,
  scope,
  version
}: ResourceDescriptor<unknown>): SyncedKind => ({ group, version, kind, plural, scope, schema: SyncedBranch, keeps })

/** The kind BranchDatabase. */
export const syncedBranches = syncedKind(branchDatabases)

/** The place of a branch in one cluster. */
export interface BranchAddress {
  readonly namespace: string
  readonly name: string
}

/** `status.copy` of an origin: the branch whose status it repeats. */
export interface CopyReference {
  readonly cluster: ClusterName
  readonly namespace: string
  readonly uid: string
  /** Another writer made the branch, so it is never written or deleted. */
  readonly borrowed?: true
}

/** The reference to the copy that an origin's status holds; `undefined` if no copy is known to have been there. */
export const copyOf = ({ status }: Pick<SyncedBranch, "status">): CopyReference | undefined => {
  const copy = at(status, "copy")
  const [cluster, namespace, uid] = ["cluster", "namespace", "uid"].map((field) => asString(at(copy, field)))
  if (cluster === undefined || namespace === undefined || uid === undefined) return undefined
  const isBorrowed = at(copy, "borrowed") === true
  return { cluster: clusterName(cluster), namespace, uid, ...(isBorrowed ? { borrowed: true as const } : {}) }
}

export const phaseOf = ({ status }: Pick<SyncedBranch, "status">): string | undefined => asString(at(status, "phase"))

/** Annotations by which a copy names its origin. */
export const originAnnotations = {
  /** UID of the namespace `kube-system` of the origin's cluster: names of clusters are not unique among primaries. */
  clusterUid: "operator.metalbear.co/branch-origin-cluster-uid",
  namespace: "operator.metalbear.co/branch-origin-namespace",
  uid: "operator.metalbear.co/branch-origin-uid",
  /** The origin's `metadata.generation` that the copy's spec is of. */
  generation: "operator.metalbear.co/branch-origin-generation",
  /** Id of the session that has named the origin last, and that comes to the copy when it has started. */
  awaitedBy: "operator.metalbear.co/branch-awaited-by",
  /** Since when, by the primary's clock. */
  awaitedSince: "operator.metalbear.co/branch-awaited-since"
} as const

/** Label of a copy, for people: the name of its origin's cluster as a DNS label. */
export const originLabel = "operator.metalbear.co/branch-origin-cluster"

/** The origin that a copy names. */
export interface OriginMarks {
  readonly clusterUid: string
  readonly namespace: string
  readonly uid: string
  readonly generation: number | undefined
}

/** The origin of a copy; `undefined` if the branch is no copy. */
export const originOf = ({ metadata: { annotations } }: Pick<SyncedBranch, "metadata">): OriginMarks | undefined => {
  const clusterUid = annotations?.[originAnnotations.clusterUid]
  const namespace = annotations?.[originAnnotations.namespace]
  const uid = annotations?.[originAnnotations.uid]
  const generation = Number(annotations?.[originAnnotations.generation])
  return clusterUid === undefined || namespace === undefined || uid === undefined
    ? undefined
    : { clusterUid, namespace, uid, generation: Number.isSafeInteger(generation) ? generation : undefined }
}

/**
 * The owner of a branch in the default cluster, as one primary sees it. `This`: any origin that exists, and is not
 * being deleted. `primaryUid`: UID of the primary's cluster. `originAt`: the origin at a place now.
 */
export const ownerOf = (
  copy: SyncedBranch,
  primaryUid: string,
  originAt: (address: BranchAddress) => SyncedBranch | undefined
): MirrorOwner => {
  const marks = originOf(copy)
  if (marks?.clusterUid !== primaryUid) return "Other"
  const origin = originAt({ namespace: marks.namespace, name: copy.metadata.name })
  return origin?.metadata.uid === marks.uid && !isBeingDeleted(origin.metadata) ? "This" : "Earlier"
}
