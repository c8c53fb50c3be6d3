/**
 * The pods of copies: remembers them, and ends those that no session has used for a while. `domain/copies/copy-life.ts`
 * decides; create-copy.ts makes them.
 */

import { Clock, Effect, type Scope } from "effect"
import {
  type CopyAction,
  copyPlan,
  type CopyState,
  copyState,
  type ObservedCopy,
  type Replacement
} from "../../domain/copies/copy-life.ts"
import { copiedPods, copyLabel, type CopyRecord, copyRecord } from "../../domain/copies/copy-record.ts"
import { type Pod, pods } from "../../domain/resources/core-kinds.ts"
import { isBeingDeleted } from "../../domain/resources/object-meta.ts"
import { leaderGrace } from "../../domain/sessions/liveness.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { audit } from "../kernel/audit.ts"
import { countHolding } from "../kernel/holdings.ts"
import { logWarning } from "../kernel/log.ts"
import { changedMeanwhile, deleteSeen } from "../kernel/mirrored-object.ts"
import {
  keyOfObject,
  makePlannedController,
  memoryOf,
  type PlannedController,
  type PlannedTurns,
  type Turn
} from "../kernel/planned-controller.ts"
import { makeScaledDownWorkloads, type PlacedWorkload, type ScaledDownWorkloads } from "./scaled-down-workloads.ts"

/** A copy as this process knows it. */
export interface Copy {
  /** `namespace/name`. */
  readonly key: string
  readonly pod: Pod
  readonly record: CopyRecord
}

/** The uses of a copy that this process has seen. Times are epoch ms. */
interface CopyUse {
  readonly uid: string | undefined
  readonly since: number
  usedAt: number
  /** Until when the user of an earlier process's copy may be in a pause between two tries. */
  readonly graceUntil: number
}

export interface CopiedPods {
  /** Completes when the copies have been read. */
  readonly started: Effect.Effect<void>
  /** The copies that are not being deleted. */
  readonly all: () => ReadonlyArray<Copy>
  readonly find: (namespace: string, name: string) => Copy | undefined
  readonly state: (copy: Copy, now: number) => CopyState
  /** How far its pod is, whether or not its workload is scaled down for it. */
  readonly podState: (copy: Copy, now: number) => CopyState
  /** Its user has just asked for it. */
  readonly use: (copy: Copy, now: number) => void
  /** Takes the pod of a copy that this process has just made. */
  readonly made: (pod: KubeObject, now: number) => void
  readonly workloads: ScaledDownWorkloads
}

export interface CopiedPodsOptions {
  readonly api: KubeApi
  /** `api` with retries, for calls that a client waits for. */
  readonly awaited: KubeApi
  /** The copies that sessions use, by `namespace/name`; `undefined` until the sessions are read. */
  readonly inUse: () => ReadonlySet<string> | undefined
  /** The same, read from the API server. */
  readonly storedUses: Effect.Effect<ReadonlySet<string>, KubeError>
}

type CopyTurn = Turn<Pod, CopyUse>
type Performed = Exclude<CopyAction, { readonly _tag: "RequeueAt" }>

interface State {
  readonly options: CopiedPodsOptions
  readonly uses: Map<string, CopyUse>
  readonly workloads: ScaledDownWorkloads
}

const copyOf = (key: string, pod: Pod | undefined): Copy | undefined => {
  const record = pod === undefined ? undefined : copyRecord(pod.metadata)
  return pod === undefined || record === undefined || isBeingDeleted(pod.metadata) ? undefined : { key, pod, record }
}

/** The workload that a copy replaces. */
const replacedBy = ({ pod, record }: Pick<Copy, "pod" | "record">): PlacedWorkload | undefined =>
  record.replaces === undefined ? undefined : { ...record.replaces, namespace: pod.metadata.namespace ?? "" }

const replacementFor = (workloads: ScaledDownWorkloads, copy: Copy): Replacement => {
  const replaced = replacedBy(copy)
  return replaced === undefined ? "NotWanted" : workloads.replacement(replaced, copy.pod.metadata.name)
}

/** A copy of an earlier process may have a user who is in a pause between two tries, as a session may. */
const useOf = (uses: State["uses"], key: string, uid: string | undefined, now: number): CopyUse =>
  memoryOf(uses, key, { uid, since: now, usedAt: now, graceUntil: now + leaderGrace })

const stateOf = (uses: State["uses"], { key, pod, record }: Copy, replacement: Replacement, now: number): CopyState =>
  copyState(pod, record.container, replacement, now - useOf(uses, key, pod.metadata.uid, now).since)

