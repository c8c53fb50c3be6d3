/**
 * Requirements of a cluster's part of a session before it is ready. Capabilities report theirs; child-plan.ts adds
 * target and agent. Only the verdict over all of them is here.
 */

import type { SessionFailure } from "../resources/session-failure.ts"

/** A thing that a session needs, and whether it is there. */
export type Requirement =
  | { readonly _tag: "Met" }
  /** It is on its way; the sentence says what is being done. */
  | { readonly _tag: "Pending"; readonly message: string }
  /** It is not possible for now; the session's user gets the reason. */
  | { readonly _tag: "Failed"; readonly failure: SessionFailure }

export const met: Requirement = { _tag: "Met" }

/** The first requirement that does not hold decides, since later ones build on earlier ones. */
export const firstUnmet = (requirements: ReadonlyArray<Requirement>): Requirement =>
  requirements.find(({ _tag }) => _tag !== "Met") ?? met
