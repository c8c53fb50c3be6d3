/**
 * The user as whom a container runs, and what root alone may do there. The kubelet refuses a container that would run
 * as root where it must not. Nothing here runs as another user: a program learns its own and is kept from what that may
 * not.
 */

import { Result } from "effect"
import type { AgentTarget } from "./agent-target.ts"
import type { ContainerSpec, PodSpec } from "./pod-spec.ts"

/** A container of a pod, as far as its user goes. `imageUser`: that of its image. */
export interface UserOptions {
  readonly pod: { readonly name: string; readonly spec: PodSpec }
  readonly container: ContainerSpec
  readonly imageUser: number
}

/** The user's id, or why the kubelet does not create the container, in its words (verifyRunAsNonRoot). */
export const containerUser = ({ container, imageUser, pod }: UserOptions): Result.Result<number, string> => {
  const given = container.securityContext ?? {}
  const runAsUser = given.runAsUser ?? pod.spec.securityContext?.runAsUser
  const user = runAsUser ?? imageUser
  const mustNotBeRoot = (given.runAsNonRoot ?? pod.spec.securityContext?.runAsNonRoot) === true
  if (!mustNotBeRoot || user !== 0) return Result.succeed(user)
  const where = `(pod: "${pod.name}", container: ${container.name})`
  return Result.fail(
    runAsUser === undefined
      ? `container has runAsNonRoot and image will run as root ${where}`
      : `container's runAsUser breaks non-root policy ${where}`
  )
}

/** A target as an agent of another user than root sees it: capabilities that were added do not become effective. */
export const asUser = (user: number, target: AgentTarget | undefined): AgentTarget | undefined =>
  user === 0 || target === undefined
    ? target
    : {
        ...target,
        env: new Map(),
        root: "/nonexistent",
        redirect: () => {
          throw new Error("iptables: Permission denied (you must be root)")
        }
      }
