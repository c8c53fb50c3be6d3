/** The users of the tests with mirrord's own client, and their rights. */

import { readFileSync } from "node:fs"
import { stringify } from "yaml"
import { workloadNamespace } from "../../lab/playground/manifests.ts"

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

/** A role of the snapshot of the chart's rights; rbac.test.ts compares the snapshot with what helm renders. */
const rendered = (snapshot: string, kind: "Role" | "ClusterRole", name: string): object => {
  const place = kind === "Role" ? `${workloadNamespace}/` : ""
  const roles = readFileSync(new URL(`../charts/rbac/${snapshot}.txt`, import.meta.url), "utf8")
    .trimEnd()
    .split("\n\n")
  const [, , ...rules] = roles.find((text) => text.startsWith(`${kind} ${place}${name}\n`))?.split("\n") ?? []
  if (rules.length === 0) throw new Error(`the chart has no ${kind} ${name}`)
  return {
    apiVersion: `${group}/v1`,
    kind,
    metadata: { name, ...(kind === "Role" ? { namespace: workloadNamespace } : {}) },
    rules: rules.map((line) => {
      const [groups = [], resources, verbs] = line
        .trim()
        .split(": ")
        .map((list) => list.split(", "))
      // The snapshot calls the group without a name `core`.
      return { apiGroups: groups.map((name) => (name === "core" ? "" : name)), resources, verbs }
    })
  }
}

/** The chart's roles for developers, for clusters without the chart. `hasBranches`: with branches switched on. */
export const developersRoles = (hasBranches: boolean): string => {
  const snapshot = hasBranches ? "single-features" : "role-namespaces"
  return [
    rendered(snapshot, "ClusterRole", "mirrord-operator-user"),
    rendered(snapshot, "ClusterRole", "mirrord-operator-user-basic"),
    rendered(snapshot, "Role", "mirrord-operator-user")
  ]
    .map((object) => stringify(object))
    .join("---\n")
}
