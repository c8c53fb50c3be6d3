/**
 * Decides the next actions for one branch, from its resource, its pod and the sessions that use it.
 *
 * Not here: reading the pod (branch-pod-state.ts) and the spec (branch-request.ts); observing and acting.
 */

import { sentence } from "../clean-text.ts"
import { jsonEqual } from "../json.ts"
import type { BranchStatus } from "../resources/branches/branch-shapes.ts"
import { mergePatch, type MergePatch } from "../resources/merge-patch.ts"
import {
  isBeingDeleted,
  timeOf,
  timestamp,
  type ObjectMeta,
  type Precondition,
  preconditionOf
} from "../resources/object-meta.ts"
import type { BranchPodState } from "./branch-pod-state.ts"
import type { BranchSessions } from "./branch-sessions.ts"
import {
  type MigrationAction,
  type MigrationPlan,
  type MigrationStatus,
  type ObservedMigrations,
  planMigrations
} from "./migrations/migration-plan.ts"
import { maxCopySeconds } from "./programs.ts"
import { originOf } from "./sync/synced-branch.ts"

/** Everything from which the next actions for a branch follow. Times are epoch ms. */
export interface ObservedBranch {
  readonly metadata: ObjectMeta
  readonly status: BranchStatus | undefined
  /** The name that the branch's pod has or will have. */
  readonly podName: string
  /** Why no branch can be made of the spec; `undefined` if one can. It matters only until the pod is made. */
  readonly refusal: string | undefined
  readonly ttlMillis: number
  readonly pod: BranchPodState
  /** Whether the spec asks for another database than the pod was made for. */
  readonly isChanged: boolean
  /** The branch's password, which the Secret beside the pod has. Without it no session could use the branch. */
  readonly password: "Known" | "Unread" | "Gone"
  /** The migrations that the spec asks for, at the beginning or once the branch is there; `undefined` if none. */
  readonly migrations: ObservedMigrations | undefined
  /** The sessions that use the branch now, and those that are about to, as the status names them. */
  readonly sessions: BranchSessions
  /** When `sessions` change by time alone; `undefined` if they do not. */
  readonly sessionsChangeAt: number | undefined
  /** Until when a session that has named the branch may still be starting; `undefined` if there was none. */
  readonly awaitedUntil: number | undefined
}

/** The next action for a branch. At most one of a plan writes the object. */
export type BranchAction =
  /** Make the pod and the Secret with its password. Both are the branch's own, so deleting it takes them along. */
  | { readonly _tag: "MakePod" }
  /** Read the branch's password from its Secret, which another process made. */
  | { readonly _tag: "ReadPassword" }
  | MigrationAction
  /** Merge patch of the branch's `status` through the status subresource. */
  | { readonly _tag: "PatchStatus"; readonly patch: MergePatch; readonly precondition: Precondition }
  /** Delete the branch; `why` is for log and Event. */
  | { readonly _tag: "DeleteBranch"; readonly why: string; readonly precondition: Precondition }
  /** Report by an Event that the branch waits. `why`: a clause. */
  | { readonly _tag: "TellWaiting"; readonly why: string }
  | { readonly _tag: "RequeueAt"; readonly at: number }

/** How long it may take until a branch is ready. The client's own time-out stands in no resource. */
const maxCopy = maxCopySeconds * 1_000
/** A client that waits for the branch connects within this time after it is ready, whatever the TTL. */
const minTtl = 60_000
/** A session that names the branch uses it within this time: in a fleet it starts in all clusters before. */
const maxStart = 300_000
/** How long a failure stays to be read. The name is free for another try after that. */
export const failureStays = 20_000
/** The same of a copy, whose primary deletes it when its users have read the failure, and may be away meanwhile. */
const copysFailureStays = 600_000

type Field = "phase" | "expireTime" | "podName" | "error" | "sessionInfo" | "migrations"
type NewStatus = Pick<BranchStatus, Field>

/** The status with a failure. Its time to expire is when the branch is deleted. `stays`: ms until then. */
export const failedStatus = (now: number, reason: string, stays = failureStays): NewStatus => ({
  phase: "Failed",
  expireTime: timestamp(now + stays),
  error: sentence(reason),
  sessionInfo: {}
})

const failed = ({ metadata }: ObservedBranch, now: number, reason: string): NewStatus =>
  failedStatus(now, reason, originOf({ metadata }) === undefined ? failureStays : copysFailureStays)

