/**
 * How long a cluster's part of a session lives without a socket. It ends by itself, so that a primary that is gone for
 * ever leaves nothing behind.
 *
 * Not here: the decision that it is over, and its other ends (child-plan.ts).
 */

import { defaultSessionTimes, type SessionTimes } from "../fleet/configuration.ts"
import type { ObjectMeta } from "../resources/object-meta.ts"
import { leaderGrace } from "./liveness.ts"
import { childAnnotations } from "./names.ts"
import { defaultPodlessMillis } from "./podless.ts"

/**
 * Milliseconds that a member waits beyond the TTL, so that the primary, which counts heartbeats, ends the session
 * first.
 */
export const memberPatience = 15_000

/** The times that a primary has given a child; `defaults` for those that are missing. */
export const childTimes = (
  { annotations }: Pick<ObjectMeta, "annotations">,
  defaults: SessionTimes = defaultSessionTimes
): SessionTimes => {
  const seconds = (annotation: string, fallback: number): number => {
    const text = annotations?.[annotation]
    return text !== undefined && /^[1-9][0-9]{0,8}$/u.test(text) ? Number(text) : fallback
  }
  return {
    sessionTtlSecs: seconds(childAnnotations.sessionTtlSecs, defaults.sessionTtlSecs),
    remoteSessionTimeoutSecs: seconds(childAnnotations.remoteSessionTimeoutSecs, defaults.remoteSessionTimeoutSecs)
  }
}

/**
 * Milliseconds that a session lives without a socket: `first`, before it had one, and `further`, after the last.
 * `isPart`: whether it is the child of a primary.
 */
export const lonelyMillis = ({ remoteSessionTimeoutSecs, sessionTtlSecs }: SessionTimes, isPart: boolean) => {
  const further = sessionTtlSecs * 1_000 + (isPart ? memberPatience : 0)
  // The parent may outlive its client by the TTL, and longer after a change of leaders. Ending the child earlier would
  // only make the parent create it again.
  return { first: Math.max(remoteSessionTimeoutSecs * 1_000, further + (isPart ? leaderGrace : 0)), further }
}

/**
 * Milliseconds after the end of a session in which each child that has not heard of it has ended by itself, by its own
 * cluster's default time without pods. A child that had sockets ends sooner than a child that had none, although its
 * member notices a silent primary only after two minutes. A child whose operator begins meanwhile has its time again.
 */
export const outlivedMillis = (times: SessionTimes): number =>
  lonelyMillis(times, true).first + defaultPodlessMillis + memberPatience
