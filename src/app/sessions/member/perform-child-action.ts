/**
 * Performs the actions that `domain/sessions/child-plan.ts` has decided for one session of this cluster: one function
 * per action. Decides nothing. Agents are started by `session-agents.ts`, for which no turn waits.
 */

import { Clock, Effect } from "effect"
import { childEvents } from "../../../domain/events/child-events.ts"
import { expiredEvent } from "../../../domain/events/deed-events.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import type { ChildAction } from "../../../domain/sessions/child-plan.ts"
import type { KubeError } from "../../../ports/kube-api.ts"
import { auditedChild } from "../../kernel/audit.ts"
import { writeStatus } from "../../kernel/mirrored-object.ts"
import { orIf } from "../../kernel/or-if.ts"
import { lookUpTarget, refreshAgents, startAgents } from "./session-agents.ts"
import { type ChildTurn, type ClusterSessionState, failedAttempt, refreshOf } from "./session-state.ts"
import type { Placements } from "./target-resolver.ts"

type Act<Tag extends ChildAction<Placements>["_tag"]> = Extract<ChildAction<Placements>, { readonly _tag: Tag }>
type Performed = Effect.Effect<unknown, KubeError>

const performAskAdmission = ({ controller, options }: ClusterSessionState, turn: ChildTurn): Performed =>
  Effect.gen(function* () {
    const failure = yield* options.admitPrimary(turn.view)
    const at = yield* Clock.currentTimeMillis
    turn.known.admission = failure === undefined ? { _tag: "Admitted" } : failedAttempt(turn.known, failure, at)
    if (failure === undefined) turn.known.failures = 0
    controller.enqueue(turn.key)
  })

const performResolveTarget = (state: ClusterSessionState, turn: ChildTurn): Performed =>
  Effect.tap(lookUpTarget(state, turn), () => Effect.sync(() => state.controller.enqueue(turn.key)))

const performStartAgent = (state: ClusterSessionState, turn: ChildTurn, action: Act<"StartAgent">): Performed => {
  turn.known.agent = { _tag: "Starting" }
  state.run(turn.key, startAgents(state, turn, action.placement))
  return Effect.void
}

const performRefreshAgents = (state: ClusterSessionState, turn: ChildTurn): Performed =>
  Effect.map(Clock.currentTimeMillis, (checkedAt) => {
    turn.known.agent = { _tag: "Ready", checkedAt }
    state.run(refreshOf(turn.key), refreshAgents(state, turn))
    state.controller.enqueue(turn.key)
  })

const performPatchStatus = (state: ClusterSessionState, turn: ChildTurn, action: Act<"PatchStatus">): Performed => {
  const { patch, precondition } = action
  return Effect.map(writeStatus(state.controller.place(turn.key), { metadata: precondition, status: patch }), (after) =>
    state.options.events.changed(mirrordClusterSessions, turn.view, after, childEvents)
  )
}

const performDeleteChild = (
  { options: { api, ends, events, stopped } }: ClusterSessionState,
  { key: name, view: session }: ChildTurn,
  { precondition, staysStopped, why }: Act<"DeleteChild">
): Performed => {
  const deletion = ends
    .end(session.metadata, api.delete(mirrordClusterSessions, name, { uid: precondition.uid }), {
      act: "ended",
      cause: "Expired",
      ...auditedChild(name, session.spec),
      message: why
    })
    .pipe(
      Effect.map(() => events.record(mirrordClusterSessions, session, expiredEvent(why))),
      orIf("NotFound", Effect.void)
    )
  return staysStopped === true ? Effect.andThen(stopped.record([name]), deletion) : deletion
}

export const performChildAction = (
  state: ClusterSessionState,
  turn: ChildTurn,
  action: Exclude<ChildAction<Placements>, { readonly _tag: "RequeueAt" }>
): Performed => {
  switch (action._tag) {
    case "AskAdmission":
      return performAskAdmission(state, turn)
    case "ResolveTarget":
      return performResolveTarget(state, turn)
    case "StartAgent":
      return performStartAgent(state, turn, action)
    case "RefreshAgents":
      return performRefreshAgents(state, turn)
    case "PatchStatus":
      return performPatchStatus(state, turn, action)
    case "DeleteChild":
      return performDeleteChild(state, turn, action)
  }
}
