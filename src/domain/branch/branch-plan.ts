/**
 * Decides the next actions for one branch, from its resource, its pod and the sessions that use it.
 *
 * Not here: reading the pod (branch-pod-state.ts) and the spec (branch-request.ts); observing and acting.
 */

import { cleanText, textLimits, withoutEnd } from "../clean-text.ts"
import { jsonEqual } from "../json.ts"
import type { BranchStatus } from "../resources/branches/branch-shapes.ts"
import { isBeingDeleted, timeOf, timestamp, type ObjectMeta } from "../resources/object-meta.ts"
import { mergePatch, type MergePatch } from "../session/merge-patch.ts"
import type { Precondition } from "../session/session-action.ts"
import type { BranchPodState } from "./branch-pod-state.ts"

/** Everything from which the next actions for a branch follow. Times are epoch ms. */
export interface ObservedBranch {
  readonly metadata: ObjectMeta
  readonly status: BranchStatus | undefined
  /** The name that the branch's pod has or will have. */
  readonly podName: string
  /** Why no branch can be made of the spec; nothing if one can. It matters only until the pod is made. */
  readonly refusal: string | undefined
  readonly ttlMillis: number
  readonly pod: BranchPodState
  /** The sessions that use the branch now, and those that are about to, as the status names them. */
  readonly sessions: NonNullable<BranchStatus["sessionInfo"]>
}

/** The next action for a branch. At most one of a plan writes the object. */
export type BranchAction =
  /** Make the pod and the Secret with its password. Both are the branch's own, so deleting it takes them along. */
  | { readonly _tag: "MakePod" }
  /** Merge patch of the branch's `status` through the status subresource. */
  | { readonly _tag: "PatchStatus"; readonly patch: MergePatch; readonly precondition: Precondition }
  /** Delete the branch; `why` is for log and Event. */
  | { readonly _tag: "DeleteBranch"; readonly why: string; readonly precondition: Precondition }
  | { readonly _tag: "RequeueAt"; readonly at: number }

/** How long a copy may take. The client's own time-out stands in no resource. */
const longestCopy = 1_800_000
/** A client that waits for the branch connects within this time after it is ready, whatever the TTL. */
const shortestTtl = 60_000
/** How long a failure stays to be read. The name is free for another try after that. */
const failureStays = 20_000

type Field = "phase" | "expireTime" | "podName" | "error" | "sessionInfo"
type NewStatus = Pick<BranchStatus, Field>

const preconditionOf = ({ resourceVersion, uid }: ObjectMeta): Precondition => ({
  uid: uid ?? "",
  resourceVersion: resourceVersion ?? ""
})

/** The status with a failure. Its time to expire is when the branch is deleted. */
const failed = (now: number, reason: string): NewStatus => ({
  phase: "Failed",
  expireTime: timestamp(now + failureStays),
  error: `${withoutEnd(cleanText(reason, textLimits.message - 1), ".")}.`,
  sessionInfo: {}
})

/** The time of expiry. It moves at every change of use, and while a branch is used only as often as is needed. */
const expiryOf = (observed: ObservedBranch, before: BranchStatus, now: number): number => {
  const { sessions, ttlMillis } = observed
  const ttl = Math.max(ttlMillis, shortestTtl)
  const old = timeOf(before.expireTime) ?? 0
  if (!jsonEqual(before.sessionInfo ?? {}, sessions)) return now + ttl
  return Object.keys(sessions).length > 0 && old - now <= ttl / 2 ? now + ttl : old
}

const podLost = (pod: BranchPodState): string | undefined => {
  if (pod._tag === "Over") return `The branch's pod failed: ${pod.reason}`
  return pod._tag === "Absent" ? "The branch's pod is gone, and its data with it: run the command again" : undefined
}

const whileMade = (observed: ObservedBranch, before: BranchStatus, now: number): NewStatus => {
  const { pod, podName, sessions, ttlMillis } = observed
  const ttl = Math.max(ttlMillis, shortestTtl)
  if (pod._tag === "Ready") return { phase: "Ready", expireTime: timestamp(now + ttl), podName, sessionInfo: sessions }
  // A pod that was there and is not any more is no pod that has to be made.
  const lost = pod._tag === "Absent" && (before.podName ?? undefined) === undefined ? undefined : podLost(pod)
  if (lost !== undefined) return failed(now, lost)
  const end = timeOf(before.expireTime) ?? now
  if (now >= end) return failed(now, `The copy was not complete after ${longestCopy / 60_000} minutes`)
  return {
    phase: "Pending",
    expireTime: before.expireTime,
    sessionInfo: before.sessionInfo ?? {},
    ...(pod._tag === "Absent" ? {} : { podName })
  }
}

/** The status that follows from what was observed; phases only go forward. */
const nextStatus = (observed: ObservedBranch, now: number): NewStatus => {
  const { refusal, sessions, status } = observed
  if (status?.phase === "Failed") return status
  if (status?.phase === "Ready") {
    const lost = podLost(observed.pod)
    if (lost !== undefined) return failed(now, lost)
    const { phase, podName } = status
    const expireTime = timestamp(expiryOf(observed, status, now))
    return { phase, expireTime, sessionInfo: sessions, ...(podName === undefined ? {} : { podName }) }
  }
  if (status === undefined || status.phase === "Init") {
    return refusal === undefined
      ? { phase: "Pending", expireTime: timestamp(now + longestCopy), sessionInfo: {} }
      : failed(now, refusal)
  }
  return refusal !== undefined && observed.pod._tag === "Absent"
    ? failed(now, refusal)
    : whileMade(observed, status, now)
}

const fieldsOf = ({ error, expireTime, phase, podName, sessionInfo }: NewStatus): NewStatus => ({
  phase,
  expireTime,
  ...(podName === undefined || podName === null ? {} : { podName }),
  ...(error === undefined || error === null ? {} : { error }),
  sessionInfo: sessionInfo ?? {}
})

/** When the plan has to be looked at again if nothing happens. */
const nextLook = ({ sessions, ttlMillis }: ObservedBranch, { expireTime, phase }: NewStatus): number => {
  const end = timeOf(expireTime) ?? 0
  return phase === "Ready" && Object.keys(sessions).length > 0 ? end - Math.max(ttlMillis, shortestTtl) / 2 : end
}

/** The next actions for a branch. A branch that is being deleted needs none: what it owns goes with it. */
export const planBranch = (observed: ObservedBranch, now: number): ReadonlyArray<BranchAction> => {
  const { metadata, pod, status } = observed
  if (isBeingDeleted(metadata)) return []
  const next = fieldsOf(nextStatus(observed, now))
  const precondition = preconditionOf(metadata)
  const expires = timeOf(next.expireTime) ?? 0
  if (next.phase !== "Pending" && now >= expires) {
    const why = next.phase === "Failed" ? "its failure could be read long enough" : "no session has used it for its TTL"
    return [{ _tag: "DeleteBranch", why, precondition }]
  }
  const patch = mergePatch(status === undefined ? {} : fieldsOf(status), next)
  return [
    ...(next.phase === "Pending" && pod._tag === "Absent" ? [{ _tag: "MakePod" } as const] : []),
    ...(patch === undefined ? [] : [{ _tag: "PatchStatus", patch, precondition } as const]),
    { _tag: "RequeueAt", at: nextLook(observed, next) }
  ]
}
