import type { Right, RightScope } from "../../../../src/domain/catalogue/right.ts"
import { eventNamespace } from "../../../../src/domain/events/event-object.ts"

const namespace = "mirrord"
const rbac = "rbac.authorization.k8s.io"

const elsewhere: Readonly<Partial<Record<RightScope, string>>> = {
  cluster: "",
  "kube-system": "kube-system",
  "event-namespace": eventNamespace
}
/** The namespace of a right; empty for one in the whole cluster. */
export const namespaceOf = (scope: RightScope): string => elsewhere[scope] ?? namespace

/** Roles with exactly some rights, bound to a service account. */
export const grant = (account: string, rights: ReadonlyArray<Right>): ReadonlyArray<object> => {
  const places = Map.groupBy(rights, ({ scope }) => scope)
  return [...places].flatMap(([scope, some]) => {
    const inside = scope === "cluster" ? {} : { namespace: namespaceOf(scope) }
    const kind = scope === "cluster" ? "ClusterRole" : "Role"
    const name = `${account}-${scope}`
    const rules = some.map(({ group, name: only, resource, verbs }) => ({
      apiGroups: [group],
      resources: [resource],
      verbs,
      ...(only === undefined ? {} : { resourceNames: [only] })
    }))
    return [
      { apiVersion: `${rbac}/v1`, kind, metadata: { name, ...inside }, rules },
      {
        apiVersion: `${rbac}/v1`,
        kind: `${kind}Binding`,
        metadata: { name, ...inside },
        roleRef: { apiGroup: rbac, kind, name },
        subjects: [{ kind: "ServiceAccount", name: account, namespace }]
      }
    ]
  })
}
