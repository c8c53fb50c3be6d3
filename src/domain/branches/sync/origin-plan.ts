/**
 * Decides the next actions for one branch in the cluster of a primary whose default cluster is another one: a copy in
 * the default cluster, whose status comes back, and the end of both.
 *
 * Not here: copies without origin (copy-plan.ts); observing and acting.
 */

import * as Result from "effect/Result"
import type { ClusterName } from "../../fleet/cluster-name.ts"
import { asString, at, type JsonObject } from "../../json.ts"
import { branchEngines } from "../../resources/chart-switches.ts"
import { mergePatch, type MergePatch, plain } from "../../resources/merge-patch.ts"
import { type MirrorOwner, mirrorNeed, skipLabel } from "../../resources/mirrored-object.ts"
import { isBeingDeleted, type Precondition, preconditionOf } from "../../resources/object-meta.ts"
import { failedStatus, failureStays } from "../branch-plan.ts"
import { engines } from "../engines.ts"
import { leftOutProblem } from "../kept-branch.ts"
import {
  copyNamespace,
  copyObject,
  copyPatch,
  mirroredStatus,
  type PrimaryIdentity,
  type WrittenGenerations
} from "./copy-object.ts"
import {
  type BranchAddress,
  copyOf,
  type CopyReference,
  originOf,
  phaseOf,
  type SyncedBranch,
  syncedBranches,
  type SyncedKind
} from "./synced-branch.ts"

/** The branches of the cluster in which the copy is or is to be, as far as they are known. */
export type SeenCluster =
  /** No complete list of them is known. `why`: a clause, if the cluster counts as lost. */
  | { readonly _tag: "Away"; readonly why: string | undefined }
  /** They cannot be used, and waiting does not change that. `why`: a sentence. */
  | { readonly _tag: "Refused"; readonly why: string }
  | {
      readonly _tag: "Listed"
      /** The branch at the copy's place. */
      readonly found: { readonly copy: SyncedBranch; readonly owner: MirrorOwner } | undefined
    }

/** Everything from which the next actions for an origin follow. Times are epoch ms. */
export interface ObservedOrigin {
  /** The kind of the origin and of its copy. */
  readonly resource: SyncedKind
  readonly origin: SyncedBranch
  readonly primary: PrimaryIdentity
  /** The cluster in which the copy is or is to be; `undefined` if there is no default cluster. */
  readonly cluster: ClusterName | undefined
  readonly seen: SeenCluster
  /** The copy that this process has made or seen. */
  readonly known: CopyReference | undefined
  readonly written: WrittenGenerations | undefined
  /** Why the cluster has refused the copy; a sentence. */
  readonly refusal: string | undefined
  /** Since when this process sees that the branch has failed: the clocks of other clusters say nothing about it. */
  readonly failedSince: number | undefined
}

/** The next action for an origin. */
export type OriginAction =
  | { readonly _tag: "CreateCopy"; readonly object: object; readonly address: BranchAddress }
  /** Merge patch of the copy's labels, annotations and spec. */
  | {
      readonly _tag: "PatchCopy"
      readonly patch: MergePatch
      readonly address: BranchAddress
      /** The copy as it was compared: a later edit of it would stay. */
      readonly precondition: Precondition
      readonly generation: number | undefined
    }
  /** Merge patch of the origin's status through the status subresource. `missing`: see `DeleteOrigin`. */
  | {
      readonly _tag: "PatchStatus"
      readonly patch: MergePatch
      readonly precondition: Precondition
      readonly missing?: BranchAddress
    }
  /**
   * `missing`: the copy whose absence is the reason. It is to be made sure of, as a list may be older than a copy.
   * `why` is for the audit log.
   */
  | { readonly _tag: "DeleteOrigin"; readonly uid: string; readonly missing?: BranchAddress; readonly why: string }
  /** Report by an Event that the branch waits for its cluster. `why`: a clause. */
  | { readonly _tag: "TellWaiting"; readonly why: string }
  | { readonly _tag: "RequeueAt"; readonly at: number }

