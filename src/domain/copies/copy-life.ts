/**
 * The life of a copy: from its pod's creation over being ready to its end, when no session has used it for a while.
 *
 * Not here: making the pod (copied-pod.ts), and the workload that it replaces (scaled-down.ts).
 */

import { hasEnded, type PodProblem, podProblems, whyNoNode } from "../pod-problem.ts"
import type { CopyTargetPhase } from "../resources/copy-target.ts"
import type { Pod } from "../resources/core-kinds.ts"
import type { SessionFailure } from "../resources/session-failure.ts"

/** Whether the workload that a copy replaces has no pods because of it. `Unknown`: not looked at yet. */
export type Replacement = "NotWanted" | "Unknown" | "Down" | "NotDown"

/** How far a copy is. `message`: a sentence for its user, without its full stop. */
export interface CopyState {
  readonly phase: CopyTargetPhase
  readonly message?: string
}

/** How long the pod of a copy may take to become ready, in ms. The client waits without a bound. */
const startWithin = 300_000

/** Idle time of a copy whose spec names none, in seconds; the real client asks for the same. */
const defaultIdleTtl = 30
/** The client looks every 5 s, and connects after that, so a shorter idle time would end copies that are wanted. */
const minIdle = 15_000
/** Milliseconds between two looks at the sessions of a copy. */
const lookEvery = 5_000

const failed = (message: string): CopyState => ({ phase: "Failed", message })

/** Whether a problem will not pass by itself. Programs beside the one that sleeps may crash until others are there. */
const isLasting = ({ isOurs, kind, waits }: PodProblem): boolean =>
  kind === "Start" || (kind === "Crash" && isOurs) || waits === "ImagePullBackOff"

const isReady = ({ status }: Pod, container: string): boolean =>
  status?.phase === "Running" &&
  (status.containerStatuses ?? []).some(({ name, ready }) => name === container && ready === true)

/** Why the pod of a copy is over, as a clause about it; `undefined` unless it has ended. */
export const copyEnd = (pod: Pod, container: string): string | undefined => {
  if (!hasEnded(pod)) return undefined
  const [first] = podProblems(pod, [container])
  const why = first === undefined ? "" : `: ${first.reason}`
  return `pod ${pod.metadata.name} has ended, it is ${pod.status?.phase}${why}`
}

/** The failure of a session on a copy whose pod does not come again. `why`: a clause about the pod. */
export const copyFailure = (why: string): SessionFailure => ({
  reason: "CopyEnded",
  message: `the session's copy cannot be used: ${why}`
})

/** How far the pod of a copy is. `container`: the one that sessions use; `waited`: ms since the pod was first seen. */
const podState = (pod: Pod, container: string, waited: number): CopyState => {
  const { name } = pod.metadata
  const end = copyEnd(pod, container)
  if (end !== undefined) return failed(end)
  if (isReady(pod, container)) return { phase: "Ready" }
  const problems = podProblems(pod, [container])
  const lasting = problems.find(isLasting)
  if (lasting !== undefined) return failed(`pod ${name} cannot start: ${lasting.reason}`)
  if (waited < startWithin) return { phase: "InProgress" }
  const phase = pod.status?.phase ?? "Pending"
  const why = problems[0]?.reason ?? whyNoNode(pod)
  return failed(
    `pod ${name} was not ready within ${startWithin / 1_000} s, it is ${phase}` +
      (why === undefined ? "; `kubectl describe pod` shows why" : `: ${why}`)
  )
}

/** How far a copy is, for its user. */
export const copyState = (pod: Pod, container: string, replacement: Replacement, waited: number): CopyState => {
  const state = podState(pod, container, waited)
  if (state.phase !== "Ready") return state
  if (replacement === "Unknown") return { phase: "InProgress" }
  return replacement === "NotDown"
    ? failed(
        "the workload is not scaled down for this copy: it was given pods again, or it never was; see that nothing " +
          "else sets its spec.replicas, then run the command again"
      )
    : state
}

/** Everything from which the next step of a copy is decided. Times are epoch ms. */
export interface ObservedCopy {
  readonly uid: string
  /** Whether a session uses it, or may. */
  readonly isInUse: boolean
  /** When it was last used, or its user last asked how far it is; at first: when this process first saw it. */
  readonly usedAt: number
  /** The idle time of its spec, in seconds. */
  readonly idleTtl: number | null | undefined
}

export type CopyAction =
  /** `why`: a sentence for the log. */
  | { readonly _tag: "DeleteCopy"; readonly uid: string; readonly why: string }
  | { readonly _tag: "RequeueAt"; readonly at: number }

/** The next steps for a copy: it ends when it was idle for its time. */
export const copyPlan = ({ idleTtl, isInUse, uid, usedAt }: ObservedCopy, now: number): ReadonlyArray<CopyAction> => {
  const idle = Math.max((idleTtl ?? defaultIdleTtl) * 1_000, minIdle)
  if (isInUse) return [{ _tag: "RequeueAt", at: now + lookEvery }]
  if (now >= usedAt + idle) return [{ _tag: "DeleteCopy", uid, why: `No session has used it for ${idle / 1_000} s.` }]
  return [{ _tag: "RequeueAt", at: Math.min(now + lookEvery, usedAt + idle) }]
}
