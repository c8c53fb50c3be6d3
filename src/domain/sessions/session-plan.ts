/**
 * Decides the next actions of a primary for one multi-cluster session, from its finalizer to its deletion.
 *
 * Not here: the start of the children and the session's status (session-start.ts), the deletion of children
 * (session-cleanup.ts), and performing the actions (app/sessions/primary).
 */

import { withCondition } from "../resources/condition.ts"
import { mergePatch } from "../resources/merge-patch.ts"
import type { FailureReason } from "../resources/session-failure.ts"
import { expiresAt } from "./liveness.ts"
import { childName, ownerLabel, parentFinalizer } from "./names.ts"
import type { ObservedSession } from "./observed-session.ts"
import { parentConditions, parentView, type ParentView, recordedFailure } from "./parent-view.ts"
import type { SessionAction } from "./session-action.ts"
import { endByAge } from "./session-age.ts"
import { cleanUpChildren, cleanupRetry, debtGrace } from "./session-cleanup.ts"
import { planStart } from "./session-start.ts"

/**
 * Milliseconds that a failed parent stays, so that `kubectl` can show why it failed. Only a session that ran can lose
 * its default cluster, or the pods there. Any other never had a client: its user was told why, and it must not fill the
 * cluster.
 */
export const failedRetention = (reason: FailureReason): number =>
  reason === "DefaultLost" || reason === "NoPods" || reason === "CopyEnded" ? 300_000 : 30_000

/** The last action of a plan: plan again at the earliest of these times that is still to come. */
const requeue = (times: ReadonlyArray<number | undefined>, now: number): ReadonlyArray<SessionAction> => {
  const future = times.filter((at): at is number => at !== undefined && at > now)
  return future.length === 0 ? [] : [{ _tag: "RequeueAt", at: Math.min(...future) }]
}

/** The conditions of a session that is being deleted: no client may connect, whatever its phase was. */
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

/**
 * Plans for a parent that is being deleted: its children go first, then its finalizer. A child that cannot be deleted
 * within the grace becomes a debt.
 */
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

/** Plans for a failed parent: its children go at once, the parent itself after a while. */
const planAfterFailure = (
  observed: ObservedSession,
  parent: ParentView,
  reason: FailureReason,
  now: number
): ReadonlyArray<SessionAction> => {
  const retention = failedRetention(reason)
  const goesAt = (observed.failedSeenAt ?? now) + retention
  const { actions, open } = cleanUpChildren(observed, parent)
  if (now >= goesAt) {
    const why = `The session failed ${retention / 1000} s ago.`
    return [...actions, { _tag: "DeleteParent", why, precondition: parent.precondition }]
  }
  return [...actions, ...requeue([goesAt, open.length > 0 ? now + cleanupRetry : undefined], now)]
}

/**
 * The clusters of a session that has to run in new clusters of the fleet too; `undefined` if it has to stay as it is:
 * it was made by hand, runs on a copy, which new clusters do not have, or has no default cluster to go by. A cluster
 * that does not answer yet is joined when it does: until then the session's end would have to wait for it.
 */
const joinClusters = (observed: ObservedSession, parent: ParentView): SessionAction | undefined => {
  const { metadata, spec } = observed.parent ?? {}
  const isOurs = Object.entries(ownerLabel).every(([name, value]) => metadata?.labels?.[name] === value)
  const { defaultCluster } = parent
  const hasDefault = defaultCluster !== undefined && observed.fleet.clusters.has(defaultCluster)
  if (!isOurs || !hasDefault || spec?.copyTarget !== undefined) return undefined
  const joined = [...observed.fleet.clusters].flatMap(([cluster, { isConnecting, reachable }]) =>
    reachable && isConnecting !== true && !parent.clusters.includes(cluster) ? [cluster] : []
  )
  return joined.length === 0
    ? undefined
    : { _tag: "JoinClusters", clusters: [...parent.clusters, ...joined], precondition: parent.precondition }
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
 * The next actions of a primary for one multi-cluster session: the reconcile decision of the
 * MultiClusterSessionManager. Pure, level-triggered and idempotent: it looks only at what is, and the same observation
 * gives the same plan. When its actions have been carried out, the next plan is empty or a single `RequeueAt`.
 *
 * The order of a life: finalizer → children's names into the status → children → Ready or Failed → (no client for the
 * TTL) → parent deleted → children deleted → finalizer gone. A child is created only when the observed status already
 * names it, and only children that the status names are ever deleted.
 */
export const plan = (observed: ObservedSession, now: number): ReadonlyArray<SessionAction> => {
  if (observed.parent === undefined) return []
  const parent = parentView(observed.parent, observed)
  if (parent.deletedAt !== undefined) return planTermination(observed, parent, parent.deletedAt, now)
  const failure = recordedFailure(observed.parent)
  if (failure !== undefined) return planAfterFailure(observed, parent, failure.reason, now)
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

  const age = endByAge(
    {
      metadata: observed.parent.metadata,
      createdSeenAt: observed.createdSeenAt,
      servedSince: observed.leaderSince,
      maxSecs: observed.settings.maxSessionSecs
    },
    now
  )
  if (age?.isReached === true) {
    return [{ _tag: "DeleteParent", why: age.why, precondition: parent.precondition, staysStopped: true }]
  }

  const record = joinClusters(observed, parent) ?? recordChildren(observed, parent)
  if (record !== undefined) return [record, ...requeue([endsAt, age?.at], now)]
  const { actions, lookAgainAt } = planStart(observed, observed.parent.spec, parent, now)
  return [...actions, ...requeue([endsAt, age?.at, ...lookAgainAt], now)]
}
