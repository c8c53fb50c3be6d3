import * as Result from "effect/Result"
import type { Pod } from "../resources/core-kinds.ts"
import { isBeingDeleted } from "../resources/object-meta.ts"
import { chooseContainer } from "./container-choice.ts"
import type { PodProblem, TargetError } from "./target-errors.ts"

export type ContainerRuntime = "docker" | "containerd" | "cri-o"

/** Where an agent is to be started: one ready container of one running pod (agent.md §1.6). */
export interface AgentPlacement {
  readonly podName: string
  readonly podNamespace: string
  readonly podUid: string | undefined
  /** All of the pod's addresses, IPv4 and IPv6. */
  readonly podIps: ReadonlyArray<string>
  readonly nodeName: string
  readonly containerName: string
  /** The bare id, without the runtime's prefix. */
  readonly containerId: string
  readonly runtime: ContainerRuntime
  /** The container was not named and there were others. */
  readonly guessed: boolean
  readonly shareProcessNamespace: boolean
}

const runtimes: ReadonlyArray<ContainerRuntime> = ["docker", "containerd", "cri-o"]

const parseContainerId = (
  text: string | null | undefined
): { readonly runtime: ContainerRuntime; readonly id: string } | undefined => {
  const [prefix, id] = (text ?? "").split("://", 2)
  const runtime = runtimes.find((known) => known === prefix)
  return runtime === undefined || id === undefined || id === "" ? undefined : { runtime, id }
}

/** Checks a pod in the client's order, the first failure wins (agent.md §1.4). */
export const podPlacement = (pod: Pod, container: string | undefined): Result.Result<AgentPlacement, PodProblem> => {
  const { metadata, spec, status } = pod
  const missing = (field: string) => Result.fail({ _tag: "MissingField", field } as const)
  if (metadata.name === "") return missing("metadata.name")
  if (metadata.namespace === undefined || metadata.namespace === "") return missing("metadata.namespace")
  const phase = status?.phase ?? undefined
  if (phase === undefined) return missing("status.phase")
  if (phase !== "Running") return Result.fail({ _tag: "NotRunning", phase })
  if (isBeingDeleted(metadata)) return Result.fail({ _tag: "InDeletion" })
  const nodeName = spec?.nodeName ?? undefined
  if (nodeName === undefined || nodeName === "") return missing("spec.nodeName")
  const podIps = status?.podIPs ?? undefined
  if (podIps === undefined) return missing("status.podIPs")
  const statuses = status?.containerStatuses ?? undefined
  if (statuses === undefined) return missing("status.containerStatuses")
  const choice = chooseContainer(statuses, metadata.annotations, container)
  if (choice === undefined) {
    return Result.fail(
      container === undefined ? { _tag: "NoViableContainer" } : { _tag: "ContainerNotFound", container }
    )
  }
  const { name } = choice.status
  if (choice.status.ready !== true) return Result.fail({ _tag: "ContainerNotReady", container: name })
  const id = parseContainerId(choice.status.containerID)
  if (id === undefined) return Result.fail({ _tag: "UnreadableContainerId", container: name })
  return Result.succeed({
    podName: metadata.name,
    podNamespace: metadata.namespace,
    podUid: metadata.uid,
    podIps: podIps.flatMap(({ ip }) => (ip === undefined || ip === null || ip === "" ? [] : [ip])),
    nodeName,
    containerName: name,
    containerId: id.id,
    runtime: id.runtime,
    guessed: choice.guessed,
    shareProcessNamespace: spec?.shareProcessNamespace ?? false
  })
}

/** What the pods of a target were listed for. */
export interface PodSearch {
  /** Path form of the target. */
  readonly target: string
  /** The labels as `k=v,…`. */
  readonly selector: string
  readonly isLabelTarget: boolean
  /** The container that the user named. */
  readonly container: string | undefined
}

/**
 * Every pod in which an agent can be started, in list order; never empty. The first is the representative one:
 * environment, files, DNS and outgoing traffic come from it (agent.md §1.3).
 */
export const choosePods = (
  pods: ReadonlyArray<Pod>,
  search: PodSearch
): Result.Result<readonly [AgentPlacement, ...ReadonlyArray<AgentPlacement>], TargetError> => {
  const { target, selector } = search
  const placements = pods.flatMap((pod) => {
    const placement = podPlacement(pod, search.container)
    return Result.isSuccess(placement) ? [placement.success] : []
  })
  const [first, ...rest] = placements
  if (first !== undefined) return Result.succeed([first, ...rest])
  if (search.isLabelTarget) return Result.fail({ _tag: "LabelTargetNotReady", selector })
  if (pods.length === 0) return Result.fail({ _tag: "NoPodMatches", target, selector })
  return Result.fail({ _tag: "NoPodUsable", target, pods: pods.length })
}

/** A pod that is itself the target: the concrete reason is told. */
export const chooseSinglePod = (pod: Pod, container: string | undefined): Result.Result<AgentPlacement, TargetError> =>
  Result.mapError(podPlacement(pod, container), (problem) => ({
    _tag: "PodNotUsable",
    pod: pod.metadata.name,
    problem
  }))
