/**
 * Whether a pod is a workload's own, by nothing but the pod. The selector of a webhook also finds pods of other
 * workloads that have the same labels, such as those of a canary.
 *
 * Not here: the same where ReplicaSets can be read (targets/pod-owner.ts).
 */

import { asObjects, asString, at } from "../json.ts"
import { ownerLabel } from "../sessions/names.ts"
import { kindAddress } from "../targets/target.ts"
import type { SplitWorkload } from "./chosen-configuration.ts"

/** A workload whose pods get the names of temporary queues. */
export type PatchedWorkload = Omit<SplitWorkload, "container">

/** The label by which the ReplicaSets of a workload tell their pods apart; `undefined` if the kind has none. */
export const hashLabel = (kind: PatchedWorkload["kind"]): string | undefined => {
  if (kind === "rollout") return "rollouts-pod-template-hash"
  return kind === "deployment" ? "pod-template-hash" : undefined
}

/** The name that the controller of a pod has if the pod is the workload's. `labels`: of the pod. */
const controllerName = ({ kind, name }: PatchedWorkload, labels: unknown): string | undefined => {
  const label = hashLabel(kind)
  if (label === undefined) return name
  const hash = asString(at(labels, label))
  return hash === undefined ? undefined : `${name}-${hash}`
}

/**
 * Whether a pod is of a workload. Its controller must be the workload, or the ReplicaSet that the workload has made of
 * its template: the set's name is the workload's with a hash, and the set gives the hash to its pods as a label. That
 * is more than a prefix: pods of the set `orders-canary-5d4f` have the hash `5d4f`, so they are not of `orders`. A pod
 * without a controller is no workload's, and neither are pods that an operator made (agents, copies, branches).
 */
export const isPodOf = (pod: unknown, workload: PatchedWorkload): boolean => {
  const labels = at(pod, "metadata", "labels")
  if (Object.keys(ownerLabel).some((label) => at(labels, label) !== undefined)) return false
  const owner = asObjects(at(pod, "metadata", "ownerReferences")).find(({ controller }) => controller === true)
  const { group, kind } = kindAddress(hashLabel(workload.kind) === undefined ? workload.kind : "replicaset")
  return (
    owner?.["kind"] === kind &&
    String(owner["apiVersion"]).startsWith(`${group}/`) &&
    owner["name"] === controllerName(workload, labels)
  )
}
