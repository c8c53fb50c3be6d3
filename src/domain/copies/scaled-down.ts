/**
 * Workloads that are at zero pods because a copy replaces them. The workload itself says so, with two labels: how many
 * pods it had, and which copy it is scaled down for. Labels and number are written together, each time with the version
 * that was read, so there is no moment in which the number of pods is lost. A label is no part of a pod template, and
 * no controller copies it to the replica sets of a deployment, as it does with annotations.
 *
 * Not here: reading and writing workloads (app/copies).
 */

import type { Workload } from "../resources/core-kinds.ts"

/** The label that holds the number of pods that the workload had. It is also how scaled-down workloads are found. */
export const scaledDownFrom = "operator.metalbear.co/scaled-down-from"
/** The label that holds the name of the copy, a pod of the same namespace. */
const scaledDownBy = "operator.metalbear.co/scaled-down-by"

/** A merge patch of a workload, which the API server refuses if the workload has changed since it was read. */
export interface WorkloadPatch {
  readonly metadata: {
    readonly resourceVersion: string
    readonly labels: Readonly<Record<string, string | null>>
  }
  readonly spec?: { readonly replicas: number }
}

/** The number of pods that a workload is to have; Kubernetes takes 1 where none is given. */
const wantedPods = ({ spec }: Workload): number => spec?.replicas ?? 1

/** The copy that a workload is at zero pods for; `undefined` if it has the labels no more. */
export const copyOf = ({ metadata }: Workload): string | undefined =>
  metadata.labels?.[scaledDownFrom] === undefined ? undefined : (metadata.labels[scaledDownBy] ?? "")

const patchOf = (
  workload: Workload,
  labels: WorkloadPatch["metadata"]["labels"],
  replicas?: number
): WorkloadPatch => ({
  metadata: { resourceVersion: workload.metadata.resourceVersion ?? "", labels },
  ...(replicas === undefined ? {} : { spec: { replicas } })
})

/** The step towards a workload without pods while a copy lives. */
export type ScaleDown =
  | { readonly _tag: "Patch"; readonly patch: WorkloadPatch }
  | { readonly _tag: "Done" }
  /** Another copy replaces the workload. */
  | { readonly _tag: "Taken"; readonly by: string }

/** The step that scales a workload down for a copy. */
export const scaleDown = (workload: Workload, copy: string): ScaleDown => {
  const by = copyOf(workload)
  if (by === copy) return { _tag: "Done" }
  if (by !== undefined) return { _tag: "Taken", by }
  const labels = { [scaledDownFrom]: String(wantedPods(workload)), [scaledDownBy]: copy }
  return { _tag: "Patch", patch: patchOf(workload, labels, 0) }
}

/** The step for a workload that may have the labels. */
export type ScaledDownAction =
  | { readonly _tag: "Nothing" }
  /** It gets its pods back. */
  | { readonly _tag: "Restore"; readonly replicas: number; readonly patch: WorkloadPatch }
  /** Another writer has given it pods, and it keeps the number that was set. */
  | { readonly _tag: "LetGo"; readonly replicas: number; readonly patch: WorkloadPatch }
  /** The label was changed, so the number of pods is not known. */
  | { readonly _tag: "Unreadable"; readonly found: string }

const unlabelled = { [scaledDownFrom]: null, [scaledDownBy]: null } as const

/**
 * The next step for a workload. `isNeeded`: whether its copy is there, and not being deleted. The labels mean "at zero
 * because of us", so they are removed as soon as another writer sets another number: a later zero is that writer's
 * own.
 */
export const scaledDownPlan = (workload: Workload, isNeeded: boolean): ScaledDownAction => {
  if (copyOf(workload) === undefined) return { _tag: "Nothing" }
  const now = wantedPods(workload)
  if (now !== 0) return { _tag: "LetGo", replicas: now, patch: patchOf(workload, unlabelled) }
  if (isNeeded) return { _tag: "Nothing" }
  const found = workload.metadata.labels?.[scaledDownFrom] ?? ""
  if (!/^\d{1,9}$/u.test(found)) return { _tag: "Unreadable", found }
  const replicas = Number(found)
  return { _tag: "Restore", replicas, patch: patchOf(workload, unlabelled, replicas) }
}
