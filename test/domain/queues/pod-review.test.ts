import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { podPatch } from "../../../src/domain/queues/pod-patch.ts"
import { reviewPod } from "../../../src/domain/queues/pod-review.ts"
import { ordersPod, owner, reviewOf, split } from "./reviewed-pod.ts"
import { failureOf } from "./split-objects.ts"

const patchOf = (review: object, of: Parameters<typeof reviewPod>[0] = split) =>
  Result.getOrThrow(reviewPod(of, review))

/** A pod with other owners and labels. */
const podOf = (ownerReferences: ReadonlyArray<object>, labels: Readonly<Record<string, string>> = {}) => ({
  ...ordersPod,
  metadata: { ...ordersPod.metadata, labels: { ...ordersPod.metadata.labels, ...labels }, ownerReferences }
})
const rolloutHash = { "rollouts-pod-template-hash": "77" }
const of = (kind: "rollout" | "statefulset") => ({ ...split, workload: { ...split.workload, kind } })

describe("a new pod", () => {
  it.each([
    ["of the deployment's set", reviewOf(ordersPod), split],
    ["of the rollout's set", reviewOf(podOf([owner("ReplicaSet", "orders-77")], rolloutHash)), of("rollout")],
    ["of the stateful set", reviewOf(podOf([owner("StatefulSet", "orders")])), of("statefulset")],
    [
      "with other owners before its controller",
      reviewOf(podOf([{ ...owner("ReplicaSet", "x-5d4f"), controller: false }, owner("ReplicaSet", "orders-5d4f")])),
      split
    ]
  ])("gets the names: %s", (_, review, by) => {
    const patch = podPatch(review.request.object as typeof ordersPod, by.uid, by.updates)
    expect(patchOf(review, by)).toEqual({ uid: "review-1", patch })
    expect(patch.length).toBeGreaterThan(0)
  })

  it.each([
    ["of a canary whose name begins alike", podOf([owner("ReplicaSet", "orders-canary-5d4f")]), split],
    ["of a set whose name begins alike", podOf([owner("ReplicaSet", "orders-more")]), split],
    ["of another kind's set", podOf([owner("ReplicaSet", "orders-5d4f")], rolloutHash), of("rollout")],
    ["of another kind of the name", podOf([owner("StatefulSet", "orders-5d4f")]), split],
    ["of a set of another API", podOf([owner("ReplicaSet", "orders-5d4f", "other/v1")]), split],
    ["of a deployment, for a stateful set", ordersPod, of("statefulset")],
    ["without a hash", podOf([owner("ReplicaSet", "orders-undefined")], { "pod-template-hash": undefined as never })],
    ["without a controller", podOf([{ ...owner("ReplicaSet", "orders-5d4f"), controller: false }])],
    ["without owners", podOf([])],
    ["of an operator", podOf([owner("ReplicaSet", "orders-5d4f")], { "operator.metalbear.co/owner": "other" })]
  ])("stays as it is: %s", (_, pod, by = split) => {
    expect(patchOf(reviewOf(pod), by)).toEqual({ uid: "review-1", patch: [] })
  })

  it.each([
    ["in another namespace", { namespace: "other" }],
    ["that is there already", { operation: "UPDATE" }],
    ["that is none", { kind: { kind: "ReplicaSet" } }]
  ])("stays as it is: %s", (_, change) => {
    expect(patchOf(reviewOf(ordersPod, change)).patch).toEqual([])
  })

  it("stays as it is if its split is over", () => {
    expect(Result.getOrThrow(reviewPod(undefined, reviewOf(ordersPod)))).toEqual({ uid: "review-1", patch: [] })
  })
})

describe("a review that cannot be read", () => {
  const asked = "Only API servers ask here."
  it.each([
    [[], `kind none, apiVersion none, request.uid none. ${asked}`],
    [
      { ...reviewOf({}), kind: "Pod" },
      `kind "Pod", apiVersion "admission.k8s.io/v1", request.uid "review-1". ${asked}`
    ],
    [{ ...reviewOf({}), apiVersion: "admission.k8s.io/v1beta1" }, 'apiVersion "admission.k8s.io/v1beta1"'],
    [reviewOf({}, { uid: 7 }), "request.uid none"]
  ])("is told what it has to be: %#", (review, found) => {
    expect(failureOf(reviewPod(split, review))).toContain(found)
  })
})
