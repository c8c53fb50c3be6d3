/**
 * Which Event a change of a session in one cluster is worth, for `kubectl describe`.
 *
 * Not here: writing Events (app/kernel/event-recorder.ts), and sessions over many clusters (parent-events.ts).
 */

import { quotation } from "../clean-text.ts"
import { findCondition, type Condition } from "../resources/condition.ts"
import { readyCondition, type MirrordClusterSession } from "../resources/mirrord-cluster-session.ts"
import { cureOf, isFailureReason } from "../resources/session-failure.ts"
import { silentReason, startingReason } from "../sessions/child-observation.ts"
import type { SessionEvent } from "./event-catalogue.ts"

type Observed = Pick<Condition, "status" | "reason" | "message">

/** Whether two states are the same to a reader: a step of the start is no news, a cause of a failure is. */
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

const sessionText = ({ namespace, target }: MirrordClusterSession["spec"]): string =>
  target === undefined || target === null
    ? "a session without target"
    : `${target.kind} ${target.name} in namespace ${namespace}`

/** Failures with an Event of their name. */
const shown = [
  "NoSuchTarget",
  "UnusableTarget",
  "TargetNotReady",
  "NoPods",
  "CopyEnded",
  "Forbidden",
  "NotAllowed",
  "OtherPrimary"
] as const

const failureEvent = ({ message, reason }: Observed, place: string): SessionEvent => {
  const cause = isFailureReason(reason) ? reason : "Error"
  return {
    reason: shown.find((known) => known === cause) ?? "Failed",
    message:
      `Not ready in ${place}: ${quotation(message)}; ${cureOf(cause)}.` +
      (cause === "CopyEnded" ? "" : " It is tried again by itself.")
  }
}

const readyEvent = (ready: Observed, session: string, place: string): SessionEvent => {
  if (ready.status === "True")
    return { reason: "AgentReady", message: `The agents for ${session} are ready in ${place}.` }
  if (ready.reason === startingReason)
    return { reason: "Starting", message: `The agents for ${session} are being started in ${place}.` }
  if (ready.reason === silentReason)
    return { reason: "AgentSilent", message: `Not ready in ${place}: ${ready.message} It is replaced if that lasts.` }
  return failureEvent(ready, place)
}

const readyOf = ({ status }: MirrordClusterSession): Condition | undefined =>
  findCondition(status?.conditions ?? undefined, readyCondition)

/**
 * The Events between two versions of a session's object: at most one, for its condition `Ready`. Only the name of a
 * primary's child says which cluster it is in.
 */
export const childEvents = (
  before: MirrordClusterSession,
  after: MirrordClusterSession
): ReadonlyArray<SessionEvent> => {
  const ready = readyOf(after)
  if (ready === undefined || isSame(readyOf(before), ready)) return []
  const cluster = clusterOf(after)
  const place = cluster === undefined ? "this cluster" : `cluster ${cluster}`
  const event = readyEvent(ready, sessionText(after.spec), place)
  return [cluster === undefined ? event : { ...event, cluster }]
}
