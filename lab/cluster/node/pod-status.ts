/**
 * From the kubelet's records of containers to the fields of `pod.status`: phase, conditions, container statuses. Pure:
 * `pod-worker.ts` keeps the records and writes the status.
 */

import { kubeTime } from "../schema/kube-object.ts"
import { type Condition, withConditions } from "../store/store-access.ts"
import type { ContainerLog } from "./container-log.ts"
import { type ContainerSpec, isSidecar } from "./pod-spec.ts"

export type ContainerState =
  | { readonly _tag: "Waiting"; readonly reason: string; readonly message?: string }
  | { readonly _tag: "Running"; readonly startedAt: number }
  | {
      readonly _tag: "Terminated"
      readonly exitCode: number
      /** The end of the log of a container that failed, if its specification asks for it. */
      readonly message?: string
      readonly startedAt: number
      readonly finishedAt: number
      readonly containerId: string
    }

/** The kubelet's record of one container. */
export interface ContainerRecord {
  readonly spec: ContainerSpec
  state: ContainerState
  /** The end of the previous run. */
  lastState: ContainerState | undefined
  /** The id of the newest run, `<runtime>://<hex>`; "" before the first run. */
  containerId: string
  restartCount: number
  /** Whether its startupProbe has passed, where it has one. */
  started: boolean
  ready: boolean
  log: ContainerLog | undefined
  previousLog: ContainerLog | undefined
}

export const newContainerRecord = (spec: ContainerSpec): ContainerRecord => ({
  spec,
  state: { _tag: "Waiting", reason: "ContainerCreating" },
  lastState: undefined,
  containerId: "",
  restartCount: 0,
  started: false,
  ready: false,
  log: undefined,
  previousLog: undefined
})

const stateField = (state: ContainerState): Readonly<Record<string, unknown>> => {
  switch (state._tag) {
    case "Waiting":
      return { waiting: { reason: state.reason, ...(state.message === undefined ? {} : { message: state.message }) } }
    case "Running":
      return { running: { startedAt: kubeTime(state.startedAt) } }
    case "Terminated":
      return {
        terminated: {
          exitCode: state.exitCode,
          reason: state.exitCode === 0 ? "Completed" : "Error",
          ...(state.message === undefined ? {} : { message: state.message }),
          startedAt: kubeTime(state.startedAt),
          finishedAt: kubeTime(state.finishedAt),
          containerID: state.containerId
        }
      }
  }
}

/** Sorted by name, as a kubelet sorts them (agent.md §1.5). */
const containerStatuses = (records: ReadonlyArray<ContainerRecord>): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  records
    .toSorted((a, b) => (a.spec.name < b.spec.name ? -1 : 1))
    .map((record) => ({
      name: record.spec.name,
      image: record.spec.image,
      imageID: record.containerId === "" ? "" : record.spec.image,
      ...(record.containerId === "" ? {} : { containerID: record.containerId }),
      ready: record.ready,
      started: record.started,
      restartCount: record.restartCount,
      state: stateField(record.state),
      lastState: record.lastState === undefined ? {} : stateField(record.lastState)
    }))

export interface PodFacts {
  readonly ip: string
  readonly startedAt: number
  readonly now: number
  readonly initialized: boolean
  /** Set when no container will run again. */
  readonly outcome: "Succeeded" | "Failed" | undefined
  readonly initContainers: ReadonlyArray<ContainerRecord>
  readonly containers: ReadonlyArray<ContainerRecord>
  readonly ephemeralContainers: ReadonlyArray<ContainerRecord>
  /** `status.conditions` so far. */
  readonly conditions: unknown
}

const hasStarted = (record: ContainerRecord): boolean =>
  record.state._tag !== "Waiting" || record.lastState !== undefined

/** The fields of `pod.status` that the kubelet writes. */
export const podStatus = (facts: PodFacts): Readonly<Record<string, unknown>> => {
  const lasting = [...facts.initContainers.filter(({ spec }) => isSidecar(spec)), ...facts.containers]
  const unready = lasting.filter((record) => !record.ready).map((record) => record.spec.name)
  const ready = facts.outcome === undefined && unready.length === 0
  const why =
    facts.outcome === undefined
      ? { reason: "ContainersNotReady", message: `containers with unready status: [${unready.join(" ")}]` }
      : { reason: facts.outcome === "Succeeded" ? "PodCompleted" : "PodFailed" }
  const readiness: Omit<Condition, "type"> = ready ? { status: "True" } : { status: "False", ...why }
  return {
    phase: facts.outcome ?? (facts.initialized && facts.containers.every(hasStarted) ? "Running" : "Pending"),
    hostIP: "127.0.0.1",
    hostIPs: [{ ip: "127.0.0.1" }],
    podIP: facts.ip,
    podIPs: [{ ip: facts.ip }],
    startTime: kubeTime(facts.startedAt),
    ...(facts.initContainers.length === 0 ? {} : { initContainerStatuses: containerStatuses(facts.initContainers) }),
    containerStatuses: containerStatuses(facts.containers),
    ...(facts.ephemeralContainers.length === 0
      ? {}
      : { ephemeralContainerStatuses: containerStatuses(facts.ephemeralContainers) }),
    conditions: withConditions(
      facts.conditions,
      [
        { type: "PodScheduled", status: "True" },
        facts.initialized
          ? { type: "Initialized", status: "True" }
          : { type: "Initialized", status: "False", reason: "ContainersNotInitialized" },
        { type: "ContainersReady", ...readiness },
        { type: "Ready", ...readiness }
      ],
      kubeTime(facts.now)
    )
  }
}
