/**
 * A target as the domain knows it, and as session resources hold it.
 *
 * Not here: its text forms (target-path.ts) and its pods (pod-choice.ts).
 */

import type { KubeResourceTarget } from "../resources/session-shapes.ts"

/** Kinds of workload that a target may name (agent.md §1.1), in the spelling of target paths. */
export const targetKinds = [
  "deployment",
  "pod",
  "rollout",
  "job",
  "cronjob",
  "statefulset",
  "service",
  "replicaset"
] as const
export type TargetKind = (typeof targetKinds)[number]

/** The target of a session. `container`: named by the user; undefined: the operator chooses. */
export type Target =
  | {
      readonly _tag: "Workload"
      readonly kind: TargetKind
      readonly name: string
      readonly container: string | undefined
    }
  /** Every pod with these labels; sorted by key. */
  | {
      readonly _tag: "Label"
      readonly labels: Readonly<Record<string, string>>
      readonly container: string | undefined
    }
  | { readonly _tag: "Targetless" }

/** Where the API server has the objects of a kind. */
export interface KindAddress {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
}

const addresses: Readonly<Record<TargetKind, KindAddress>> = {
  deployment: { group: "apps", version: "v1", kind: "Deployment", plural: "deployments" },
  replicaset: { group: "apps", version: "v1", kind: "ReplicaSet", plural: "replicasets" },
  statefulset: { group: "apps", version: "v1", kind: "StatefulSet", plural: "statefulsets" },
  pod: { group: "", version: "v1", kind: "Pod", plural: "pods" },
  service: { group: "", version: "v1", kind: "Service", plural: "services" },
  job: { group: "batch", version: "v1", kind: "Job", plural: "jobs" },
  cronjob: { group: "batch", version: "v1", kind: "CronJob", plural: "cronjobs" },
  rollout: { group: "argoproj.io", version: "v1alpha1", kind: "Rollout", plural: "rollouts" }
}

/** The API of a kind (agent.md §1.1). */
export const kindAddress = (kind: TargetKind): KindAddress => addresses[kind]

/** Whether a session can only run on a copy of the workload. */
export const needsCopy = (target: Target): boolean =>
  target._tag === "Workload" && (target.kind === "job" || target.kind === "cronjob")

/** Whether two session resources are for the same target. */
export const isSameTarget = (
  a: KubeResourceTarget | null | undefined,
  b: KubeResourceTarget | null | undefined
): boolean =>
  a === undefined || a === null || b === undefined || b === null
    ? (a ?? undefined) === (b ?? undefined)
    : a.apiVersion === b.apiVersion &&
      a.kind === b.kind &&
      a.name === b.name &&
      (a.container ?? undefined) === (b.container ?? undefined)

/** The target as session resources hold it. They cannot hold targetless and label targets: undefined. */
export const toKubeTarget = (target: Target): KubeResourceTarget | undefined => {
  if (target._tag !== "Workload") return undefined
  const { group, version, kind } = kindAddress(target.kind)
  return {
    apiVersion: group === "" ? version : `${group}/${version}`,
    kind,
    name: target.name,
    container: target.container ?? ""
  }
}

/** Reads a session resource's target; an absent target is targetless. Undefined for a kind that is no target. */
export const fromKubeTarget = (target: KubeResourceTarget | null | undefined): Target | undefined => {
  if (target === null || target === undefined) return { _tag: "Targetless" }
  const kind = targetKinds.find((known) => addresses[known].kind === target.kind)
  if (kind === undefined) return undefined
  return {
    _tag: "Workload",
    kind,
    name: target.name,
    container: target.container === "" ? undefined : target.container
  }
}
