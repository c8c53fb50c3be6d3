/** The users of the tests with mirrord's own client, and their rights. */

import { stringify } from "yaml"
import { workloadNamespace } from "../../lab/playground/manifests.ts"
import type { RightCondition, RightScope } from "../../src/domain/catalogue/right.ts"
import { rightsOf } from "../../src/domain/commands/doctor/needed-rights.ts"

/** The group of all clients here; it has exactly the rights of the chart's role for developers. */
export const developers = "developers"
/** A group that may use only the workload's namespace (`roleNamespaces` of the chart). */
export const namespaceDevelopers = "namespace-developers"

const group = "rbac.authorization.k8s.io"

const binding = (kind: "Role" | "ClusterRole", role: string, subject: string): object => ({
  apiVersion: `${group}/v1`,
  kind: `${kind}Binding`,
  metadata: { name: subject, ...(kind === "Role" ? { namespace: workloadNamespace } : {}) },
  roleRef: { apiGroup: group, kind, name: role },
  subjects: [{ apiGroup: group, kind: "Group", name: subject }]
})

/** Binds both groups to roles of the chart. */
export const developersBindings = [
  binding("ClusterRole", "mirrord-operator-user", developers),
  binding("ClusterRole", "mirrord-operator-user-basic", namespaceDevelopers),
  binding("Role", "mirrord-operator-user", namespaceDevelopers)
]
  .map((object) => stringify(object))
  .join("---\n")

const role = (
  kind: "Role" | "ClusterRole",
  name: string,
  scopes: ReadonlyArray<RightScope>,
  conditions: ReadonlyArray<RightCondition>
): object => ({
  apiVersion: `${group}/v1`,
  kind,
  metadata: { name, ...(kind === "Role" ? { namespace: workloadNamespace } : {}) },
  rules: rightsOf("developer")
    .filter(({ scope, when = [] }) => scopes.includes(scope) && when.every((one) => conditions.includes(one)))
    .map((right) => ({ apiGroups: [right.group], resources: [right.resource], verbs: right.verbs }))
})

/** The chart's roles for developers, for clusters without the chart. `hasBranches`: with branches switched on. */
export const developersRoles = (hasBranches: boolean): string => {
  const conditions = ["literalCredentials", ...(hasBranches ? (["branching", "previews"] as const) : [])] as const
  return [
    role("ClusterRole", "mirrord-operator-user", ["cluster", "target-namespace"], conditions),
    role("ClusterRole", "mirrord-operator-user-basic", ["cluster"], conditions),
    role("Role", "mirrord-operator-user", ["target-namespace"], conditions)
  ]
    .map((object) => stringify(object))
    .join("---\n")
}
