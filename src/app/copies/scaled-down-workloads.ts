/**
 * Scales workloads down for copies, and gives them their pods back when the copy is gone: after its end, after a
 * deletion with `kubectl`, after a change of leaders. Follows only workloads that are scaled down, or are to be.
 * `domain/copies/scaled-down.ts` decides; leftovers.ts finds the workloads that another process has left.
 */

import { Effect, Result, type Scope } from "effect"
import type { Replacement } from "../../domain/copies/copy-life.ts"
import { isCopy } from "../../domain/copies/copy-record.ts"
import type { ScalableWorkload } from "../../domain/copies/copy-source.ts"
import {
  copyOf,
  scaleDown,
  type ScaledDownAction,
  scaledDownFrom,
  scaledDownPlan
} from "../../domain/copies/scaled-down.ts"
import { deployments, pods, rollouts, statefulSets, type Workload } from "../../domain/resources/core-kinds.ts"
import { isBeingDeleted } from "../../domain/resources/object-meta.ts"
import { readResource, type ResourceDescriptor } from "../../domain/resources/resource-descriptor.ts"
import { KubeError, type KubeApi } from "../../ports/kube-api.ts"
import { type Controller, makeController, type Requeue } from "../kernel/controller.ts"
import { countHolding } from "../kernel/holdings.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { orIf } from "../kernel/or-if.ts"

/** Milliseconds between two looks at a workload that is scaled down. */
const lookEvery = 10_000
/** Milliseconds between two lines in the log about a workload that cannot get its pods back. */
const tellEvery = 600_000
/** How often a write is tried while other writers come first. */
const attempts = 5

/** The kinds of workloads that copies can replace. */
export const scalableKinds: Readonly<Record<ScalableWorkload["kind"], ResourceDescriptor<Workload>>> = {
  deployment: deployments,
  statefulset: statefulSets,
  rollout: rollouts
}

/** A workload with its namespace. */
export interface PlacedWorkload extends ScalableWorkload {
  readonly namespace: string
}

export interface ScaledDownWorkloads {
  /** Last observed state: scaled down for a copy or not. */
  readonly replacement: (workload: PlacedWorkload, copy: string) => Replacement
  /** The name of the other copy that a workload is scaled down for, if any. */
  readonly takenBy: (workload: PlacedWorkload, copy: string) => Effect.Effect<string | undefined, KubeError>
  /** Scales a workload down for a copy, unless it is for another, whose name is the result. */
  readonly scaleDown: (workload: PlacedWorkload, copy: string) => Effect.Effect<string | undefined, KubeError>
  /** Looks at a workload, because something about its copy has changed. */
  readonly look: (workload: PlacedWorkload) => void
}

interface State {
  readonly api: KubeApi
  /** The copy that a workload is scaled down for, by the workload's key; `undefined` if for none. */
  readonly known: Map<string, string | undefined>
  /** Whether a copy is there that is to replace the workload. */
  readonly isWanted: (workload: PlacedWorkload) => boolean
}

const keyOf = ({ kind, name, namespace }: PlacedWorkload): string => `${kind}/${namespace}/${name}`

export const isScalable = (kind: string): kind is ScalableWorkload["kind"] => Object.hasOwn(scalableKinds, kind)

/** The workload of a key. */
const workloadOf = (key: string): PlacedWorkload | undefined => {
  const [kind = "", namespace, name] = key.split("/")
  return isScalable(kind) && namespace !== undefined && name !== undefined ? { kind, namespace, name } : undefined
}

const readWorkload = (
  { api }: Pick<State, "api">,
  { kind, name, namespace }: PlacedWorkload
): Effect.Effect<Workload, KubeError> =>
  Effect.flatMap(api.get(scalableKinds[kind], name, namespace), (object) => {
    const read = readResource(scalableKinds[kind], object)
    return Result.isSuccess(read)
      ? Effect.succeed(read.success)
      : Effect.fail(
          new KubeError({
            cluster: api.cluster,
            operation: `get ${kind}`,
            reason: "Other",
            detail: read.failure.message
          })
        )
  })

/**
 * Whether the copy is there, by the API server's own answer: a cache may not know it yet, and the workload would get
 * its pods back too early.
 */
const isNeeded = ({ api }: State, namespace: string, copy: string): Effect.Effect<boolean, KubeError> =>
  api.get(pods, copy, namespace).pipe(
    Effect.map(({ metadata }) => isCopy(metadata) && !isBeingDeleted(metadata)),
    orIf("NotFound", Effect.succeed(false))
  )

