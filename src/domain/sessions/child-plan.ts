/**
 * Decides the next actions of a member for one of its sessions, from everything that was observed about the session.
 *
 * Not here: observing and acting (app/sessions/member), and the primary's side (session-plan.ts).
 */

import type { SessionTimes } from "../fleet/configuration.ts"
import { withCondition, type Condition } from "../resources/condition.ts"
import type { MergePatch } from "../resources/merge-patch.ts"
import { readyCondition, type MirrordClusterSession } from "../resources/mirrord-cluster-session.ts"
import { isBeingDeleted, timeOf, type Precondition, preconditionOf } from "../resources/object-meta.ts"
import type { SessionFailure } from "../resources/session-failure.ts"
import { silentReason, startingReason } from "./child-observation.ts"
import { graceAfterStart, type SocketPresence } from "./liveness.ts"
import { childTimes, lonelyMillis, memberPatience } from "./lonely-child.ts"
import { podlessEnd, type PodlessTime } from "./podless.ts"
import { comesFirst, firstUnmet, met, type Requirement } from "./requirement.ts"
import { endByAge } from "./session-age.ts"

/** An attempt that failed. `failures`: how many in a row, at least 1; `at`: epoch ms. */
interface FailedAttempt {
  readonly _tag: "Failed"
  readonly at: number
  readonly failures: number
  readonly failure: SessionFailure
}

/**
 * How far the target is resolved. `P` is the data from which an agent is started; a placement of `undefined` is
 * targetless.
 */
export type TargetObservation<P> =
  | { readonly _tag: "Unresolved" }
  | { readonly _tag: "Resolved"; readonly placement: P }
  | FailedAttempt

/** How far the agent is started. An agent that ended because its last client left is `None` again. */
export type AgentObservation =
  | { readonly _tag: "None" }
  | { readonly _tag: "Starting" }
  /**
   * A client's socket to the agent would be usable. `checkedAt`: when the target's pods were last looked at, epoch ms.
   * `silent`: name of the representative agent, while it leaves pings unanswered.
   */
  | { readonly _tag: "Ready"; readonly checkedAt: number; readonly silent?: string | undefined }
  | FailedAttempt

/** How far it is known whether the child's primary may use this cluster. */
export type AdmissionObservation = { readonly _tag: "Unasked" } | { readonly _tag: "Admitted" } | FailedAttempt

/** Everything from which a member decides about one of its sessions. Times are epoch ms. */
export interface ObservedChild<P> {
  readonly child: MirrordClusterSession | undefined
  /**
   * When this process first saw the child, by its own clock, since the clocks of hosts differ (failures.md §4.12). A
   * child already there at the start of the process is treated as created 1 ms before {@link operatorSince}.
   */
  readonly createdSeenAt: number
  /** Missing: admitted. */
  readonly admission?: AdmissionObservation
  readonly target: TargetObservation<P>
  readonly agent: AgentObservation
  /** Further requirements that must hold before the child is ready, beside its target and its agent. */
  readonly requirements: ReadonlyArray<Requirement>
  /** Client connections of this session here, those that still wait for the agent included. */
  readonly sockets: SocketPresence
  /**
   * When this process last saw `connectedTimestamp` change, if it did. It replaces the timestamp itself, which another
   * host's clock wrote.
   */
  readonly heartbeatSeenAt: number | undefined
  /** When this operator became able to see sockets. */
  readonly operatorSince: number
  /** The times of sessions whose annotations give none. */
  readonly defaults: SessionTimes
  /** The longest time of a session without a parent, in seconds; `undefined` if there is no bound. */
  readonly maxSessionSecs?: number | undefined
  /** The knowledge about the target's pods; missing: none. */
  readonly pods?: PodlessTime
  /** How long a target may be without pods, ms; `undefined` if for ever. */
  readonly podlessMillis?: number | undefined
  /** When a pod of the target was first seen to change since the last look at the pods; `undefined` if none was. */
  readonly podsChangedAt?: number | undefined
}

/** The next action of a member for one of its sessions. At most one action writes the object. */
export type ChildAction<P> =
  /** Find out whether the child's primary may use this cluster. */
  | { readonly _tag: "AskAdmission" }
  | { readonly _tag: "ResolveTarget" }
  /**
   * Start an agent in the placement. Everything made for it carries an ownerReference to the child, so deleting the
   * child cleans up.
   */
  | { readonly _tag: "StartAgent"; readonly placement: P }
  /**
   * Look at the target's pods again, and start agents beside new pods: a workload may be scaled or rolled out during a
   * session.
   */
  | { readonly _tag: "RefreshAgents" }
  /** Merge patch of the child's `status` through the status subresource. */
  | { readonly _tag: "PatchStatus"; readonly patch: MergePatch; readonly precondition: Precondition }
  /**
   * Delete the child; `why` is for log and Event. `staysStopped`: its client must get no other session under this id.
   */
  | {
      readonly _tag: "DeleteChild"
      readonly why: string
      readonly precondition: Precondition
      readonly staysStopped?: true
    }
  | { readonly _tag: "RequeueAt"; readonly at: number }

const firstRetry = 15_000
const maxRetry = 300_000