/** How often an origin checks whether its cluster can be read meanwhile. */
const lookAgain = 1_000

const isSkipped = ({ metadata: { labels } }: SyncedBranch): boolean => labels?.[skipLabel] === "true"

const bringStatus = (
  { origin }: ObservedOrigin,
  next: JsonObject
): ReadonlyArray<Extract<OriginAction, { readonly _tag: "PatchStatus" }>> => {
  const patch = mergePatch(plain(origin.status), next)
  return patch === undefined ? [] : [{ _tag: "PatchStatus", patch, precondition: preconditionOf(origin.metadata) }]
}

/** The branch has failed. Its copy, if there is any, is deleted with it. */
const fail = (observed: ObservedOrigin, why: string, now: number): ReturnType<typeof bringStatus> => {
  const copy = copyOf(observed.origin) ?? observed.known
  return bringStatus(observed, plain({ ...failedStatus(now, why), copy }))
}

const clusterOf = ({ cluster }: ObservedOrigin): string => cluster ?? "the default cluster"

/** Why no copy may be made of a branch, whatever the default cluster says. */
const originProblem = (observed: ObservedOrigin): string | undefined => {
  const { origin, primary, refusal } = observed
  if (phaseOf(origin) !== undefined) {
    return (
      `The branch was made in this cluster, and sessions have their databases in cluster ${clusterOf(observed)} now: ` +
      "run the command again."
    )
  }
  if (isSkipped(origin)) {
    return (
      "The branch is for this cluster alone, where none is made: sessions have their databases in cluster " +
      `${clusterOf(observed)}. Leave multi_cluster unset.`
    )
  }
  const place = copyNamespace(origin.metadata, primary.namespace)
  return Result.isFailure(place) ? place.failure : (leftOutProblem(origin.metadata) ?? refusal)
}

const enginesOf = ({ spec }: SyncedBranch): ReadonlyArray<string> =>
  branchEngines.filter((engine) => (at(spec, engines[engine].block) ?? undefined) !== undefined)

/** The name is taken in the default cluster. Its branch will do if it is of the same engine. */
const borrow = (
  observed: ObservedOrigin,
  copy: SyncedBranch,
  reference: CopyReference,
  now: number
): ReadonlyArray<OriginAction> => {
  const { origin, resource } = observed
  const place = `${reference.namespace}/${copy.metadata.name}`
  // The API server has drawn the name, so it says nothing about the branch.
  if (resource.kind !== syncedBranches.kind) {
    const why = `Cluster ${reference.cluster} has a ${resource.kind} ${place} of another owner: run the command again.`
    return fail(observed, why, now)
  }
  if (enginesOf(origin).join() === enginesOf(copy).join())
    return bringStatus(observed, mirroredStatus(origin, copy, { ...reference, borrowed: true }, now))
  const id = asString(at(origin.spec, "id")) ?? ""
  return fail(
    observed,
    `Cluster ${reference.cluster} has a branch ${place} of another engine: take another id than ${JSON.stringify(id)}.`,
    now
  )
}

/** Spec down, status up. */
const synchronise = (
  { origin, primary, written }: ObservedOrigin,
  copy: SyncedBranch,
  { namespace }: CopyReference
): ReadonlyArray<OriginAction> => {
  const isLeft = isSkipped(origin) || leftOutProblem(origin.metadata) !== undefined
  const patch = isLeft ? undefined : copyPatch(origin, copy, primary, written)
  if (patch === undefined) return []
  const { generation } = origin.metadata
  const address = { namespace, name: origin.metadata.name }
  return [{ _tag: "PatchCopy", patch, address, precondition: preconditionOf(copy.metadata), generation }]
}