const told = (workload: PlacedWorkload, copy: string, action: ScaledDownAction): Effect.Effect<void> => {
  const about = { kind: workload.kind, name: workload.name, namespace: workload.namespace, copy }
  switch (action._tag) {
    case "Nothing":
      return Effect.void
    case "Restore":
      return logInfo("workload has its pods back", { ...about, replicas: action.replicas })
    case "LetGo":
      return logWarning("workload was scaled up by somebody else while a copy replaced it; it keeps its pods", {
        ...about,
        replicas: action.replicas
      })
    case "Unreadable":
      return logWarning("workload cannot get its pods back: the label with their number was changed", {
        ...about,
        label: scaledDownFrom,
        found: action.found
      })
  }
}

/** One look at a workload: gives it back what is its own. */
const reconcile = Effect.fnUntraced(function* (
  state: State,
  workload: PlacedWorkload
): Effect.fn.Return<Requeue, KubeError> {
  const { api, isWanted, known } = state
  const key = keyOf(workload)
  const { kind, name, namespace } = workload
  const found = yield* readWorkload(state, workload).pipe(orIf("NotFound", Effect.undefined))
  const copy = found === undefined ? undefined : copyOf(found)
  if (found === undefined || copy === undefined) {
    if (!isWanted(workload)) {
      known.delete(key)
      return undefined
    }
    known.set(key, undefined)
    // The process before this one may still scale it down.
    return found === undefined ? undefined : { after: lookEvery }
  }
  known.set(key, copy)
  const action = scaledDownPlan(found, yield* isNeeded(state, namespace, copy))
  if (action._tag === "Restore" || action._tag === "LetGo") {
    const written = yield* Effect.result(api.mergePatch(scalableKinds[kind], name, action.patch, { namespace }))
    if (Result.isFailure(written) && written.failure.reason === "Conflict") return "Conflict"
    yield* Effect.fromResult(written)
    yield* told(workload, copy, action)
    return { after: 1 }
  }
  yield* told(workload, copy, action)
  return { after: action._tag === "Unreadable" ? tellEvery : lookEvery }
})

const scaleDownFor = (
  state: State,
  workload: PlacedWorkload,
  copy: string
): Effect.Effect<string | undefined, KubeError> =>
  Effect.gen(function* () {
    const { kind, name, namespace } = workload
    const found = yield* readWorkload(state, workload)
    const step = scaleDown(found, copy)
    if (step._tag === "Taken") return step.by
    if (step._tag === "Patch") {
      yield* state.api.mergePatch(scalableKinds[kind], name, step.patch, { namespace })
      yield* logInfo("workload scaled down", { kind, name, namespace, copy, replicas: found.spec?.replicas ?? 1 })
    }
    state.known.set(keyOf(workload), copy)
    return undefined
  }).pipe(Effect.retry({ times: attempts, while: ({ reason }) => reason === "Conflict" }))

/** `awaited`: the API for calls that a client waits for. */
export const makeScaledDownWorkloads = Effect.fnUntraced(function* (
  api: KubeApi,
  awaited: KubeApi,
  isWanted: State["isWanted"]
): Effect.fn.Return<ScaledDownWorkloads, never, Scope.Scope> {
  const known = new Map<string, string | undefined>()
  const state: State = { api, known, isWanted }
  yield* countHolding("scaled-down workloads", () => known.size)
  const controller: Controller = yield* makeController({
    name: "ScaledDown",
    reconcile: (key) => {
      const workload = workloadOf(key)
      return workload === undefined ? Effect.succeed(undefined) : reconcile(state, workload)
    }
  })
  const look = (workload: PlacedWorkload): void => controller.enqueue(keyOf(workload))
  return {
    look,
    replacement: (workload, copy) => {
      const key = keyOf(workload)
      if (!known.has(key)) return "Unknown"
      return known.get(key) === copy ? "Down" : "NotDown"
    },
    takenBy: (workload, copy) =>
      Effect.map(readWorkload({ api: awaited }, workload), (found) => {
        const step = scaleDown(found, copy)
        return step._tag === "Taken" ? step.by : undefined
      }),
    scaleDown: (workload, copy) =>
      Effect.ensuring(
        scaleDownFor({ ...state, api: awaited }, workload, copy),
        Effect.sync(() => look(workload))
      )
  }
})
