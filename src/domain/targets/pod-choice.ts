/**
 * Which pods of a target get an agent, and in which container: the rules of the real client, as pure functions of Pod
 * objects.
 *
 * Not here: by which labels pods are looked up (pod-selector.ts), whose they are (pod-owner.ts), and the choice among
 * containers (container-choice.ts).
 */

import * as Result from "effect/Result"
import { podProblems, whyNoNode } from "../pod-problem.ts"
import { parseIp } from "../protocol/ip-address.ts"
import type { ContainerStatus, Pod } from "../resources/core-kinds.ts"
import { isBeingDeleted, type OwnerReference } from "../resources/object-meta.ts"
import { chooseContainer } from "./container-choice.ts"
import type { PodProblem, TargetError } from "./target-errors.ts"

export type ContainerRuntime = "docker" | "containerd" | "cri-o"

/** The service mesh whose sidecars are in a pod. */
export type Mesh = "istio" | "istio-cni" | "istio-ambient" | "linkerd" | "kuma"

/** Where an agent is to be started: one ready container of one running pod (agent.md §1.6). */
export interface AgentPlacement {
  readonly podName: string
  readonly podNamespace: string
  readonly podUid: string | undefined
  readonly podLabels: Readonly<Record<string, string>>
  readonly podOwners: ReadonlyArray<OwnerReference>
  /** The pod's addresses, one IPv4 and one IPv6 at most. */
  readonly podIps: ReadonlyArray<string>
  readonly nodeName: string
  readonly containerName: string
  /** The bare id, without the runtime's prefix. */
  readonly containerId: string
  readonly runtime: ContainerRuntime
  /** The user named no container, and the pod has several. */
  readonly guessed: boolean
  readonly shareProcessNamespace: boolean
  readonly mesh: Mesh | undefined
  /** Agents that run in the pod as ephemeral containers, by the names of these; missing if there are none. */
  readonly ephemeralAgents?: ReadonlyArray<string>
}

const runtimes: ReadonlyArray<ContainerRuntime> = ["docker", "containerd", "cri-o"]

const parseContainerId = (
  text: string | null | undefined
): { readonly runtime: ContainerRuntime; readonly id: string } | undefined => {
  const [prefix, id] = (text ?? "").split("://", 2)
  const runtime = runtimes.find((known) => known === prefix)
  return runtime === undefined || id === undefined || id === "" ? undefined : { runtime, id }
}

const missing = (field: string): Result.Result<never, PodProblem> => Result.fail({ _tag: "MissingField", field })

const notRunning = (pod: Pod, phase: string): PodProblem => {
  const why = podProblems(pod, [])[0]?.reason ?? whyNoNode(pod)
  return { _tag: "NotRunning", phase, ...(why !== undefined && { why }) }
}

/** The namespace of a pod that runs and is not being deleted. */
const runningPodNamespace = (pod: Pod): Result.Result<string, PodProblem> => {
  const { metadata, status } = pod
  if (metadata.name === "") return missing("metadata.name")
  if (metadata.namespace === undefined || metadata.namespace === "") return missing("metadata.namespace")
  const phase = status?.phase ?? undefined
  if (phase === undefined) return missing("status.phase")
  if (phase !== "Running") return Result.fail(notRunning(pod, phase))
  return isBeingDeleted(metadata) ? Result.fail({ _tag: "InDeletion" }) : Result.succeed(metadata.namespace)
}

/** The fields that the cluster sets on a pod once the pod has a node. */
interface ScheduledPod {
  readonly nodeName: string
  readonly podIps: ReadonlyArray<string>
  readonly containers: ReadonlyArray<ContainerStatus>
}

/**
 * The pod's first address of each family. An agent that gets two of one family does not redirect connections that the
 * pod makes to itself (agent.md §2.4).
 */
const oneOfEachFamily = (podIps: ReadonlyArray<{ readonly ip?: string | null }>): ReadonlyArray<string> => {
  const addresses = podIps.flatMap(({ ip }) => (ip && parseIp(ip) !== undefined ? [ip] : []))
  const isV6 = (address: string): boolean => address.includes(":")
  return addresses.filter((address, at) => addresses.findIndex((other) => isV6(other) === isV6(address)) === at)
}

const scheduledPod = ({ spec, status }: Pod): Result.Result<ScheduledPod, PodProblem> => {
  const nodeName = spec?.nodeName ?? ""
  if (nodeName === "") return missing("spec.nodeName")
  const podIps = status?.podIPs ?? undefined
  if (podIps === undefined) return missing("status.podIPs")
  const containers = status?.containerStatuses ?? undefined
  if (containers === undefined) return missing("status.containerStatuses")
  return Result.succeed({ nodeName, containers, podIps: oneOfEachFamily(podIps) })
}

type PlacedContainer = Pick<AgentPlacement, "containerName" | "containerId" | "runtime" | "guessed">

