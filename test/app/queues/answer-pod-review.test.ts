import { Effect } from "effect"
import { describe, expect } from "vitest"
import { answerPodReview } from "../../../src/app/queues/answer-pod-review.ts"
import { podPatch } from "../../../src/domain/queues/pod-patch.ts"
import { ordersPod, reviewOf, split } from "../../domain/queues/reviewed-pod.ts"
import { it } from "../../support/effect-it.ts"

const reviews = { lookup: (uid: string) => (uid === "uid-1" ? { ...split, updates } : undefined) }
const updates = new Map([["app", new Map([["QUEUE", "hauptschlüssel"]])]])
const answer = (uid: string, body: object) =>
  answerPodReview(reviews, uid, () => Effect.succeed(body)) as Effect.Effect<{
    readonly response: { readonly patch?: string }
  }>

describe("the answer about a pod", () => {
  it.effect("has its patch as base64", function* () {
    const given = yield* answer("uid-1", reviewOf(ordersPod))
    expect(given).toMatchObject({
      apiVersion: "admission.k8s.io/v1",
      kind: "AdmissionReview",
      response: { uid: "review-1", allowed: true, patchType: "JSONPatch" }
    })
    expect(JSON.parse(Buffer.from(given.response.patch ?? "", "base64").toString("utf8"))).toEqual(
      podPatch(ordersPod, "uid-1", updates)
    )
  })

  it.effect.each([
    ["uid-2", reviewOf(ordersPod)],
    ["uid-1", reviewOf(ordersPod, { namespace: "other" })]
  ] as const)("lets others in as they are: %s", function* ([uid, review]) {
    const response = { uid: "review-1", allowed: true }
    expect(yield* answer(uid, review)).toEqual({ apiVersion: review.apiVersion, kind: review.kind, response })
  })

  it.effect("is a refusal where there is no review", function* () {
    expect(yield* Effect.flip(answer("uid-1", {}))).toMatchObject({ code: 400, message: /must be an AdmissionReview/u })
  })
})
