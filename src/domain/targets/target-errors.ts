/**
 * Why a target cannot be used, as data; its sentence for the user, and the failure of the session that follows from it.
 *
 * Not here: finding the reason (pod-choice.ts, pod-owner.ts, pod-selector.ts, app/sessions/member).
 */

import type { FailureReason, SessionFailure } from "../resources/session-failure.ts"

/** Why a pod cannot be the target of an agent, in words of agent.md §1.4 and §1.8. */
export type PodProblem =
  | { readonly _tag: "MissingField"; readonly field: string }
  /** `why`: a clause in the words of its kubelet or scheduler, if they say one. */
  | { readonly _tag: "NotRunning"; readonly phase: string; readonly why?: string }
  | { readonly _tag: "InDeletion" }
  | { readonly _tag: "ContainerNotFound"; readonly container: string }
  | { readonly _tag: "NoViableContainer" }
  | { readonly _tag: "ContainerNotReady"; readonly container: string }
  | { readonly _tag: "UnreadableContainerId"; readonly container: string }

const describePodProblem = (problem: PodProblem): string => {
  switch (problem._tag) {
    case "MissingField":
      return `${problem.field} is missing`
    case "NotRunning":
      return `it is not running but ${[problem.phase, problem.why].filter((part) => part !== undefined).join(": ")}`
    case "InDeletion":
      return "it is in deletion"
    case "ContainerNotFound":
      return `it has no container ${problem.container}`
    case "NoViableContainer":
      return "it has no container that can be a target; name another one"
    case "ContainerNotReady":
      return `its container ${problem.container} is not ready`
    case "UnreadableContainerId":
      return `the id of its container ${problem.container} is not of runtime docker, containerd or cri-o`
  }
}

/** Why a target cannot be resolved in a cluster (agent.md §1.8). `target` is its path form. */
export type TargetError =
  | { readonly _tag: "NoSuchTarget"; readonly target: string; readonly namespace: string }
  /** `reference`: the path form of the workload that a Rollout refers to. */
  | {
      readonly _tag: "NoSuchReference"
      readonly target: string
      readonly reference: string
      readonly namespace: string
    }
  | { readonly _tag: "NoSuchKind"; readonly target: string; readonly resource: string }
  | { readonly _tag: "NoSuchContainer"; readonly target: string; readonly container: string }
  | {
      readonly _tag: "MissingSelector"
      readonly target: string
      readonly field: string
      readonly isService?: true
    }
  | { readonly _tag: "AmbiguousTemplate"; readonly target: string; readonly problem: string }
  | { readonly _tag: "UnknownWorkloadRef"; readonly target: string; readonly apiVersion: string; readonly kind: string }
  | { readonly _tag: "NoPodMatches"; readonly target: string; readonly selector: string }
  /** `pod`: the first of the pods with the target's labels, all of which other workloads own. */
  | { readonly _tag: "PodsOfOthers"; readonly target: string; readonly selector: string; readonly pod: string }
  | { readonly _tag: "NoPodUsable"; readonly target: string; readonly pods: number }
  | { readonly _tag: "LabelTargetNotReady"; readonly selector: string }
  | { readonly _tag: "PodNotUsable"; readonly pod: string; readonly problem: PodProblem }
  | { readonly _tag: "CopyTargetRequired"; readonly target: string }
  | { readonly _tag: "Forbidden"; readonly target: string; readonly detail: string }

const describeMissing = ({
  field,
  isService,
  target
}: Extract<TargetError, { readonly _tag: "MissingSelector" }>): string =>
  isService === true
    ? `${target} cannot be a target: its field ${field} is missing or empty; name the workload behind it`
    : `${target} cannot be a target: its field ${field} is missing or empty; name one of its pods`

const describe = (error: TargetError): string => {
  switch (error._tag) {
    case "NoSuchTarget":
      return `there is no ${error.target} in namespace ${error.namespace}`
    case "NoSuchReference":
      return (
        `${error.target} refers to ${error.reference} (spec.workloadRef), and there is no ${error.reference} in ` +
        `namespace ${error.namespace}`
      )
    case "NoSuchKind":
      return `there is no ${error.target}: the cluster does not know ${error.resource}`
    case "NoSuchContainer":
      return `${error.target} has no container ${error.container}`
    case "MissingSelector":
      return describeMissing(error)
    case "AmbiguousTemplate":
      return `${error.target} cannot be a target: ${error.problem}; take one of them out, or name one of its pods`
    case "UnknownWorkloadRef":
      return (
        `${error.target} refers to a workload of unknown kind ${error.apiVersion} ${error.kind}; ` +
        "name one of its pods"
      )
    case "NoPodMatches":
      return `${error.target} has no pods: none matches its labels ${error.selector}`
    case "PodsOfOthers":
      return (
        `${error.target} has no pods: those with its labels ${error.selector} are of other workloads, ` +
        `such as pod ${error.pod}`
      )
    case "NoPodUsable":
      return `none of the ${error.pods} pods of ${error.target} is ready to be targeted`
    case "LabelTargetNotReady":
      return `the label target is not ready: no pod with labels ${error.selector} is ready to be targeted`
    case "PodNotUsable":
      return `pod ${error.pod} cannot be targeted: ${describePodProblem(error.problem)}`
    case "CopyTargetRequired":
      return `${error.target} can only be used with a copy of it: set feature.copy_target`
    case "Forbidden":
      return `the operator may not look up ${error.target}: ${error.detail}`
  }
}

/** A pod that starts or ends is not ready. A pod that lacks something that an agent needs will never have it. */
const podReason = (problem: PodProblem): FailureReason => {
  switch (problem._tag) {
    case "ContainerNotFound":
      return "NoSuchTarget"
    case "NotRunning":
    case "InDeletion":
    case "ContainerNotReady":
      return "TargetNotReady"
    case "NoViableContainer":
      return "UnusableTarget"
    case "MissingField":
    case "UnreadableContainerId":
      return "Error"
  }
}

/**
 * The failure of the session. `NoSuchTarget` is only for objects that do not exist: a client gets 404, and a member is
 * left out at once. A workload without usable pods exists, and may become usable.
 */
export const targetFailure = (error: TargetError): SessionFailure => {
  const message = describe(error)
  switch (error._tag) {
    case "NoSuchTarget":
    case "NoSuchReference":
    case "NoSuchKind":
    case "NoSuchContainer":
      return { reason: "NoSuchTarget", message }
    case "PodNotUsable":
      return { reason: podReason(error.problem), message }
    case "Forbidden":
      return { reason: "Forbidden", message }
    case "NoPodMatches":
    case "PodsOfOthers":
    case "NoPodUsable":
    case "LabelTargetNotReady":
      return { reason: "TargetNotReady", message }
    case "MissingSelector":
    case "AmbiguousTemplate":
    case "UnknownWorkloadRef":
    case "CopyTargetRequired":
      return { reason: "UnusableTarget", message }
  }
}
