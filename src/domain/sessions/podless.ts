/**
 * Decides when a session ends because its target has no pod any more that could be used.
 *
 * Not here: which pods can be used (domain/targets), and what a lost pod means for the agents (agent-end.ts).
 */

import type { FailureReason } from "../resources/session-failure.ts"

/** The usual time, ms; that of the published operator. */
export const defaultPodlessMillis = 60_000

/** A look for the target's pods. `at`: epoch ms. */
export type PodLook =
  | { readonly _tag: "Found" }
  | { readonly _tag: "Failed"; readonly at: number; readonly reason: FailureReason; readonly message: string }

/** The knowledge about the pods of one session's target. Times are epoch ms. */
export interface PodlessTime {
  /** Since when no pod was found; `undefined` while the target has pods, or if that is not known. */
  readonly since: number | undefined
  /** When that was seen last. */
  readonly seenAt: number | undefined
  /** Why there was none at that look; a clause. */
  readonly cause: string | undefined
  /** Whether pods were found before. */
  readonly hadPods: boolean
}

export const podsUnknown: PodlessTime = { since: undefined, seenAt: undefined, cause: undefined, hadPods: false }

/** Whether a failed look says that there are no pods. After any other failure it is not known. */
const isPodless = (reason: FailureReason): boolean => reason === "TargetNotReady" || reason === "NoSuchTarget"

/** The knowledge after one more look. */
export const afterLook = (before: PodlessTime, look: PodLook): PodlessTime => {
  if (look._tag === "Found") return { ...podsUnknown, hadPods: true }
  // Pods may have come and gone meanwhile.
  if (!isPodless(look.reason)) return { ...podsUnknown, hadPods: before.hadPods }
  return { ...before, since: before.since ?? look.at, seenAt: look.at, cause: look.message }
}

/** The end of a session for want of pods. */
export interface PodlessEnd {
  readonly isReached: boolean
  /** Deadline for the next look at the pods, epoch ms. */
  readonly at: number
  /** The sentence for the user, the log and the session's Event. */
  readonly why: string
}

/**
 * The end of a session for want of pods; `undefined` while the target has pods, or without a time limit. It is reached
 * by a look at that time or later: pods that came since the look before count.
 */
export const podlessEnd = (
  { cause, seenAt, since }: Pick<PodlessTime, "cause" | "seenAt" | "since">,
  millis: number | undefined
): PodlessEnd | undefined => {
  if (since === undefined || seenAt === undefined || millis === undefined) return undefined
  const at = since + millis
  const setting = "(operator.noPodTargetsSessionTimeoutMillis)"
  return {
    isReached: seenAt >= at,
    at,
    why: `The target has had no usable pod for ${millis / 1000} s ${setting}${cause === undefined ? "" : `: ${cause}`}.`
  }
}