/** The branch is gone where it was. A client that still waits for it learns why. */
const gone = (
  observed: ObservedOrigin,
  { cluster, namespace }: CopyReference,
  now: number
): ReadonlyArray<OriginAction> => {
  const { metadata } = observed.origin
  const missing = { namespace, name: metadata.name }
  const why = `the branch ${namespace}/${metadata.name} is gone in cluster ${cluster}`
  if (phaseOf(observed.origin) === "Ready") return [{ _tag: "DeleteOrigin", uid: metadata.uid ?? "", missing, why }]
  const sentence = `The branch ${namespace}/${metadata.name} is gone in cluster ${cluster}: run the command again.`
  return fail(observed, sentence, now).map((action) => ({ ...action, missing }))
}

type Found = NonNullable<Extract<SeenCluster, { readonly _tag: "Listed" }>["found"]>

const isCopyOf = ({ origin }: ObservedOrigin, { copy, owner }: Found): boolean =>
  owner !== "Other" && originOf(copy)?.uid === origin.metadata.uid

/** Whether a branch is the one that the origin had before. */
const isStill = (observed: ObservedOrigin, found: Found, { borrowed, uid }: CopyReference): boolean =>
  !isBeingDeleted(found.copy.metadata) &&
  (isCopyOf(observed, found) || (borrowed === true && uid === found.copy.metadata.uid))

const create = ({ origin, primary, resource }: ObservedOrigin): ReadonlyArray<OriginAction> => {
  const { metadata } = origin
  const place = copyNamespace(metadata, primary.namespace)
  if (Result.isFailure(place)) return []
  const address = { namespace: place.success, name: metadata.name }
  return [{ _tag: "CreateCopy", object: copyObject(resource, origin, primary, place.success), address }]
}

/** The branch at the place of the copy. A copy of another origin that is gone goes without a word from here. */
const planFound = (observed: ObservedOrigin, found: Found, now: number): ReadonlyArray<OriginAction> => {
  const { cluster, origin } = observed
  const { copy } = found
  const { namespace = "", uid = "" } = copy.metadata
  if (cluster === undefined) return []
  const owner = found.owner === "This" && !isCopyOf(observed, found) ? "Other" : found.owner
  const reference = { cluster, namespace, uid }
  switch (mirrorNeed(owner, isBeingDeleted(copy.metadata))) {
    case "Yield":
      return borrow(observed, copy, reference, now)
    case "Keep":
      return [
        ...synchronise(observed, copy, reference),
        ...bringStatus(observed, mirroredStatus(origin, copy, reference, now))
      ]
    case "Delete":
    case "Wait":
      return []
  }
}

const planListed = (observed: ObservedOrigin, found: Found | undefined, now: number): ReadonlyArray<OriginAction> => {
  const confirmed = copyOf(observed.origin) ?? observed.known
  if (confirmed !== undefined && (found === undefined || !isStill(observed, found, confirmed)))
    return gone(observed, confirmed, now)
  return found === undefined ? create(observed) : planFound(observed, found, now)
}

/** The next actions for an origin. An origin that is being deleted needs none: its copy is then without origin. */
export const planOrigin = (observed: ObservedOrigin, now: number): ReadonlyArray<OriginAction> => {
  const { origin, seen } = observed
  if (isBeingDeleted(origin.metadata)) return []
  if (phaseOf(origin) === "Failed") {
    const end = (observed.failedSince ?? now) + failureStays
    const why = "its failure could be read long enough"
    return now < end
      ? [{ _tag: "RequeueAt", at: end }]
      : [{ _tag: "DeleteOrigin", uid: origin.metadata.uid ?? "", why }]
  }
  const isNew = copyOf(origin) === undefined && observed.known === undefined
  const problem = isNew ? originProblem(observed) : undefined
  if (problem !== undefined) return fail(observed, problem, now)
  switch (seen._tag) {
    case "Away":
      if (!isNew) return []
      return [
        ...(seen.why === undefined ? [] : [{ _tag: "TellWaiting", why: seen.why } as const]),
        { _tag: "RequeueAt", at: now + lookAgain }
      ]
    case "Refused":
      return isNew ? fail(observed, seen.why, now) : []
    case "Listed":
      return planListed(observed, seen.found, now)
  }
}
