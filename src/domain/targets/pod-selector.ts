/**
 * By which labels the pods of a target are found, and what keeps a workload from being a target (agent.md §1.2, §1.7).
 *
 * Not here: reading objects from the API server, which of the pods are the workload's own (pod-owner.ts), and which are
 * usable (pod-choice.ts).
 */

import * as Order from "effect/Order"
import * as Result from "effect/Result"
import type { Pod, Service, Workload } from "../resources/core-kinds.ts"
import type { LabelRequirements } from "./label-requirements.ts"
import type { TargetError } from "./target-errors.ts"

/** Labels that all pods of a target have. */
export type PodLabels = Readonly<Record<string, string>>

/** How a workload's pods are found. */
export type WorkloadSelector =
  /** By labels, and of the pods with these labels those that meet the requirements. */
  | { readonly _tag: "Labels"; readonly labels: PodLabels; readonly requirements: LabelRequirements }
  /** An Argo Rollout without a selector: its pods have the labels of the workload that it refers to. */
  | {
      readonly _tag: "Reference"
      readonly kind: "Deployment" | "ReplicaSet" | "StatefulSet" | "PodTemplate"
      readonly name: string
    }

/** The query parameter `labelSelector`: terms `k=v`, joined by commas, sorted by key. */
export const labelSelectorText = (labels: PodLabels): string =>
  Object.entries(labels)
    .sort(Order.mapInput(Order.String, ([key]) => key))
    .map(([key, value]) => `${key}=${value}`)
    .join(",")

const referenceKinds = ["Deployment", "ReplicaSet", "StatefulSet"] as const

const reference = (
  target: string,
  ref: { readonly apiVersion: string; readonly kind: string; readonly name: string }
) => {
  const workload = referenceKinds.find((kind) => ref.apiVersion === "apps/v1" && kind === ref.kind)
  const kind = ref.apiVersion === "v1" && ref.kind === "PodTemplate" ? "PodTemplate" : workload
  return kind === undefined
    ? Result.fail({ _tag: "UnknownWorkloadRef", target, apiVersion: ref.apiVersion, kind: ref.kind } as const)
    : Result.succeed({ _tag: "Reference", kind, name: ref.name } as const)
}

/**
 * The selector of a deployment, replica set, stateful set, job or rollout (agent.md §1.2). An empty selector would
 * match every pod of the namespace, so it counts as missing, as it does for the real client where it has nothing but
 * `matchExpressions`. `target`: the path form, for errors.
 */
export const workloadSelector = (target: string, workload: Workload): Result.Result<WorkloadSelector, TargetError> => {
  const { selector, template, workloadRef } = workload.spec ?? {}
  if (workloadRef !== undefined && workloadRef !== null) {
    if (template !== undefined && template !== null) {
      return Result.fail({
        _tag: "AmbiguousTemplate",
        target,
        problem: "it has both spec.template and spec.workloadRef"
      })
    }
    if (selector === undefined || selector === null) return reference(target, workloadRef)
  }
  const labels = selector?.matchLabels
  return labels === undefined || labels === null || Object.keys(labels).length === 0
    ? Result.fail({ _tag: "MissingSelector", target, field: "spec.selector.matchLabels" })
    : Result.succeed({ _tag: "Labels", labels, requirements: selector?.matchExpressions ?? [] })
}

/** The selector of a service. A service without a selector, such as an ExternalName, cannot be a target. */
export const serviceSelector = (target: string, service: Service): Result.Result<PodLabels, TargetError> => {
  const labels = service.spec?.selector
  return labels === undefined || labels === null || Object.keys(labels).length === 0
    ? Result.fail({ _tag: "MissingSelector", target, field: "spec.selector", isService: true })
    : Result.succeed(labels)
}

/** The problem if the named container is not in the workload's own pod template (agent.md §1.7). */
export const templateProblem = (
  target: string,
  workload: Workload,
  container: string | undefined
): TargetError | undefined => {
  const containers = workload.spec?.template?.spec?.containers
  if (container === undefined || containers === undefined || containers === null) return undefined
  return containers.some(({ name }) => name === container) ? undefined : { _tag: "NoSuchContainer", target, container }
}

/** The problem if no pod of a service has the named container in its spec. */
export const servicePodsProblem = (
  target: string,
  pods: ReadonlyArray<Pod>,
  container: string | undefined
): TargetError | undefined =>
  container === undefined ||
  pods.length === 0 ||
  pods.some((pod) => pod.spec?.containers?.some(({ name }) => name === container))
    ? undefined
    : { _tag: "NoSuchContainer", target, container }