/** Milliseconds between two looks at the pods of a target whose agents run and of which no pod was seen to change. */
export const refreshEvery = 30_000

/** Milliseconds from a pod's change to the look: pods change together, and a rollout must not be looked at for each. */
const lookAfterChange = 1_000

/** The time of a look, or the time that a changed pod asks for, if that is earlier. */
const orAfterChange = <P>({ podsChangedAt }: ObservedChild<P>, lookAt: number): number =>
  podsChangedAt === undefined ? lookAt : Math.min(lookAt, podsChangedAt + lookAfterChange)

const retryAt = ({ at, failures }: FailedAttempt): number =>
  at + Math.min(firstRetry * 2 ** Math.min(Math.max(failures - 1, 0), 10), maxRetry)

const fromParent = ({ spec }: MirrordClusterSession): boolean =>
  (spec.multiClusterParentName ?? undefined) !== undefined

/** When a child ends for want of a socket, and the sentence that says so; `undefined` while a socket is open. */
const ending = <P>(observed: ObservedChild<P>, child: MirrordClusterSession) => {
  const { createdSeenAt, sockets, operatorSince, defaults } = observed
  if (sockets.open > 0) return undefined
  // Without a parent the real client connects to us directly, and may pause for minutes (`leaderGrace` in liveness.ts).
  const isPart = fromParent(child)
  const started = Math.max(
    createdSeenAt,
    operatorSince + (isPart ? 0 : graceAfterStart(createdSeenAt, operatorSince, sockets))
  )
  const lastSeen = Math.max(
    observed.heartbeatSeenAt ?? timeOf(child.status?.connectedTimestamp) ?? 0,
    sockets.lastClosedAt ?? 0
  )
  const { first, further } = lonelyMillis(childTimes(child.metadata, defaults), isPart)
  return lastSeen === 0
    ? { at: started + first, why: `No client connected within ${first / 1000} s.` }
    : { at: Math.max(started, lastSeen) + further, why: `No client was connected for ${further / 1000} s.` }
}

/** The end by age of a session that has no parent; a child ends with its parent. */
const endOfAge = <P>(observed: ObservedChild<P>, child: MirrordClusterSession, now: number) => {
  const { createdSeenAt, maxSessionSecs, operatorSince } = observed
  if (fromParent(child)) return undefined
  const { metadata } = child
  return endByAge({ metadata, createdSeenAt, servedSince: operatorSince, maxSecs: maxSessionSecs }, now)
}

/**
 * The end for want of pods. A child that never had pods here has none to lose: its cluster is left out, and it joins
 * when they come.
 */
const endOfPods = <P>({ podlessMillis, pods }: ObservedChild<P>, child: MirrordClusterSession) =>
  pods === undefined || (fromParent(child) && !pods.hadPods) ? undefined : podlessEnd(pods, podlessMillis)

/**
 * The end for want of a socket, but not before the primary has heard that the target has no pods: it has no link while
 * there is no agent, and a child that is made again would know nothing of the pods that were there.
 */
const lonelyEnd = <P>(observed: ObservedChild<P>, child: MirrordClusterSession) => {
  const lonely = ending(observed, child)
  const podless = fromParent(child) ? endOfPods(observed, child) : undefined
  return lonely === undefined || podless === undefined
    ? lonely
    : { ...lonely, at: Math.max(lonely.at, podless.at + memberPatience) }
}

/** Why a session is over now, or the times at which to look at its ends again. */
const endOrTimes = <P>(observed: ObservedChild<P>, child: MirrordClusterSession, now: number) => {
  const lonely = lonelyEnd(observed, child)
  if (lonely !== undefined && now >= lonely.at) return { over: { why: lonely.why } }
  const age = endOfAge(observed, child, now)
  if (age?.isReached === true) return { over: { why: age.why, staysStopped: true } as const }
  const podless = endOfPods(observed, child)
  // A child says so to its parent, which ends it; else the parent would make another.
  if (podless?.isReached === true && !fromParent(child))
    return { over: { why: podless.why, staysStopped: true } as const }
  return { times: [lonely?.at, age?.at] }
}

const admissionRequirement = ({ _tag, ...known }: AdmissionObservation): Requirement => {
  if (_tag === "Unasked") return { _tag: "Pending", message: "The primary is being looked up." }
  return "failure" in known ? { _tag: "Failed", failure: known.failure } : met
}

const targetRequirement = <P>(observed: ObservedChild<P>, child: MirrordClusterSession): Requirement => {
  const { target } = observed
  const podless = endOfPods(observed, child)
  if (podless?.isReached === true && target._tag !== "Resolved")
    return { _tag: "Failed", failure: { reason: "NoPods", message: podless.why } }
  switch (target._tag) {
    case "Resolved":
      return met
    case "Unresolved":
      return { _tag: "Pending", message: "The target is being resolved." }
    case "Failed":
      return { _tag: "Failed", failure: target.failure }
  }
}