/** When a branch expires that is used now, or was used until now. Times are epoch ms. */
export const expiryAfterUse = (ttlMillis: number, now: number): number => now + Math.max(ttlMillis, minTtl)

/** Until when a branch stays for a session that has named it now. */
export const awaitedFrom = (now: number): number => now + maxStart

/** Whether migrations could reach the branch. */
const isUp = ({ isChanged, password, pod }: ObservedBranch): boolean =>
  pod._tag === "Ready" && password !== "Gone" && !isChanged

/** Whether a branch is used: by sessions, or by migrations that a client waits for and that will come to an end. */
const isUsed = (observed: ObservedBranch, { migrations }: Pick<NewStatus, "migrations">): boolean =>
  Object.keys(observed.sessions).length > 0 ||
  (migrations?.phase === "Running" && isUp(observed) && observed.migrations?.run._tag !== "Ending")

const given = (migrations: MigrationStatus | undefined): Pick<NewStatus, "migrations"> =>
  migrations === undefined ? {} : { migrations }

/** The time of expiry. It moves at every change of use, and while a branch is used only as often as is needed. */
const expiryOf = (
  observed: ObservedBranch,
  before: BranchStatus,
  migrations: MigrationStatus | undefined,
  now: number
): number => {
  const { awaitedUntil = 0 } = observed
  const old = Math.max(timeOf(before.expireTime) ?? 0, awaitedUntil)
  const next = expiryAfterUse(observed.ttlMillis, now)
  const isMigrated = jsonEqual(before.migrations ?? undefined, migrations)
  if (!isMigrated || !jsonEqual(before.sessionInfo ?? {}, observed.sessions)) return Math.max(next, awaitedUntil)
  return isUsed(observed, given(migrations)) && old - now <= (next - now) / 2 ? next : old
}

/** Why no session can use the branch any more; `undefined` if one can. */
const lossOf = ({ isChanged, password, pod }: ObservedBranch): string | undefined => {
  if (pod._tag === "Over") return `The branch's pod failed: ${pod.reason}`
  if (pod._tag === "Absent") return "The branch's pod is gone, and its data with it: run the command again"
  if (isChanged) return "The spec was changed after the branch was begun: run the command again"
  return password === "Gone" ? "The Secret with the branch's password is gone: run the command again" : undefined
}

/**
 * The status of a branch whose server is up: ready with its migrations, failed with them; `undefined` if neither yet.
 */
const whenUp = (observed: ObservedBranch, migrations: MigrationStatus | undefined, now: number) => {
  const { password, podName, sessions, ttlMillis } = observed
  if (migrations?.phase === "Failed") {
    return { ...failed(observed, now, `The migrations failed: ${migrations.error ?? ""}`), migrations }
  }
  const isMigrated = observed.migrations === undefined || migrations?.phase === "Succeeded"
  if (password !== "Known" || !isMigrated) return undefined
  const expireTime = timestamp(expiryAfterUse(ttlMillis, now))
  return { phase: "Ready" as const, expireTime, podName, sessionInfo: sessions, ...given(migrations) }
}

/** Why the pod of a branch does not start yet; `undefined` if it does. */
const waitOf = ({ pod }: ObservedBranch): string | undefined =>
  pod._tag === "Starting" && pod.noNode !== undefined ? `its pod waits for a node: ${pod.noNode}` : undefined

/** Why a branch is given up that is not ready; `undefined` if it may become so. */
const giveUp = (observed: ObservedBranch, before: BranchStatus, now: number): string | undefined => {
  // A pod that was there and is not any more is no pod that has to be made.
  const isNew = observed.pod._tag === "Absent" && (before.podName ?? undefined) === undefined
  const lost = isNew ? undefined : lossOf(observed)
  if (lost !== undefined || now < (timeOf(before.expireTime) ?? now)) return lost
  const minutes = maxCopy / 60_000
  if (isUp(observed)) return `The migrations were not complete after ${minutes} minutes`
  const why = waitOf(observed)
  return why === undefined
    ? `The copy was not complete after ${minutes} minutes; copy less of the source, and see that it answers`
    : `The copy was not complete after ${minutes} minutes: ${why}`
}

const whileMade = (
  observed: ObservedBranch,
  before: BranchStatus,
  migrations: MigrationStatus | undefined,
  now: number
): NewStatus => {
  const next = isUp(observed) ? whenUp(observed, migrations, now) : undefined
  if (next !== undefined) return next
  const why = giveUp(observed, before, now)
  if (why !== undefined) return failed(observed, now, why)
  return {
    phase: "Pending",
    expireTime: before.expireTime,
    sessionInfo: before.sessionInfo ?? {},
    ...given(migrations),
    ...(observed.pod._tag === "Absent" ? {} : { podName: observed.podName })
  }
}

