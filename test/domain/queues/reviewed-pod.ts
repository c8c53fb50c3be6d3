import { applyJsonPatch } from "../../../lab/cluster/http/patches.ts"
import { asObject, type JsonObject } from "../../../src/domain/json.ts"
import type { PatchOperation } from "../../../src/domain/queues/pod-patch.ts"
import type { PatchingSplit } from "../../../src/domain/queues/pod-review.ts"

export const split: PatchingSplit = {
  uid: "uid-1",
  workload: { namespace: "shop", kind: "deployment", name: "orders" },
  updates: new Map([["app", new Map([["QUEUE", "main-orders"]])]])
}

/** The controller of a pod. */
export const owner = (kind: string, name: string, apiVersion = "apps/v1") => ({
  apiVersion,
  kind,
  name,
  uid: "uid-of-owner",
  controller: true
})

/** A new pod of the deployment `orders`, before it has a name. */
export const ordersPod = {
  metadata: {
    generateName: "orders-5d4f-",
    labels: { app: "orders", "pod-template-hash": "5d4f" },
    ownerReferences: [owner("ReplicaSet", "orders-5d4f")]
  },
  spec: { containers: [{ name: "app", env: [{ name: "QUEUE", value: "orders" }] }] }
}

/** A review of a pod's creation, as an API server sends it. */
export const reviewOf = (object: object, change: object = {}) => ({
  kind: "AdmissionReview",
  apiVersion: "admission.k8s.io/v1",
  request: {
    uid: "review-1",
    kind: { group: "", version: "v1", kind: "Pod" },
    resource: { group: "", version: "v1", resource: "pods" },
    namespace: "shop",
    operation: "CREATE",
    object,
    ...change
  }
})

/** The pod as an API server stores it, which leaves empty values out. */
export const storedPod = (pod: JsonObject, patch: ReadonlyArray<PatchOperation> = []): JsonObject =>
  asObject(
    JSON.parse(
      JSON.stringify(applyJsonPatch(pod, patch), (key, value: unknown) =>
        key === "value" && value === "" ? undefined : value
      )
    )
  )
