/**
 * The path at which API servers ask about new pods of a split (operator-api.md has none like it). They have no client
 * certificate there, so the caller is not known, and its connection is a stranger's (unverified-connections.ts): little
 * is given to it. The answer is no secret from those who know the uid in the path: they can read the split's pods.
 */

import { Effect, Layer, Semaphore } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { splitPodsPath } from "../../domain/resources/operator-api.ts"
import { OperatorFacade, type ReadBody } from "./operator-facade.ts"
import { bodyText, maxBody, parseJson } from "./request-body.ts"

/**
 * How many bodies are read at once that may be large. Pods with more than 64 KiB are rare; those who would send such
 * bodies slowly are in the way of each other alone. Smaller ones are bounded by the number of connections.
 */
const maxLarge = 4

const reviewPod = Effect.fnUntraced(function* (large: Semaphore.Semaphore) {
  const request = yield* HttpServerRequest.HttpServerRequest
  const isSmall = Number(request.headers["content-length"]) <= maxBody * 1024
  const body: ReadBody = (maxKib) => {
    const read = bodyText(maxKib).pipe(
      Effect.flatMap(parseJson),
      Effect.provideService(HttpServerRequest.HttpServerRequest, request)
    )
    return isSmall || maxKib <= maxBody ? read : large.withPermit(read)
  }
  const uid = (yield* HttpRouter.params)["uid"] ?? ""
  const answer = yield* (yield* OperatorFacade).reviewPod(uid, body)
  return yield* Effect.orDie(HttpServerResponse.json(answer))
})

/** POST of an AdmissionReview. */
export const podReviewRoute = Layer.unwrap(
  Effect.map(Semaphore.make(maxLarge), (large) => HttpRouter.add("POST", `${splitPodsPath}/:uid`, reviewPod(large)))
)
