import { withCondition } from "../resources/condition.ts"
import { expiresAt } from "./liveness.ts"
import { mergePatch } from "./merge-patch.ts"
import { childName, parentFinalizer } from "./names.ts"
import type { ObservedSession } from "./observed-session.ts"
import { parentConditions, parentView, type ParentView } from "./parent-view.ts"
import type { SessionAction } from "./session-action.ts"
import { cleanUpChildren, cleanupRetry, debtGrace } from "./session-cleanup.ts"
import { planStart } from "./session-start.ts"

/** Milliseconds for which a failed parent stays, so that `kubectl` can show why. */
export const failedRetention = 300_000

/** Ends a plan: looks again at the earliest of some times that are still to come. */
const requeue = (times: ReadonlyArray<number | undefined>, now: number): ReadonlyArray<SessionAction> => {
  const future = times.filter((at): at is number => at !== undefined && at > now)
  return future.length === 0 ? [] : [{ _tag: "RequeueAt", at: Math.min(...future) }]
}

/** No client may be connected any more, whatever the session's phase was. */
const endedConditions = (parent: ParentView, open: ReadonlyArray<{ readonly cluster: string }>, now: number) =>
  withCondition(
    parent.conditions,
    {
      type: parentConditions.ready,
      status: "False",
      reason: "Terminating",
      message: `The session is being deleted; its part in ${open.map(({ cluster }) => cluster).join(", ")} goes first.`,
      ...(parent.generation === undefined ? {} : { observedGeneration: parent.generation })
    },
    now
  )

/** Being deleted: children first, then the finalizer. What cannot be deleted within the grace is owed. */
const planTermination = (
  observed: ObservedSession,
  parent: ParentView,
  deletedAt: number,
  now: number
): ReadonlyArray<SessionAction> => {
  if (!parent.finalizers.includes(parentFinalizer)) return []
  const { actions, open } = cleanUpChildren(observed, parent)
  const { precondition } = parent
  if (open.length === 0) return [...actions, { _tag: "RemoveFinalizer", finalizer: parentFinalizer, precondition }]
  const owedAt = Math.max(deletedAt, observed.leaderSince) + debtGrace
  const debts: ReadonlyArray<SessionAction> =
    now < owedAt
      ? []
      : open.map(({ cluster, childName }) => ({ _tag: "RecordDebt", cluster, childName, parentUid: parent.uid }))
  const phase: ReadonlyArray<SessionAction> =
    parent.phase === "Terminating"
      ? []
      : [
          {
            _tag: "PatchStatus",
            patch: { phase: "Terminating", conditions: endedConditions(parent, open, now) },
            precondition
          }
        ]
  return [...phase, ...actions, ...debts, ...requeue([owedAt, now + cleanupRetry], now)]
}

/** Failed: the children go at once, the parent after a while. */
const planAfterFailure = (observed: ObservedSession, parent: ParentView, now: number): ReadonlyArray<SessionAction> => {
  const failedAt = observed.failedSeenAt ?? now
  const { actions, open } = cleanUpChildren(observed, parent)
  if (now >= failedAt + failedRetention) {
    return [
      ...actions,
      { _tag: "DeleteParent", why: "The session failed five minutes ago.", precondition: parent.precondition }
    ]
  }
  return [...actions, ...requeue([failedAt + failedRetention, open.length > 0 ? now + cleanupRetry : undefined], now)]
}

const recordChildren = (observed: ObservedSession, parent: ParentView): SessionAction | undefined => {
  const missing = parent.clusters
    .filter((cluster) => !parent.recorded.has(cluster))
    .map((cluster) => ({ cluster, childName: childName(parent.name, cluster, observed.sha256Hex) }))
  if (missing.length === 0) return undefined
  const clusterSessions = Object.fromEntries(
    missing.map(({ childName: sessionName, cluster }) => [cluster, { sessionName, ready: false }])
  )
  const patch = { ...mergePatch({ phase: parent.phase }, { phase: parent.phase ?? "Initializing" }), clusterSessions }
  return { _tag: "RecordChild", children: missing, patch, precondition: parent.precondition }
}

/**
 * What a primary does next for one multi-cluster session: the reconcile decision of the MultiClusterSessionManager.
 * Pure, level-triggered and idempotent: it looks only at what is, the same observation gives the same plan, and when
 * its actions have been carried out the next plan is empty or a single `RequeueAt`.
 *
 * The order of a life: finalizer → children's names into the status → children → Ready or Failed → (no client for the
 * TTL) → parent deleted → children deleted → finalizer gone. A child is created only when the observed status already
 * names it, and only what the status names is ever deleted.
 */
export const plan = (observed: ObservedSession, now: number): ReadonlyArray<SessionAction> => {
  if (observed.parent === undefined) return []
  const parent = parentView(observed.parent, observed)
  if (parent.deletedAt !== undefined) return planTermination(observed, parent, parent.deletedAt, now)
  if (parent.phase === "Failed") return planAfterFailure(observed, parent, now)
  if (!parent.finalizers.includes(parentFinalizer)) {
    return [{ _tag: "AddFinalizer", finalizer: parentFinalizer, precondition: parent.precondition }]
  }

  const endsAt = expiresAt(
    {
      createdAt: parent.createdAt,
      heartbeatAt: observed.heartbeatSeenAt ?? parent.connectedAt,
      leaderSince: observed.leaderSince,
      sockets: observed.sockets
    },
    observed.settings.sessionTtlSecs
  )
  if (endsAt !== undefined && now >= endsAt) {
    const why = `No client was connected for ${observed.settings.sessionTtlSecs} s.`
    return [{ _tag: "DeleteParent", why, precondition: parent.precondition }]
  }

  const record = recordChildren(observed, parent)
  if (record !== undefined) return [record, ...requeue([endsAt], now)]
  const { actions, lookAgainAt } = planStart(observed, observed.parent.spec, parent, now)
  return [...actions, ...requeue([endsAt, ...lookAgainAt], now)]
}
