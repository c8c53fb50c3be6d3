import { findCondition, type Condition } from "../resources/condition.ts"
import { readyCondition, type MirrordClusterSession } from "../resources/mirrord-cluster-session.ts"
import { startingReason } from "../session/child-observation.ts"
import { cureOf, isFailureReason } from "../session/session-failure.ts"
import type { SessionEvent } from "./event-catalogue.ts"

type Observed = Pick<Condition, "status" | "reason" | "message">

/** A step that failed for another cause is news; which step of the start it is at is not. */
const isSame = (a: Observed | undefined, b: Observed): boolean =>
  a?.status === b.status &&
  a.reason === b.reason &&
  (b.reason === startingReason || b.status === "True" || a.message === b.message)

const clusterOf = ({ metadata, spec }: MirrordClusterSession): string | undefined => {
  const parent = spec.multiClusterParentName ?? undefined
  return parent !== undefined && metadata.name.startsWith(`${parent}-`)
    ? metadata.name.slice(parent.length + 1)
    : undefined
}

/**
 * What happened to a session in one cluster between two versions of its object: at most one Event, for its condition
 * `Ready`. Only the name of a primary's child says which cluster it is in.
 */
export const childEvents = (
  before: MirrordClusterSession,
  after: MirrordClusterSession
): ReadonlyArray<SessionEvent> => {
  const was = findCondition(before.status?.conditions ?? undefined, readyCondition)
  const is = findCondition(after.status?.conditions ?? undefined, readyCondition)
  if (is === undefined || isSame(was, is)) return []
  const cluster = clusterOf(after)
  const place = cluster === undefined ? "this cluster" : `cluster ${cluster}`
  const { namespace, target } = after.spec
  const what =
    target === undefined || target === null
      ? "a session without target"
      : `${target.kind} ${target.name} in namespace ${namespace}`
  const event = (reason: SessionEvent["reason"], message: string): ReadonlyArray<SessionEvent> => [
    { reason, message, ...(cluster === undefined ? {} : { cluster }) }
  ]
  if (is.status === "True") return event("AgentReady", `The agents for ${what} are ready in ${place}.`)
  if (is.reason === startingReason) return event("Starting", `The agents for ${what} are being started in ${place}.`)
  const reason = isFailureReason(is.reason) ? is.reason : "Error"
  const shown = reason === "NoSuchTarget" || reason === "TargetNotReady" || reason === "Forbidden" ? reason : "Failed"
  return event(
    shown,
    `Not ready in ${place}: ${is.message.replace(/[.\s]+$/u, "")}; ${cureOf(reason)}. It is tried again by itself.`
  )
}
