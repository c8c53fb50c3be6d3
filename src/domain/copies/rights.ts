/** The rights for copies of targets: their pods, and the workloads that they replace. */

import type { Right, RightCard } from "../catalogue/right.ts"
import { operatorGroup } from "../resources/operator-api.ts"

/** The kinds of workloads that a copy can replace. */
const replaced = [
  ["apps", "deployments"],
  ["apps", "statefulsets"],
  ["argoproj.io", "rollouts"]
] as const

const noCopies = "no copy of a target is made, so jobs and cronjobs are no targets"

const operator: ReadonlyArray<Right> = [
  {
    scope: "cluster",
    group: "",
    resource: "pods",
    verbs: ["create", "delete"],
    when: ["copies"],
    without: noCopies
  },
  ...["jobs", "cronjobs"].map((resource): Right => ({
    scope: "cluster",
    group: "batch",
    resource,
    verbs: ["get"],
    when: ["copies"],
    without: noCopies
  })),
  ...replaced.map(([group, resource]): Right => ({
    scope: "cluster",
    group,
    resource,
    verbs: ["list", "patch"],
    when: ["copies"],
    without: "no copy can replace a workload of that kind, and none gets its pods back"
  }))
]

const copies = { group: operatorGroup, resource: "copytargets" } as const

const link: ReadonlyArray<Right> = [
  {
    ...copies,
    scope: "cluster",
    verbs: ["list", "create"],
    without: "no copy of a target is made there, and sessions over many clusters on jobs and cronjobs go without it"
  }
]

const developer: ReadonlyArray<Right> = [
  { ...copies, scope: "target-namespace", verbs: ["create", "proxy"], without: "no session has a copy of its target" },
  { ...copies, scope: "target-namespace", verbs: ["get", "list"], without: "`kubectl get copytargets` fails" }
]

const cleanup: ReadonlyArray<Right> = [
  {
    scope: "cluster",
    group: "",
    resource: "pods",
    verbs: ["list", "delete"],
    without: "copies outlive the operator"
  },
  ...replaced.map(([group, resource]): Right => ({
    scope: "cluster",
    group,
    resource,
    verbs: ["get", "list", "patch"],
    without: "workloads that copies replace get no pods back"
  }))
]

export const copyRights: RightCard = { operator, link, developer, cleanup }
