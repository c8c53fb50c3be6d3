/**
 * Writes acts about sessions to the program's log. domain/sessions/session-act.ts decides what a line holds.
 */

import { Clock, Effect, Metric } from "effect"
import type { MirrordClusterSessionSpec } from "../../domain/resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSessionSpec } from "../../domain/resources/mirrord-multi-cluster-session.ts"
import { type AuditedSession, auditFields, type SessionAct } from "../../domain/sessions/session-act.ts"
import { isOfCi } from "../../domain/sessions/session-info.ts"
import { logInfo } from "./log.ts"
import { counter, countOne, durations } from "./metrics.ts"
import { CurrentRepeatedLines } from "./repeated-lines.ts"
import { CurrentSessionActs } from "./session-acts.ts"

const write = (act: SessionAct): Effect.Effect<void> => logInfo(`session ${act.act}`, auditFields(act))

type Refusal = Extract<SessionAct, { readonly act: "refused" }>

/**
 * Refusals cost their user nothing, so those beyond a user's allowance are only counted; the lines of others stay in
 * the log.
 */
const auditRefusal = (act: Refusal): Effect.Effect<void> => {
  const { by, code, message, reason } = act
  return Effect.flatMap(CurrentRepeatedLines, ({ tell }) =>
    tell(`refused ${by.user}`, write(act), (count) =>
      logInfo("more sessions refused", { ...auditFields({ act: "refused", by, code, reason, message }), count })
    )
  )
}

const actCounter = (act: SessionAct["act"]) => counter("braid_session_acts_total", { act })
const refusalCounter = (code: number) => counter("braid_connects_refused_total", { code: String(code) })
const createdCounter = counter("mirrord_sessions_create_total", {})
const createdByCiCounter = counter("mirrord_ci_sessions_create_total", {})
const sessionDurations = durations("mirrord_sessions_duration", {})
const ciSessionDurations = durations("mirrord_ci_sessions_duration", {})

const count = Effect.fnUntraced(function* (act: SessionAct): Effect.fn.Return<void> {
  yield* countOne(actCounter(act.act))
  if (act.act === "refused") yield* countOne(refusalCounter(act.code))
  if (act.act !== "created") return
  yield* countOne(createdCounter)
  if (act.isOfCi === true) yield* countOne(createdByCiCounter)
})

/** Counts the end of a session that has lasted so long, in ms. */
export const countEnd = Effect.fnUntraced(function* (
  lasted: number,
  { isOfCi: ofCi }: Pick<AuditedSession, "isOfCi">
): Effect.fn.Return<void> {
  const seconds = Math.max(0, lasted / 1000)
  yield* Metric.update(sessionDurations, seconds)
  if (ofCi === true) yield* Metric.update(ciSessionDurations, seconds)
})

/**
 * Counts an act, and writes its one line to the program's log; refusals that repeat are summed there. Then its
 * listeners hear of it.
 */
export const audit = Effect.fnUntraced(function* (act: SessionAct): Effect.fn.Return<void> {
  yield* count(act)
  yield* act.act === "refused" ? auditRefusal(act) : write(act)
  const acts = yield* CurrentSessionActs
  acts.publish(act, yield* Clock.currentTimeMillis)
})

const ofCi = (ciInfo: object | null | undefined): Pick<AuditedSession, "isOfCi"> =>
  isOfCi({ ciInfo: ciInfo ?? null }) ? { isOfCi: true } : {}

/** The part of an act's line about a multi-cluster session. */
export const auditedParent = (
  session: string,
  { ciInfo, clusters, namespace, owner, targetAlias }: MirrordMultiClusterSessionSpec
): AuditedSession => ({
  session,
  namespace,
  target: targetAlias,
  clusters,
  owner: owner.k8sUsername,
  ...ofCi(ciInfo)
})

/** The part of an act's line about a session in one cluster; the name of a primary's child says which cluster. */
export const auditedChild = (
  session: string,
  { ciInfo, multiClusterParentName, namespace, owner, target }: MirrordClusterSessionSpec
): AuditedSession => {
  const parent = multiClusterParentName ?? undefined
  return {
    session,
    namespace,
    ...(target === undefined || target === null ? {} : { target: `${target.kind.toLowerCase()}.${target.name}` }),
    ...(parent !== undefined && session.startsWith(`${parent}-`)
      ? { clusters: [session.slice(parent.length + 1)] }
      : {}),
    owner: owner.k8sUsername,
    ...ofCi(ciInfo)
  }
}
