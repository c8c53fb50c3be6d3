/**
 * A target as the domain knows it.
 *
 * Not here: its text forms (target-path.ts), its form in session resources (kube-target.ts), its pods (pod-choice.ts).
 */

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
