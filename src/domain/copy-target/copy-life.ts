/**
 * The life of a copy: from its pod's creation over being ready to its end, when no session has used it for a while.
 *
 * Not here: making the pod (copied-pod.ts), and the workload that it replaces (scaled-down.ts).
 */

import { quotation } from "../clean-text.ts"
import type { CopyTargetPhase } from "../resources/copy-target.ts"
import type { ContainerStatus, Pod } from "../resources/core-kinds.ts"

/** Whether the workload that a copy replaces has no pods because of it. `Unknown`: nobody has looked yet. */
export type Replacement = "NotWanted" | "Unknown" | "Down" | "NotDown"

/** How far a copy is. `message`: a sentence for its user, without its full stop. */
export interface CopyState {
  readonly phase: CopyTargetPhase
  readonly message?: string
}

/** How long the pod of a copy may take to become ready, in ms. The client waits without a bound. */
const startWithin = 300_000

/** Idle time of a copy whose spec names none, in seconds; the real client asks for the same. */
const usualIdleTtl = 30
/** The client looks every 5 s, and connects after that, so a shorter idle time would end copies that are wanted. */
const shortestIdle = 15_000
/** Milliseconds between two looks at the sessions of a copy. */
const lookEvery = 5_000

/** Reasons of a waiting container that do not pass by themselves. */
const lasting: ReadonlySet<string> = new Set([
  "ImagePullBackOff",
  "InvalidImageName",
  "CreateContainerConfigError",
  "CreateContainerError",
  "RunContainerError"
])

const failed = (message: string): CopyState => ({ phase: "Failed", message })

const lastingProblem = (containers: ReadonlyArray<ContainerStatus>): string | undefined => {
  for (const { name, state } of containers) {
    const reason = state?.waiting?.reason ?? ""
    if (lasting.has(reason)) return `container ${name}: ${reason} ${quotation(state?.waiting?.message ?? "")}`.trimEnd()
  }
  return undefined
}

/** How far the pod of a copy is. `container`: the one that sessions use; `waited`: ms since the pod was first seen. */
const podState = ({ metadata, status }: Pod, container: string, waited: number): CopyState => {
  const phase = status?.phase ?? "Pending"
  const containers = status?.containerStatuses ?? []
  if (phase === "Failed" || phase === "Succeeded") return failed(`pod ${metadata.name} has ended, it is ${phase}`)
  const isReady = containers.some(({ name, ready }) => name === container && ready === true)
  if (phase === "Running" && isReady) return { phase: "Ready" }
  const problem = lastingProblem([...(status?.initContainerStatuses ?? []), ...containers])
  if (problem !== undefined) return failed(`pod ${metadata.name} cannot start: ${problem}`)
  return waited < startWithin
    ? { phase: "InProgress" }
    : failed(
        `pod ${metadata.name} was not ready within ${startWithin / 1_000} s, it is ${phase}; ` +
          "`kubectl describe pod` shows why"
      )
}

/** How far a copy is, for its user. */
export const copyState = (pod: Pod, container: string, replacement: Replacement, waited: number): CopyState => {
  const state = podState(pod, container, waited)
  if (state.phase !== "Ready") return state
  if (replacement === "Unknown") return { phase: "InProgress" }
  return replacement === "NotDown"
    ? failed("the workload is not scaled down for this copy: somebody has given it pods again, or it never was")
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
  const idle = Math.max((idleTtl ?? usualIdleTtl) * 1_000, shortestIdle)
  if (isInUse) return [{ _tag: "RequeueAt", at: now + lookEvery }]
  if (now >= usedAt + idle) return [{ _tag: "DeleteCopy", uid, why: `No session has used it for ${idle / 1_000} s.` }]
  return [{ _tag: "RequeueAt", at: Math.min(now + lookEvery, usedAt + idle) }]
}