const readyContainer = (
  containers: ReadonlyArray<ContainerStatus>,
  annotations: Pod["metadata"]["annotations"],
  named: string | undefined
): Result.Result<PlacedContainer, PodProblem> => {
  const choice = chooseContainer(containers, annotations, named)
  if (choice === undefined) {
    return Result.fail(
      named === undefined ? { _tag: "NoViableContainer" } : { _tag: "ContainerNotFound", container: named }
    )
  }
  const { containerID, name, ready } = choice.status
  if (ready !== true) return Result.fail({ _tag: "ContainerNotReady", container: name })
  const parsed = parseContainerId(containerID)
  return parsed === undefined
    ? Result.fail({ _tag: "UnreadableContainerId", container: name })
    : Result.succeed({
        containerName: name,
        containerId: parsed.id,
        runtime: parsed.runtime,
        guessed: choice.guessed
      })
}

/** Without any status of an init container there is no mesh, but for Istio's ambient mode (agent.md §1.9). */
const meshOf = ({ metadata, status }: Pod): Mesh | undefined => {
  if (metadata.annotations?.["ambient.istio.io/redirection"] === "enabled") return "istio-ambient"
  const init = status?.initContainerStatuses ?? []
  if (init.length === 0) return undefined
  const names = new Set([...init, ...(status?.containerStatuses ?? [])].map(({ name }) => name))
  const has = (...any: ReadonlyArray<string>): boolean => any.some((name) => names.has(name))
  if (has("istio-proxy") && has("istio-validation")) return "istio-cni"
  if (has("istio-proxy", "istio-init")) return "istio"
  if (has("linkerd-proxy", "linkerd-init")) return "linkerd"
  return has("kuma-sidecar", "kuma-init") ? "kuma" : undefined
}

/** Agents in the pod itself, from this operator or another of mirrord's programs: all name them so. */
const ephemeralAgentsOf = ({ status }: Pod): ReadonlyArray<string> =>
  (status?.ephemeralContainerStatuses ?? []).flatMap(({ name, state }) =>
    name.startsWith("mirrord-agent-") && state?.running !== undefined && state.running !== null ? [name] : []
  )

/** Checks a pod in the client's order: the first failure wins (agent.md §1.4). `named`: the user's container. */
export const podPlacement = (pod: Pod, named: string | undefined): Result.Result<AgentPlacement, PodProblem> =>
  Result.gen(function* () {
    const podNamespace = yield* runningPodNamespace(pod)
    const { containers, nodeName, podIps } = yield* scheduledPod(pod)
    const container = yield* readyContainer(containers, pod.metadata.annotations, named)
    const ephemeralAgents = ephemeralAgentsOf(pod)
    return {
      podName: pod.metadata.name,
      podNamespace,
      podUid: pod.metadata.uid,
      podLabels: pod.metadata.labels ?? {},
      podOwners: pod.metadata.ownerReferences ?? [],
      podIps,
      nodeName,
      ...container,
      shareProcessNamespace: pod.spec?.shareProcessNamespace ?? false,
      mesh: meshOf(pod),
      ...(ephemeralAgents.length === 0 ? {} : { ephemeralAgents })
    }
  })

/** The target for which pods were listed. */
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
 * Whether the cluster takes the pod for not ready although all its containers are. For minutes this is the only sign of
 * a lost node: its kubelet reports nothing about the containers any more.
 */
const isAway = ({ status }: Pod): boolean =>
  (status?.containerStatuses ?? []).every(({ ready }) => ready === true) &&
  (status?.conditions ?? []).some((condition) => condition.type === "Ready" && condition.status === "False")

/**
 * Every pod in which an agent can be started, in list order; never empty. The first is the representative: environment,
 * files, DNS and outgoing traffic come from it (agent.md §1.3). A pod whose node seems lost counts only if there is no
 * other (agent.md §1.4).
 */
export const choosePods = (
  pods: ReadonlyArray<Pod>,
  search: PodSearch
): Result.Result<readonly [AgentPlacement, ...ReadonlyArray<AgentPlacement>], TargetError> => {
  const { target, selector } = search
  const usable = pods.flatMap((pod) => {
    const placement = podPlacement(pod, search.container)
    return Result.isSuccess(placement) ? [{ placement: placement.success, isAway: isAway(pod) }] : []
  })
  const present = usable.filter((found) => !found.isAway)
  const [first, ...rest] = (present.length > 0 ? present : usable).map(({ placement }) => placement)
  if (first !== undefined) return Result.succeed([first, ...rest])
  if (search.isLabelTarget) return Result.fail({ _tag: "LabelTargetNotReady", selector })
  if (pods.length === 0) return Result.fail({ _tag: "NoPodMatches", target, selector })
  return Result.fail({ _tag: "NoPodUsable", target, pods: pods.length })
}

/** The placement in a pod that is itself the target. Reports the exact problem, since there is no other pod to try. */
export const chooseSinglePod = (pod: Pod, container: string | undefined): Result.Result<AgentPlacement, TargetError> =>
  Result.mapError(podPlacement(pod, container), (problem) => ({
    _tag: "PodNotUsable",
    pod: pod.metadata.name,
    problem
  }))
