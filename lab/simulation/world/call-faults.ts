/**
 * The ways in which a call of an operator can fail, and the plans by which stories and sweeps let calls fail. The call
 * itself is `PortCall` in `world-event.ts`.
 */

import type { KubeErrorReason } from "../../../src/ports/kube-api.ts"
import type { PortCall } from "./world-event.ts"

/**
 * How a call goes wrong. `before`: nothing happened; `after`: the call was carried out, and only its answer is missing.
 */
export type CallFault =
  | { readonly _tag: "Crash"; readonly when: "before" | "after" }
  | {
      readonly _tag: "Fail"
      readonly when: "before" | "after"
      readonly reason: KubeErrorReason
      readonly code?: number
      readonly retryAfterMs?: number
    }
  | { readonly _tag: "Slow"; readonly ms: number }
  /** Lists and gets only: the answer is so many writes old. */
  | { readonly _tag: "Stale"; readonly by: number }

/** The error kinds of a fault sweep, as API servers and networks give them. */
export const errorKinds: Readonly<Record<string, CallFault>> = {
  unreachable: { _tag: "Fail", when: "before", reason: "Unreachable" },
  "answer-lost": { _tag: "Fail", when: "after", reason: "Unreachable" },
  conflict: { _tag: "Fail", when: "before", reason: "Conflict", code: 409 },
  "too-many-requests": { _tag: "Fail", when: "before", reason: "TooManyRequests", code: 429, retryAfterMs: 5_000 },
  "server-error": { _tag: "Fail", when: "before", reason: "Other", code: 500 },
  unavailable: { _tag: "Fail", when: "before", reason: "Other", code: 503 },
  gone: { _tag: "Fail", when: "before", reason: "Gone", code: 410 },
  unauthorized: { _tag: "Fail", when: "before", reason: "Unauthorized", code: 401 },
  slow: { _tag: "Slow", ms: 8_000 },
  stale: { _tag: "Stale", by: 5 }
}

/** Decides what goes wrong with a call; the first plan with a fault for the call is heard. */
export interface FaultPlan {
  (call: PortCall): CallFault | undefined
  /** Whether the plan will cause no more faults. A plan without this function lasts until all faults end. */
  readonly isOver?: () => boolean
}
