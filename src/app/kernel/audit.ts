/**
 * Writes acts about sessions to the program's log. domain/session/session-act.ts decides what a line holds.
 */

import { Effect } from "effect"
import type { MirrordClusterSessionSpec } from "../../domain/resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSessionSpec } from "../../domain/resources/mirrord-multi-cluster-session.ts"
import { type AuditedSession, auditFields, type SessionAct } from "../../domain/session/session-act.ts"
import { logInfo } from "./log.ts"
import { CurrentRepeatedLines } from "./repeated-lines.ts"

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

/** Writes the one line of an act to the program's log; refusals that repeat are summed. */
export const audit = (act: SessionAct): Effect.Effect<void> => (act.act === "refused" ? auditRefusal(act) : write(act))

/** The part of an act's line about a multi-cluster session. */
export const auditedParent = (
  session: string,
  { clusters, namespace, owner, targetAlias }: MirrordMultiClusterSessionSpec
): AuditedSession => ({
  session,
  namespace,
  target: targetAlias,
  clusters,
  owner: owner.k8sUsername
})

/** The part of an act's line about a session in one cluster; the name of a primary's child says which cluster. */
export const auditedChild = (
  session: string,
  { multiClusterParentName, namespace, owner, target }: MirrordClusterSessionSpec
): AuditedSession => {
  const parent = multiClusterParentName ?? undefined
  return {
    session,
    namespace,
    ...(target === undefined || target === null ? {} : { target: `${target.kind.toLowerCase()}.${target.name}` }),
    ...(parent !== undefined && session.startsWith(`${parent}-`)
      ? { clusters: [session.slice(parent.length + 1)] }
      : {}),
    owner: owner.k8sUsername
  }
}
