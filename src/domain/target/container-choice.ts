import type { ContainerStatus } from "../resources/core-kinds.ts"

/** Sidecars that are never chosen while there is another container (agent.md §1.5). */
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

const defaultContainerAnnotation = "kubectl.kubernetes.io/default-container"

export interface ContainerChoice {
  readonly status: ContainerStatus
  /** There were other candidates and nobody named one: the user is told which was taken. */
  readonly guessed: boolean
}

/**
 * The container of a pod that a session is about: the named one; else the annotated default, if it exists; else the
 * first that is on no skip list; else the first. "First" is in the order of `status.containerStatuses`, which kubelet
 * sorts by name.
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
  const candidates = statuses.filter((status) => !skipList.has(status.name))
  const pool = candidates.length > 0 ? candidates : statuses
  const status = pool[0]
  return status === undefined ? undefined : { status, guessed: pool.length > 1 }
}
