/**
 * The answer to an API server that asks about a pod, as an AdmissionReview of `admission.k8s.io/v1`.
 *
 * Not here: the form of the answer (app/queues/answer-pod-review.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { asObject, asString, at } from "../json.ts"
import { isPodOf, type PatchedWorkload } from "./pod-of-workload.ts"
import { type ContainerUpdates, type PatchOperation, podPatch } from "./pod-patch.ts"

/** A split whose names new pods get. */
export interface PatchingSplit {
  /** `SplitRecord.uid`. */
  readonly uid: string
  readonly workload: PatchedWorkload
  readonly updates: ContainerUpdates
}

/** The changes of a pod, which is let in whatever happens. */
export interface PodVerdict {
  /** The uid of the request. */
  readonly uid: string
  /** Empty if the pod stays as it is. */
  readonly patch: ReadonlyArray<PatchOperation>
}

const reviewVersion = "admission.k8s.io/v1"

/** A field of another's object for a sentence. */
const shown = (value: unknown): string => (typeof value === "string" ? quoted(value) : "none")

/** Whether a request is for a new pod of the workload. */
const isForPod = (request: unknown, workload: PatchedWorkload): boolean =>
  at(request, "operation") === "CREATE" &&
  at(request, "kind", "kind") === "Pod" &&
  at(request, "namespace") === workload.namespace &&
  isPodOf(at(request, "object"), workload)

/**
 * The verdict on the pod of a review. `split`: `undefined` if there is none any more; its pods stay as they are. The
 * failure is a sentence.
 */
export const reviewPod = (split: PatchingSplit | undefined, review: unknown): Result.Result<PodVerdict, string> => {
  const [apiVersion, kind, request] = [at(review, "apiVersion"), at(review, "kind"), at(review, "request")]
  const uid = asString(at(request, "uid"))
  if (apiVersion !== reviewVersion || kind !== "AdmissionReview" || uid === undefined) {
    return Result.fail(
      `The body must be an AdmissionReview of ${reviewVersion} with a request.uid: found kind ${shown(kind)}, ` +
        `apiVersion ${shown(apiVersion)}, request.uid ${shown(uid)}. Only API servers ask here.`
    )
  }
  const isOurs = split !== undefined && isForPod(request, split.workload)
  return Result.succeed({
    uid,
    patch: isOurs ? podPatch(asObject(at(request, "object")), split.uid, split.updates) : []
  })
}