/** The status that follows from what was observed; phases only go forward. */
const nextStatus = (observed: ObservedBranch, migrations: MigrationStatus | undefined, now: number): NewStatus => {
  const { refusal, sessions, status } = observed
  if (status?.phase === "Failed") return status
  if (status?.phase === "Ready") {
    const lost = lossOf(observed)
    if (lost !== undefined) return failed(observed, now, lost)
    const { phase, podName } = status
    const expireTime = timestamp(expiryOf(observed, status, migrations, now))
    const named = podName === undefined ? {} : { podName }
    return { phase, expireTime, sessionInfo: sessions, ...named, ...given(migrations) }
  }
  if (status === undefined || status.phase === "Init") {
    return refusal === undefined
      ? { phase: "Pending", expireTime: timestamp(now + maxCopy), sessionInfo: {} }
      : failed(observed, now, refusal)
  }
  return refusal !== undefined && observed.pod._tag === "Absent"
    ? failed(observed, now, refusal)
    : whileMade(observed, status, migrations, now)
}

const fieldsOf = ({ error, expireTime, migrations, phase, podName, sessionInfo }: NewStatus): NewStatus => ({
  phase,
  expireTime,
  ...(podName === undefined || podName === null ? {} : { podName }),
  ...(error === undefined || error === null ? {} : { error }),
  ...(migrations === undefined || migrations === null ? {} : { migrations }),
  sessionInfo: sessionInfo ?? {}
})

/** When the plan has to be looked at again if nothing happens. */
const nextLook = (observed: ObservedBranch, next: NewStatus, lookAt = Infinity): number => {
  const end = timeOf(next.expireTime) ?? 0
  const isKept = next.phase === "Ready" && isUsed(observed, next)
  const extension = isKept ? end - Math.max(observed.ttlMillis, minTtl) / 2 : end
  return Math.min(extension, observed.sessionsChangeAt ?? Infinity, lookAt)
}

/** Whether the password is to be read: a pod that is not there gets its Secret when it is made. */
const needsPassword = ({ password, pod }: ObservedBranch, { phase }: NewStatus): boolean =>
  password === "Unread" && phase !== "Failed" && (pod._tag === "Starting" || pod._tag === "Ready")

/** Migrations are run in a branch that is there. */
const migrationPlan = (observed: ObservedBranch, now: number): MigrationPlan => {
  const { metadata, migrations: wanted, status } = observed
  const stored = status?.migrations ?? undefined
  const isThere = status?.phase === "Ready" || (status?.phase === "Pending" && isUp(observed))
  if (!isThere) return { status: stored }
  return planMigrations({ generation: metadata.generation ?? 0, stored, wanted, isUp: isUp(observed) }, now)
}

/** The next actions for a branch. A branch that is being deleted needs none: what it owns goes with it. */
export const planBranch = (observed: ObservedBranch, now: number): ReadonlyArray<BranchAction> => {
  const { metadata, pod, status } = observed
  if (isBeingDeleted(metadata)) return []
  const migrations = migrationPlan(observed, now)
  const next = fieldsOf(nextStatus(observed, migrations.status, now))
  const precondition = preconditionOf(metadata)
  const expires = timeOf(next.expireTime) ?? 0
  if (next.phase !== "Pending" && now >= expires) {
    const why = next.phase === "Failed" ? "its failure could be read long enough" : "no session has used it for its TTL"
    return [{ _tag: "DeleteBranch", why, precondition }]
  }
  const patch = mergePatch(status === undefined ? {} : fieldsOf(status), next)
  const wait = next.phase === "Pending" ? waitOf(observed) : undefined
  return [
    // First, so that its times run whatever becomes of the rest.
    ...(patch === undefined ? [] : [{ _tag: "PatchStatus", patch, precondition } as const]),
    ...(next.phase === "Pending" && pod._tag === "Absent" ? [{ _tag: "MakePod" } as const] : []),
    ...(wait === undefined ? [] : [{ _tag: "TellWaiting", why: wait } as const]),
    ...(needsPassword(observed, next) ? [{ _tag: "ReadPassword" } as const] : []),
    ...(next.phase === "Failed" || migrations.action === undefined ? [] : [migrations.action]),
    { _tag: "RequeueAt", at: nextLook(observed, next, migrations.lookAt) }
  ]
}
