/**
 * Which container of a pod a session is for: the rules of the real client (agent.md §1.5).
 *
 * Not here: whether the pod can be a target at all (pod-choice.ts).
 */

import type { ContainerStatus } from "../resources/core-kinds.ts"

/** Sidecars that are chosen only if the pod has nothing else (agent.md §1.5). */
const skipList: ReadonlySet<string> = new Set([
  "kuma-sidecar",
  "kuma-init",
  "istio-proxy",
  "istio-init",
  "linkerd-proxy",
  "linkerd-init",
  "vault-agent",
  "vault-agent-init",
  "queue-proxy",
  "traffic-agent"
])

/** Whether a container belongs to a mesh or a tool, and not to the application. */
export const isInfraContainer = (name: string): boolean => skipList.has(name)

/** Annotation of a pod with the container that is meant where none is named, also by `kubectl`. */
export const defaultContainerAnnotation = "kubectl.kubernetes.io/default-container"

export interface ContainerChoice {
  readonly status: ContainerStatus
  /** The user named no container and there were several (session/representative-news.ts reports it). */
  readonly guessed: boolean
}

/**
 * Chooses a container: the named container; else the annotated default, if it exists; else the first that is not on the
 * skip list; else the first. The order is that of `status.containerStatuses`, which the kubelet sorts by name.
 * Undefined if there is none, or none of that name.
 */
export const chooseContainer = (
  statuses: ReadonlyArray<ContainerStatus>,
  annotations: Readonly<Record<string, string>> | null | undefined,
  named: string | undefined
): ContainerChoice | undefined => {
  const byName = (name: string | undefined) => statuses.find((status) => status.name === name)
  if (named !== undefined) {
    const status = byName(named)
    return status === undefined ? undefined : { status, guessed: false }
  }
  const annotated = byName(annotations?.[defaultContainerAnnotation])
  if (annotated !== undefined) return { status: annotated, guessed: false }
  const candidates = statuses.filter((status) => !isInfraContainer(status.name))
  const pool = candidates.length > 0 ? candidates : statuses
  const status = pool[0]
  return status === undefined ? undefined : { status, guessed: pool.length > 1 }
}