const agentRequirement = (agent: AgentObservation): Requirement => {
  switch (agent._tag) {
    case "Ready":
      return agent.silent === undefined
        ? met
        : { _tag: "Pending", message: `The agent ${agent.silent} does not answer.` }
    case "None":
    case "Starting":
      return { _tag: "Pending", message: "The agent is starting." }
    case "Failed":
      return { _tag: "Failed", failure: agent.failure }
  }
}

const readiness = <P>(
  observed: ObservedChild<P>,
  child: MirrordClusterSession
): Omit<Condition, "lastTransitionTime"> => {
  const { admission = admitted, agent, requirements } = observed
  const at = { type: readyCondition, ...observedFor(child) }
  const ofAgent = agentRequirement(agent)
  const unmet = firstUnmet([
    admissionRequirement(admission),
    ...requirements.filter(comesFirst),
    targetRequirement(observed, child),
    ofAgent,
    ...requirements
  ])
  switch (unmet._tag) {
    case "Met":
      return { ...at, status: "True", reason: "AgentUsable", message: "The agent is ready for clients." }
    case "Pending": {
      const reason = unmet === ofAgent && agent._tag === "Ready" ? silentReason : startingReason
      return { ...at, status: "False", reason, message: unmet.message }
    }
    case "Failed":
      return { ...at, status: "False", reason: unmet.failure.reason, message: unmet.failure.message }
  }
}

const observedFor = ({ metadata: { generation } }: MirrordClusterSession) =>
  generation === undefined ? {} : { observedGeneration: generation }

const admitted: AdmissionObservation = { _tag: "Admitted" }

/** When a target that was not found is looked for again. */
const nextLook = <P>(observed: ObservedChild<P>, child: MirrordClusterSession, target: FailedAttempt): number => {
  const podless = endOfPods(observed, child)
  // The last look before the end comes when it is due, however long the pause.
  const lastLook = podless === undefined || podless.isReached ? Number.POSITIVE_INFINITY : podless.at
  return orAfterChange(observed, Math.min(retryAt(target), Math.max(lastLook, target.at + 1)))
}

/** The next step towards a running agent, and when a failed attempt is repeated. */
const progress = <P>(
  observed: ObservedChild<P>,
  child: MirrordClusterSession,
  now: number
): { readonly act?: ChildAction<P>; readonly at?: number } => {
  const { admission = admitted, target, agent, requirements } = observed
  if (admission._tag === "Unasked") return { act: { _tag: "AskAdmission" } }
  if (admission._tag === "Failed") {
    const askAt = retryAt(admission)
    return now >= askAt ? { act: { _tag: "AskAdmission" } } : { at: askAt }
  }
  // The pods of now are replaced. The capability reports when the requirement is met.
  if (requirements.some(comesFirst)) return {}
  if (target._tag === "Unresolved") return { act: { _tag: "ResolveTarget" } }
  if (target._tag === "Failed") {
    const lookAt = nextLook(observed, child, target)
    return now >= lookAt ? { act: { _tag: "ResolveTarget" } } : { at: lookAt }
  }
  if (agent._tag === "None") return { act: { _tag: "StartAgent", placement: target.placement } }
  if (agent._tag === "Ready") {
    const refreshAt = orAfterChange(observed, agent.checkedAt + refreshEvery)
    return now >= refreshAt ? { act: { _tag: "RefreshAgents" } } : { at: refreshAt }
  }
  if (agent._tag === "Starting") return {}
  const startAt = orAfterChange(observed, retryAt(agent))
  return now >= startAt ? { act: { _tag: "StartAgent", placement: target.placement } } : { at: startAt }
}

/**
 * The next actions of a member for one MirrordClusterSession: target → agent → Ready condition. A requirement about the
 * target's pods comes before all of them. The child ends by itself when no socket comes, so that a primary that is gone
 * for ever leaves nothing behind. Pure and level-triggered like the primary's `plan`. A failed step is repeated after
 * 15 s, doubling up to 5 min, for as long as the child lives, so a workload that appears later still joins.
 */
export const childPlan = <P>(observed: ObservedChild<P>, now: number): ReadonlyArray<ChildAction<P>> => {
  const { child } = observed
  if (child === undefined || isBeingDeleted(child.metadata)) return []
  const precondition = preconditionOf(child.metadata)
  const { over, times: ends } = endOrTimes(observed, child, now)
  if (over !== undefined) return [{ _tag: "DeleteChild", precondition, ...over }]

  const { act, at } = progress(observed, child, now)
  const before = child.status?.conditions ?? []
  // Another turn follows an early step of a first start at once, and a write between two steps would hold it up.
  const isPassing = before.length === 0 && (act?._tag === "AskAdmission" || act?._tag === "ResolveTarget")
  const conditions = isPassing ? before : withCondition(before, readiness(observed, child), now)
  const status: ReadonlyArray<ChildAction<P>> =
    conditions === before ? [] : [{ _tag: "PatchStatus", patch: { conditions, ...observedFor(child) }, precondition }]
  const times = [...ends, at].filter((time): time is number => time !== undefined && time > now)
  const requeue: ReadonlyArray<ChildAction<P>> =
    times.length === 0 ? [] : [{ _tag: "RequeueAt", at: Math.min(...times) }]
  return [...(act === undefined ? [] : [act]), ...status, ...requeue]
}
