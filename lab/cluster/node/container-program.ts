/**
 * The contract between the kubelet and the programs that stand for images: the process of a container as a function,
 * and its surroundings as an argument. Programs are in the playground and in `process-program.ts`.
 */

import type { Duplex } from "node:stream"
import { type Effect, type Scope, Schema } from "effect"
import type { Endpoint } from "../network/endpoint.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { AgentTarget } from "./agent-target.ts"

/** A port of the pod could not be opened. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  ip: Schema.String,
  port: Schema.Number,
  reason: Schema.String
}) {
  override get message() {
    return `cannot listen on ${this.ip}:${this.port}: ${this.reason}`
  }
}

/** A running container, as its neighbours on the node see it. */
export interface RunningContainer {
  readonly namespace: string
  readonly pod: string
  readonly podUid: string
  readonly container: string
  /** With the runtime's prefix, such as `containerd://<hex>`, as in `status.containerStatuses`. */
  readonly containerId: string
  readonly podIp: string
}

/** The surroundings of a program, in place of an operating system. */
export interface ContainerContext {
  /** The pod as it was when the container started. */
  readonly pod: KubeObject
  readonly containerName: string
  /** Of an ephemeral container: the container whose processes it sees. */
  readonly targetContainerName?: string | undefined
  readonly podIp: string
  /**
   * With all values resolved: `value`, `valueFrom`, `envFrom`, `$(VAR)`, and `KUBERNETES_SERVICE_*`. Nothing from the
   * environment of the kubelet's own process.
   */
  readonly env: ReadonlyMap<string, string>
  /** The user as whom it would run. An agent that is not root can do little with its target. */
  readonly userId: number
  /** `command` followed by `args`, `$(VAR)` expanded. */
  readonly args: ReadonlyArray<string>
  /** The folder on this machine that is the container's `/`. It survives restarts of the container. */
  readonly root: string
  /** The seconds in which the program must end. Ask when the stop comes: a delete request may have shortened it. */
  readonly gracePeriodSeconds: () => number
  /** One line of the container's log, without line end. */
  readonly log: (line: string) => void
  /** Says that the program serves. {@link ContainerProgram} says when a program must call it. */
  readonly ready: () => void
  /**
   * Opens a port on the pod's address until the scope closes; then its connections are cut, as if the process had died.
   * Sockets may be half open: a program that receives `end` must call `end()` (HTTP servers do).
   */
  readonly listen: (
    port: number,
    onConnection: (socket: Duplex, source: Endpoint) => void
  ) => Effect.Effect<void, ListenError, Scope.Scope>
  /** A running container of this node as an agent's target, by its id, with or without `<runtime>://`. */
  readonly target: (containerId: string) => AgentTarget | undefined
  /** All running containers of this node. */
  readonly onNode: () => ReadonlyArray<RunningContainer>
  /** The address to dial for an address of the cluster (see `Kubelet.reach`). */
  readonly reach: (endpoint: Endpoint) => Endpoint
}

/**
 * The process of a container. The result is its exit code; a defect counts as exit code 1 and goes to the log;
 * interruption is SIGTERM, and the scope's finalizers are the program's clean-up within the grace period.
 *
 * With `signalsReady: true` the container is ready once the program calls `ready()`; otherwise one turn of the event
 * loop after its start, or at `ready()` if that comes sooner. A `readinessProbe` in the pod must succeed in addition.
 */
export interface ContainerProgram {
  (container: ContainerContext): Effect.Effect<number, never, Scope.Scope>
  readonly signalsReady?: boolean
  /** The user of the image; root unless given. */
  readonly userId?: number
  /**
   * Runs another command in a container, such as that of a probe, and has its exit code; `undefined` if it has none.
   */
  readonly exec?: (container: ContainerContext, command: ReadonlyArray<string>) => Effect.Effect<number>
}

/** Marks a program that becomes ready only by calling `ready()`. */
export const signalsReady = (
  program: (container: ContainerContext) => Effect.Effect<number, never, Scope.Scope>
): ContainerProgram => Object.assign((container: ContainerContext) => program(container), { signalsReady: true })

/** Image name without tag and digest → program. */
export type ImageRegistry = ReadonlyMap<string, ContainerProgram>
