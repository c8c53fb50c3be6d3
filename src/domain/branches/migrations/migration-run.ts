/**
 * Reads from the Job of a branch's migrations, and from its pods, how far the run is, and why it failed.
 *
 * Not here: what follows from it (migration-plan.ts).
 */

import { asNumber, asObjects, asString, at, type JsonObject } from "../../json.ts"
import { type ObjectMeta, timeOf } from "../../resources/object-meta.ts"
import { type BranchPodState, branchPodState } from "../branch-pod-state.ts"
import { digestAnnotation, maxRun, migrationsContainer } from "./migration-job.ts"

/** How far a run is. A `reason` is a clause. */
export type RunState =
  /** Its program has not begun. `hasPod`: whether its pod is made. */
  | { readonly _tag: "Waiting"; readonly hasPod: boolean }
  | { readonly _tag: "Running" }
  /**
   * Its program cannot begin until the cluster changes; then it begins by itself. `pulledSince`: since when its node
   * may have tried to pull its image, epoch ms, if that is the reason.
   */
  | { readonly _tag: "Stuck"; readonly reason: string; readonly pulledSince?: number }
  | { readonly _tag: "Succeeded" }
  | { readonly _tag: "Failed"; readonly reason: string }
  /** It ended without its program having ended, at `since`, epoch ms. */
  | { readonly _tag: "Lost"; readonly reason: string; readonly since: number }

/** The run of a branch's migrations. */
export type MigrationRun =
  | { readonly _tag: "None" }
  /** A run was given up, and its program may not have ended. */
  | { readonly _tag: "Ending" }
  | {
      readonly _tag: "Job"
      readonly name: string
      readonly uid: string
      readonly generation: number
      /** The mark of what it runs. */
      readonly digest: string
      readonly state: RunState
    }

/** An object with its metadata, as the API server has it. */
type RunObject = JsonObject & { readonly metadata: ObjectMeta }

const isBeingDeleted = (object: JsonObject): boolean => at(object, "metadata", "deletionTimestamp") !== undefined

const phaseOf = (pod: JsonObject): string | undefined => asString(at(pod, "status", "phase"))

const isActive = (pod: JsonObject): boolean => phaseOf(pod) !== "Succeeded" && phaseOf(pod) !== "Failed"

const containerStatus = (pod: JsonObject): JsonObject | undefined =>
  asObjects(at(pod, "status", "containerStatuses")).find(({ name }) => name === migrationsContainer)

const hasSucceeded = (pod: JsonObject): boolean =>
  asNumber(at(containerStatus(pod), "state", "terminated", "exitCode")) === 0

const conditionOf = (job: JsonObject, type: string): JsonObject | undefined =>
  asObjects(at(job, "status", "conditions")).find((one) => one["type"] === type && one["status"] === "True")

/** How a pod failed; `undefined` if it did not, or was deleted before its container had a status. */
const failureOf = (pod: JsonObject): Extract<BranchPodState, { readonly _tag: "Over" }> | undefined => {
  if (isBeingDeleted(pod) && containerStatus(pod) === undefined) return undefined
  const state = branchPodState({ ...pod, metadata: {} })
  return state._tag === "Over" ? state : undefined
}

/** A time of an object, epoch ms; 0: it has none. */
const timeIn = (time: unknown): number => timeOf(asString(time)) ?? 0

/** How a pod keeps its run from beginning; `undefined` if it does not. */
const stuckBy = (pod: JsonObject): RunState | undefined => {
  const failure = failureOf(pod)
  if (failure === undefined) return undefined
  const { isPull, reason } = failure
  return { _tag: "Stuck", reason, ...(isPull === true ? { pulledSince: timeIn(at(pod, "status", "startTime")) } : {}) }
}

/** The state of a Job that has failed. */
const failed = (condition: JsonObject, pods: ReadonlyArray<JsonObject>): RunState => {
  if (condition["reason"] === "DeadlineExceeded") {
    return { _tag: "Failed", reason: `they were not complete after ${maxRun / 60} minutes` }
  }
  const [failure] = pods.flatMap((pod) => failureOf(pod) ?? [])
  if (failure !== undefined) return { _tag: "Failed", reason: failure.reason }
  return { _tag: "Lost", reason: "their pod is gone", since: timeIn(condition["lastTransitionTime"]) }
}

const stateOf = (job: JsonObject, pods: ReadonlyArray<JsonObject>): RunState => {
  if (conditionOf(job, "Complete") !== undefined || pods.some(hasSucceeded)) return { _tag: "Succeeded" }
  const condition = conditionOf(job, "Failed")
  if (condition !== undefined) return failed(condition, pods)
  const active = pods.filter((pod) => isActive(pod) && !isBeingDeleted(pod))
  if (active.some((pod) => at(containerStatus(pod), "state", "running") !== undefined)) return { _tag: "Running" }
  const [stuck] = active.flatMap((pod) => stuckBy(pod) ?? [])
  return stuck ?? { _tag: "Waiting", hasPod: active.length > 0 }
}

const generationOf = ({ metadata: { name } }: RunObject): number => Number(name.split("-").at(-1))

const isOf = (pod: RunObject, { metadata: { uid } }: RunObject): boolean =>
  pod.metadata.ownerReferences?.some((owner) => owner.uid === uid) === true

/** The run of a branch from its Jobs and their pods. Of several Jobs the oldest has to end first. */
export const migrationRun = (jobs: ReadonlyArray<RunObject>, pods: ReadonlyArray<RunObject>): MigrationRun => {
  const [job] = jobs.toSorted((a, b) => generationOf(a) - generationOf(b))
  if (job === undefined) return pods.some(isActive) ? { _tag: "Ending" } : { _tag: "None" }
  if (isBeingDeleted(job)) return { _tag: "Ending" }
  const { annotations, name, uid = "" } = job.metadata
  return {
    _tag: "Job",
    name,
    uid,
    generation: generationOf(job),
    digest: annotations?.[digestAnnotation] ?? "",
    state: stateOf(
      job,
      pods.filter((pod) => isOf(pod, job))
    )
  }
}
