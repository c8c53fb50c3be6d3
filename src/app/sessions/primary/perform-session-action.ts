/**
 * Performs the actions that `domain/sessions/session-plan.ts` has decided for one session: one function per action.
 * Decides nothing. Calls to other clusters are only begun here, see `child-calls.ts`.
 */

import { Effect } from "effect"
import { childOwedEvent, expiredEvent } from "../../../domain/events/deed-events.ts"
import { parentEvents } from "../../../domain/events/parent-events.ts"
import { mirrordMultiClusterSessions } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { childName } from "../../../domain/sessions/names.ts"
import type { SessionAction } from "../../../domain/sessions/session-action.ts"
import type { KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { auditedParent } from "../../kernel/audit.ts"
import { writeStatus } from "../../kernel/mirrored-object.ts"
import { orIf } from "../../kernel/or-if.ts"
import { createChild, deleteChild } from "./child-calls.ts"
import { childKey, type SessionManagerState, type SessionTurn } from "./session-manager-state.ts"

type Act<Tag extends SessionAction["_tag"]> = Extract<SessionAction, { readonly _tag: Tag }>
type Performed = Effect.Effect<unknown, KubeError>

const unlessGone = orIf("NotFound", Effect.void)

const setFinalizers = (
  { options }: SessionManagerState,
  { key }: SessionTurn,
  { precondition }: Act<"AddFinalizer" | "RemoveFinalizer">,
  finalizers: ReadonlyArray<string>
): Effect.Effect<KubeObject, KubeError> =>
  options.ownApi.mergePatch(mirrordMultiClusterSessions, key, { metadata: { ...precondition, finalizers } }, {})

const addFinalizer = (state: SessionManagerState, turn: SessionTurn, action: Act<"AddFinalizer">): Performed =>
  setFinalizers(state, turn, action, [...(turn.object.metadata.finalizers ?? []), action.finalizer])

const removeFinalizer = (state: SessionManagerState, turn: SessionTurn, action: Act<"RemoveFinalizer">): Performed => {
  const others = (turn.object.metadata.finalizers ?? []).filter((finalizer) => finalizer !== action.finalizer)
  return unlessGone(setFinalizers(state, turn, action, others))
}

const joinClusters = (
  { controller, options }: SessionManagerState,
  { key, known, view }: SessionTurn,
  { clusters, precondition }: Act<"JoinClusters">
): Performed =>
  Effect.tap(
    options.ownApi.mergePatch(mirrordMultiClusterSessions, key, { metadata: precondition, spec: { clusters } }, {}),
    (after) =>
      Effect.sync(() => {
        controller.cache.wrote(after)
        const { spec, status } = view
        // A cluster that the parent did not name until now can have no child of it.
        for (const cluster of clusters.filter((name) => !spec.clusters.includes(name)))
          if (status?.clusterSessions?.[cluster] === undefined)
            known.set(childKey(cluster, childName(key, cluster, options.sha256Hex)), { _tag: "Gone" })
      })
  )

/** Writes a part of the parent's status, and records Events about the changes. */
const recordStatus = (
  { controller, options }: SessionManagerState,
  { key, view }: SessionTurn,
  { patch, precondition }: Act<"RecordChild" | "PatchStatus">
): Performed =>
  Effect.map(writeStatus(controller.place(key), { metadata: precondition, status: patch }), (after) =>
    options.events.changed(mirrordMultiClusterSessions, view, after, parentEvents)
  )

const recordChildren = (state: SessionManagerState, turn: SessionTurn, action: Act<"RecordChild">): Performed =>
  Effect.tap(recordStatus(state, turn, action), () =>
    Effect.sync(() => {
      const { askedForChildren, leaderSince, sightings } = state
      // Not created yet, unless someone erased a status that already listed them.
      const { uid = "" } = turn.object.metadata
      if (askedForChildren.has(uid) || sightings.seen(turn.key).created < leaderSince) return
      for (const { childName, cluster } of action.children)
        turn.known.set(childKey(cluster, childName), { _tag: "Gone" })
    })
  )

const patchStatus = (state: SessionManagerState, turn: SessionTurn, action: Act<"PatchStatus">): Performed => {
  const written = recordStatus(state, turn, action)
  if (action.patch["phase"] !== "Terminating") return written
  // Recorded here too: a deletion that began before this process led is no change for the watch.
  const { key, object, view } = turn
  return Effect.andThen(written, state.options.ends.seen(object.metadata, auditedParent(key, view.spec)))
}

const recordDebt = (
  { options: { debts, events } }: SessionManagerState,
  { object }: SessionTurn,
  { childName, cluster, parentUid }: Act<"RecordDebt">
): Performed =>
  Effect.tap(debts.record(cluster, childName, parentUid), () =>
    Effect.sync(() => events.record(mirrordMultiClusterSessions, object, childOwedEvent(cluster, childName)))
  )

const deleteParent = (
  { options: { ends, events, ownApi, stopped } }: SessionManagerState,
  { key, object, view }: SessionTurn,
  { precondition, staysStopped, why }: Act<"DeleteParent">
): Performed => {
  const deletion = ends
    .end(object.metadata, ownApi.delete(mirrordMultiClusterSessions, key, { uid: precondition.uid }), {
      act: "ended",
      cause: "Expired",
      ...auditedParent(key, view.spec),
      message: why
    })
    .pipe(
      Effect.map(() => events.record(mirrordMultiClusterSessions, object, expiredEvent(why))),
      unlessGone
    )
  return staysStopped === true ? Effect.andThen(stopped.record([key]), deletion) : deletion
}

export const performSessionAction = (
  state: SessionManagerState,
  turn: SessionTurn,
  action: Exclude<SessionAction, { readonly _tag: "RequeueAt" }>
): Performed => {
  switch (action._tag) {
    case "AddFinalizer":
      return addFinalizer(state, turn, action)
    case "RemoveFinalizer":
      return removeFinalizer(state, turn, action)
    case "JoinClusters":
      return joinClusters(state, turn, action)
    case "RecordChild":
      return recordChildren(state, turn, action)
    case "PatchStatus":
      return patchStatus(state, turn, action)
    case "CreateChild":
      return createChild(state, turn, action)
    case "DeleteChild":
      return deleteChild(state, turn, action)
    case "RecordDebt":
      return recordDebt(state, turn, action)
    case "DeleteParent":
      return deleteParent(state, turn, action)
  }
}
