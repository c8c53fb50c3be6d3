/**
 * The splits whose names new pods get, for the answers to API servers.
 *
 * Not here: which splits there are (split-controller.ts), and the answers (answer-pod-review.ts).
 */

import { Context } from "effect"
import type { PatchingSplit } from "../../domain/queues/pod-review.ts"

/** None unless they are provided. */
export const PodReviews = Context.Reference<{
  /** The split of this uid, `SplitRecord.uid`; `undefined` if there is none, or if its pods get no names. */
  readonly lookup: (uid: string) => PatchingSplit | undefined
}>("braid/app/PodReviews", { defaultValue: () => ({ lookup: () => undefined }) })
