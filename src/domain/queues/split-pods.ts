/**
 * The pods of a workload as the plan of its split sees them.
 *
 * Not here: which pods are the workload's own (pod-of-workload.ts).
 */

import { asObjects, at } from "../json.ts"
import { pods } from "../resources/core-kinds.ts"
import type { StoredObject } from "../resources/kept-fields.ts"
import { isBeingDeleted, timeOf } from "../resources/object-meta.ts"
import type { WatchedResource } from "../resources/resource-descriptor.ts"
import type { WorkloadPod } from "./observed-split.ts"
import { patchedLabel } from "./pod-patch.ts"

const isReady = (pod: StoredObject): boolean =>
  asObjects(at(pod, "status", "conditions")).some(({ status, type }) => type === "Ready" && status === "True")

const hasEnded = (pod: StoredObject): boolean => ["Succeeded", "Failed"].includes(String(at(pod, "status", "phase")))

/** Pods as a split follows them: their metadata, and whether they are ready. A pod that has ended counts as gone. */
export const splitPods: Omit<WatchedResource<unknown>, "schema"> = {
  ...pods,
  keeps: (pod) => {
    if (hasEnded(pod)) return undefined
    const { annotations: _, finalizers: __, ...metadata } = pod.metadata
    const conditions = isReady(pod) ? [{ type: "Ready", status: "True" }] : []
    return { metadata, status: { conditions } }
  }
}

export const workloadPod = (pod: StoredObject): WorkloadPod => ({
  patchedBy: pod.metadata.labels?.[patchedLabel],
  isReady: isReady(pod),
  isTerminating: isBeingDeleted(pod.metadata),
  bornAt: timeOf(pod.metadata.creationTimestamp) ?? 0
})
