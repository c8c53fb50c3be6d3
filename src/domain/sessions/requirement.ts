/**
 * Requirements of a cluster's part of a session before it is ready. Capabilities report theirs; child-plan.ts adds
 * target and agent. Only the verdict over all of them is here.
 */

import type { SessionFailure } from "../resources/session-failure.ts"

/** When a thing is needed that is not there. */
interface Unmet {
  /** Whether the target's pods depend on it, so that no agent may start beside them before. */
  readonly comesFirst?: true
}

/** A thing that a session needs, and whether it is there. */
export type Requirement =
  | { readonly _tag: "Met" }
  /** It is on its way; the sentence says what is being done. */
  | (Unmet & { readonly _tag: "Pending"; readonly message: string })
  /** It is not possible for now; the session's user gets the reason. */
  | (Unmet & { readonly _tag: "Failed"; readonly failure: SessionFailure })

export const met: Requirement = { _tag: "Met" }

/** Whether a thing is not there without which the target's pods cannot be used. */
export const comesFirst = (requirement: Requirement): boolean =>
  requirement._tag !== "Met" && requirement.comesFirst === true

/** The first requirement that does not hold decides, since later ones build on earlier ones. */
export const firstUnmet = (requirements: ReadonlyArray<Requirement>): Requirement =>
  requirements.find(({ _tag }) => _tag !== "Met") ?? met
