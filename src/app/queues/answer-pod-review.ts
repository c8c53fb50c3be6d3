/**
 * Answers an API server that asks about a pod that is being created. The pod is let in whatever happens.
 *
 * Not here: what changes in the pod (domain/queues/pod-review.ts).
 */

import { Effect } from "effect"
import { encodeBase64Text } from "../../domain/fleet/credentials/base64.ts"
import { reviewPod, type PodVerdict } from "../../domain/queues/pod-review.ts"
import type { ReadBody } from "../api/operator-facade.ts"
import { maxBody } from "../api/request-body.ts"
import { type ApiError, badRequest } from "../api/status.ts"
import type { PodReviews } from "./pod-reviews.ts"

/** Largest review, in KiB: API servers take no larger requests, and store pods of half of it. */
const maxReview = 3 * 1024

const answerOf = ({ patch, uid }: PodVerdict): object => ({
  apiVersion: "admission.k8s.io/v1",
  kind: "AdmissionReview",
  response: {
    uid,
    allowed: true,
    ...(patch.length === 0 ? {} : { patchType: "JSONPatch", patch: encodeBase64Text(JSON.stringify(patch)) })
  }
})

/**
 * The AdmissionReview that answers another. `uid`: of the split, from the path. A caller who does not know a split's
 * uid may be anyone: little of the body is read, which is enough for most pods that come after the end of their split.
 */
export const answerPodReview = (
  { lookup }: (typeof PodReviews)["Service"],
  uid: string,
  body: ReadBody
): Effect.Effect<object, ApiError> => {
  const split = lookup(uid)
  return body(split === undefined ? maxBody : maxReview).pipe(
    Effect.flatMap((review) => Effect.mapError(Effect.fromResult(reviewPod(split, review)), badRequest)),
    Effect.map(answerOf)
  )
}
