/**
 * The rights for branches of databases, where they are made.
 *
 * Not here: rights of a primary whose default cluster is another one (sync/rights.ts).
 */

import type { Right, RightCard, RightCondition } from "../catalogue/right.ts"
import { operatorGroup } from "../resources/operator-api.ts"
import { olderKinds, unifiedKind } from "./branch-kinds.ts"

/** The older kinds, each with the condition that its engine is on. */
const older = [
  [olderKinds.pg, "pgBranching"],
  [olderKinds.mysql, "mysqlBranching"],
  [olderKinds.mongodb, "mongodbBranching"]
] as const

/** A right on each kind of branches that a cluster has. `subresource` begins with a slash, or is empty. */
export const onBranchKinds = (
  right: Omit<Right, "scope" | "group" | "resource"> & { readonly when: ReadonlyArray<RightCondition> },
  subresource = ""
): ReadonlyArray<Right> =>
  ([[unifiedKind, undefined], ...older] as const).map(([{ resource }, condition]) => ({
    scope: "cluster",
    group: resource.group,
    resource: resource.plural + subresource,
    ...right,
    when: condition === undefined ? right.when : [...right.when, condition]
  }))

/** The rights to serve branches that users order. */
export const followingBranches = (condition: RightCondition, without: string): ReadonlyArray<Right> => [
  ...onBranchKinds({ verbs: ["get", "list", "watch", "delete"], when: [condition], without }),
  ...onBranchKinds({ verbs: ["patch"], when: [condition], without }, "/status"),
  {
    scope: "cluster",
    group: "",
    resource: "events",
    // The second run of migrations, for example, is counted in the Event of the first one.
    verbs: ["create", "patch"],
    when: [condition],
    without: "kubectl describe tells nothing of what happened to a branch"
  }
]

const noBranches = "no branch of a database is made"

const operator: ReadonlyArray<Right> = [
  {
    scope: "cluster",
    group: "",
    resource: "pods",
    verbs: ["create", "delete"],
    when: ["branches"],
    without: noBranches
  },
  ...followingBranches("branches", noBranches),
  {
    scope: "cluster",
    group: "",
    resource: "secrets",
    verbs: ["get", "create"],
    when: ["branches", "servedEngine"],
    without: noBranches
  },
  {
    scope: "cluster",
    group: "batch",
    resource: "jobs",
    verbs: ["watch", "create", "delete"],
    when: ["branches"],
    without: "no branch of a database is migrated"
  },
  {
    scope: "cluster",
    group: "",
    resource: "configmaps",
    verbs: ["get", "create", "delete"],
    when: ["branches"],
    without: "no branch of a database is migrated by Flyway"
  },
  {
    scope: "cluster",
    group: "",
    resource: "events",
    verbs: ["list"],
    when: ["branches"],
    without: "no branch says why the pod of its migrations cannot be made"
  }
]

/** The same on all kinds, whichever engines are on. */
const onAllKinds = (right: Omit<Right, "group" | "resource">): ReadonlyArray<Right> =>
  [unifiedKind, olderKinds.pg, olderKinds.mysql, olderKinds.mongodb].map(({ resource }) => ({
    group: resource.group,
    resource: resource.plural,
    ...right
  }))

const developer: ReadonlyArray<Right> = [
  {
    // They are of the whole cluster; the operator asks whether the caller may make branches in the namespace.
    scope: "cluster",
    group: operatorGroup,
    resource: "branchcredentials",
    verbs: ["create"],
    when: ["literalCredentials"],
    without: "no branch has a connection of values of the developer's own"
  },
  // Clients before BranchDatabase fail without the right where an older kind is not installed, and else skip it.
  ...onAllKinds({
    scope: "target-namespace",
    verbs: ["get", "list", "create", "watch", "delete", "patch"],
    when: ["branching"],
    without: "no session has a branch of a database"
  })
]

const cleanup: ReadonlyArray<Right> = onAllKinds({
  scope: "cluster",
  verbs: ["list", "delete"],
  when: ["hasBranches"],
  without: "branches of databases outlive the operator"
})

export const branchRights: RightCard = { operator, developer, cleanup }
