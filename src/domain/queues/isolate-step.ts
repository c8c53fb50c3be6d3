/**
 * The restart strategy `isolatePods`: pods are taken out of their ReplicaSet one after the other, by its label. The set
 * makes a replacement, which passes the webhook, while the pod goes on working; it is deleted when the replacement is
 * ready. So the workload's template stays as it is, and no new revision is rolled out.
 *
 * Not here: the strategy `standard`, and writing (app/queues/isolate-pods.ts).
 */

import * as Order from "effect/Order"
import { asObjects, at } from "../json.ts"
import type { StoredObject } from "../resources/kept-fields.ts"
import { isBeingDeleted, timeOf } from "../resources/object-meta.ts"
import { hashLabel, isPodOf, type PatchedWorkload } from "./pod-of-workload.ts"

/** The longest time between two steps, ms; the published one's default. A replacement may not be ready then. */
const maxStep = 60_000

/** The times of pods are whole seconds, rounded down. A pod of the order's own second counts as born after it. */
const second = 1_000

/** Label of a pod that was taken out of its set: when, in epoch ms. */
export const isolatedLabel = "operator.metalbear.co/isolated"
/** Annotation that says out of which workload's set: nothing else does, since the set gives up its ownership. */
const isolatedFrom = "operator.metalbear.co/isolated-from"

const pathOf = ({ kind, name }: PatchedWorkload): string => `${kind}/${name}`

/** A pod of the workload that runs or starts, in its set or taken out of it. Times are epoch ms. */
export interface IsolatablePod {
  readonly name: string
  readonly uid: string
  readonly bornAt: number
  readonly isReady: boolean
  /** When it was taken out; `undefined` if it was not. */
  readonly isolatedAt: number | undefined
}

const hasEnded = (pod: StoredObject): boolean => {
  const phase = at(pod, "status", "phase")
  return isBeingDeleted(pod.metadata) || phase === "Succeeded" || phase === "Failed"
}

/** The pods of a workload that count, out of all pods of its namespace. */
export const isolatablePods = (
  pods: ReadonlyArray<StoredObject>,
  workload: PatchedWorkload
): ReadonlyArray<IsolatablePod> =>
  pods.flatMap((pod) => {
    const { annotations, creationTimestamp, labels, name, uid = "" } = pod.metadata
    const since = labels?.[isolatedLabel]
    const isIsolated = since !== undefined && annotations?.[isolatedFrom] === pathOf(workload)
    if (hasEnded(pod) || !(isIsolated || isPodOf(pod, workload))) return []
    const conditions = asObjects(at(pod, "status", "conditions"))
    return [
      {
        name,
        uid,
        bornAt: timeOf(creationTimestamp) ?? 0,
        isReady: conditions.some(({ status, type }) => type === "Ready" && status === "True"),
        // A text that is no number was not written here; it counts as long ago.
        isolatedAt: isIsolated ? Number(since) || 0 : undefined
      }
    ]
  })

export type IsolateStep =
  /** Take it out of its set. `until`: when to look again at the latest. */
  | { readonly _tag: "Isolate"; readonly pod: IsolatablePod; readonly until: number }
  /** Delete a pod that was taken out. */
  | { readonly _tag: "Delete"; readonly pod: IsolatablePod }
  /** Look again when pods change, and at this time. */
  | { readonly _tag: "Wait"; readonly until: number }
  /** No pod is left to be replaced, and none that was taken out. */
  | { readonly _tag: "Done" }

/** The pods to replace. `bornBefore`: epoch ms; 0 for none. `replicas`: how many pods the workload has to have. */
export interface Isolation {
  readonly bornBefore: number
  readonly replicas: number
}

/** Pods that do no work go first, then the oldest. */
const order = Order.combineAll<IsolatablePod>([
  Order.mapInput(Order.Boolean, ({ isReady }) => isReady),
  Order.mapInput(Order.Number, ({ bornAt }) => bornAt),
  Order.mapInput(Order.String, ({ name }) => name)
])

/**
 * The next step, from nothing but the pods and the time (epoch ms). One pod at most is out of its set. Its replacement
 * counts as ready when the set has as many ready pods as it has to have.
 */
export const isolateStep = (
  pods: ReadonlyArray<IsolatablePod>,
  { bornBefore, replicas }: Isolation,
  now: number
): IsolateStep => {
  const orphan = pods.find(({ isolatedAt }) => isolatedAt !== undefined)
  const inSet = pods.filter(({ isolatedAt }) => isolatedAt === undefined)
  if (orphan !== undefined) {
    const until = (orphan.isolatedAt ?? 0) + maxStep
    const isReplaced = inSet.filter(({ isReady }) => isReady).length >= replicas
    return isReplaced || now >= until ? { _tag: "Delete", pod: orphan } : { _tag: "Wait", until }
  }
  const [next] = inSet.filter(({ bornAt }) => bornAt + second <= bornBefore).toSorted(order)
  return next === undefined ? { _tag: "Done" } : { _tag: "Isolate", pod: next, until: now + maxStep }
}

/** The change that takes a pod out of its set, as a merge patch. */
export const isolationPatch = (workload: PatchedWorkload, { uid }: IsolatablePod, now: number): object => {
  const label = hashLabel(workload.kind)
  return {
    metadata: {
      uid,
      labels: { ...(label === undefined ? {} : { [label]: null }), [isolatedLabel]: String(now) },
      annotations: { [isolatedFrom]: pathOf(workload) }
    }
  }
}