const observed = ({ options, uses, workloads }: State, { key, known, now, view }: CopyTurn): ObservedCopy => {
  const used = options.inUse()
  const isInUse = used === undefined || used.has(key)
  if (isInUse) known.usedAt = Math.max(known.usedAt, now)
  const copy = copyOf(key, view)
  // No client returns to a failed copy, such as one whose making was cut short.
  const hasFailed = copy !== undefined && stateOf(uses, copy, replacementFor(workloads, copy), now).phase === "Failed"
  const idleTtl = copyRecord(view.metadata)?.spec["idle_ttl"]
  return {
    uid: view.metadata.uid ?? "",
    isInUse,
    usedAt: hasFailed ? known.usedAt : Math.max(known.usedAt, known.graceUntil),
    idleTtl: typeof idleTtl === "number" ? idleTtl : undefined
  }
}

const deleteCopy = Effect.fnUntraced(function* (
  { options: { api } }: State,
  { view: { metadata } }: CopyTurn,
  why: string
): Effect.fn.Return<void, KubeError> {
  const { name, namespace = "", uid = "" } = metadata
  const record = copyRecord(metadata)
  if ((yield* deleteSeen({ api, resource: pods, name, namespace }, { uid })) === "Gone") return
  yield* audit({
    act: "copyDeleted",
    copy: name,
    message: why,
    namespace,
    ...(record === undefined ? {} : { target: record.target, owner: record.owner.k8sUsername })
  })
})

/** Deletes a copy, unless a session uses it of which no watch has told. */
const deleteUnused = (state: State, turn: CopyTurn, why: string): Effect.Effect<void, KubeError> =>
  Effect.flatMap(state.options.storedUses, (used) => {
    if (!used.has(turn.key)) return deleteCopy(state, turn, why)
    turn.known.usedAt = turn.now
    return Effect.fail(changedMeanwhile(state.options.api, "delete", `a session uses the copy ${turn.key}`))
  })

const turnsOf = (state: State, self: PlannedController<Pod>): PlannedTurns<Pod, CopyUse, ObservedCopy, Performed> => ({
  changed: ({ metadata }) => {
    self.enqueue(`${metadata.namespace ?? ""}/${metadata.name}`)
    const replaces = copyRecord(metadata)?.replaces
    // A pod that is gone may leave a workload to give its pods back to; so may one that another process has made.
    if (replaces !== undefined) state.workloads.look({ ...replaces, namespace: metadata.namespace ?? "" })
  },
  forget: (key) => Effect.sync(() => void state.uses.delete(key)),
  unreadable: (key, problem) => logWarning("copy of a target ignored", { pod: key, problem }),
  isOver: ({ metadata }) => isBeingDeleted(metadata),
  known: (key, { metadata }) => Effect.map(Clock.currentTimeMillis, (now) => useOf(state.uses, key, metadata.uid, now)),
  observe: (turn) => observed(state, turn),
  plan: copyPlan,
  perform: (turn, { why }) => deleteUnused(state, turn, why),
  order: "InOrder"
})

export const makeCopiedPods = Effect.fnUntraced(function* (
  options: CopiedPodsOptions
): Effect.fn.Return<CopiedPods, never, Scope.Scope> {
  const { api, awaited } = options
  const uses = new Map<string, CopyUse>()
  yield* countHolding("copies of targets", () => uses.size)
  // The workloads are there before the pods that name them.
  let controller: PlannedController<Pod> | undefined
  const find = (namespace: string, name: string): Copy | undefined =>
    copyOf(`${namespace}/${name}`, controller?.view(`${namespace}/${name}`))
  const all = (): ReadonlyArray<Copy> =>
    controller?.cache.all().flatMap(({ metadata }) => find(metadata.namespace ?? "", metadata.name) ?? []) ?? []
  const workloads: ScaledDownWorkloads = yield* makeScaledDownWorkloads(api, awaited, (workload) =>
    all().some((copy) => {
      const replaced = replacedBy(copy)
      return (
        replaced?.kind === workload.kind && replaced.name === workload.name && replaced.namespace === workload.namespace
      )
    })
  )
  const state: State = { options, uses, workloads }
  controller = yield* makePlannedController(
    { name: "CopyTarget", api, resource: copiedPods, selection: { labelSelector: copyLabel } },
    (self) => turnsOf(state, self)
  )
  const { cache } = controller
  return {
    started: cache.awaitSynced,
    all,
    find,
    state: (copy, now) => stateOf(uses, copy, replacementFor(workloads, copy), now),
    podState: (copy, now) => stateOf(uses, copy, "NotWanted", now),
    use: ({ key, pod }, now) => {
      const use = useOf(uses, key, pod.metadata.uid, now)
      use.usedAt = Math.max(use.usedAt, now)
    },
    made: (pod, now) => {
      uses.set(keyOfObject(pod), { uid: pod.metadata.uid, since: now, usedAt: now, graceUntil: now })
      cache.wrote(pod)
    },
    workloads
  }
})
