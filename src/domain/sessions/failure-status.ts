/**
 * The HTTP answers to clients whose session failed or ended, as Kubernetes Status objects.
 *
 * Not here: the sentences in them (session-failure.ts).
 */

import type { FailureReason, SessionFailure } from "../resources/session-failure.ts"

/** A `metav1.Status` for a client whose request failed. */
export interface KubeStatus {
  readonly apiVersion: "v1"
  readonly kind: "Status"
  readonly metadata: Readonly<Record<never, never>>
  readonly status: "Failure"
  readonly code: number
  readonly reason: string
  readonly message: string
}

/**
 * Any failure as a full Status object; the client trusts `code` and `reason` in it, not the HTTP line (operator-api.md
 * §2.5).
 */
const kubeStatus = (code: number, reason: string, message: string): KubeStatus => ({
  apiVersion: "v1",
  kind: "Status",
  metadata: {},
  status: "Failure",
  code,
  reason,
  message
})

const codes: Readonly<Record<FailureReason, readonly [code: number, reason: string]>> = {
  NoSuchTarget: [404, "NotFound"],
  UnusableTarget: [400, "BadRequest"],
  TargetNotReady: [500, "InternalError"],
  NoPods: [410, "ReconnectNotPossible"],
  CopyEnded: [410, "ReconnectNotPossible"],
  QueuesNotSplit: [500, "InternalError"],
  Forbidden: [403, "Forbidden"],
  NotAllowed: [403, "Forbidden"],
  OtherPrimary: [403, "Forbidden"],
  TimedOut: [500, "InternalError"],
  ClusterLost: [500, "InternalError"],
  DefaultLost: [410, "ReconnectNotPossible"],
  Error: [500, "InternalError"]
}

/** Codes on which the real client retries in silence for minutes (operator-api.md §2.4). */
const silentCodes: ReadonlyArray<number> = [429, 503, 504]

const reasons: ReadonlyMap<number, string> = new Map([
  [403, "Forbidden"],
  [404, "NotFound"],
  [409, "Conflict"]
])

/**
 * The answer to a held connect request of a session that failed: 404 no such target, 400 none that can be one, 403
 * forbidden or not allowed, 410 for a session that ran and cannot go on, 500 else. A failure may have a code of its
 * own, but never one on which the client says nothing. `failure.message` is the full sentence, as `explainFailure`
 * makes it and the parent's status keeps it.
 */
export const failureStatus = ({ code: own = 0, message, reason: why }: SessionFailure): KubeStatus => {
  const [code, reason] = codes[why]
  if (own < 400 || own > 599 || silentCodes.includes(own)) return kubeStatus(code, reason, message)
  return kubeStatus(own, reasons.get(own) ?? (own < 500 ? "BadRequest" : "InternalError"), message)
}

/** Ends a client's reconnects for good: only 410 with this reason does (operator-api.md §8.8). */
export const reconnectNotPossible = (why: string): KubeStatus => kubeStatus(410, "ReconnectNotPossible", why)
