/** The kind of an operator's object, for clusters without an operator. */
export const operatorDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "mirrordoperators.operator.metalbear.co" },
  spec: {
    group: "operator.metalbear.co",
    scope: "Cluster",
    names: { plural: "mirrordoperators", singular: "mirrordoperator", kind: "MirrordOperator" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
      }
    ]
  }
}

/**
 * The operator's object of a primary with these members, and its kind.
 *
 * @param more further fields of its `spec`
 */
export const operatorObjects = (members: ReadonlyArray<string>, more: object = {}): ReadonlyArray<object> => [
  operatorDefinition,
  {
    apiVersion: "operator.metalbear.co/v1",
    kind: "MirrordOperator",
    metadata: { name: "operator" },
    spec: {
      operator_version: "3.250.0",
      default_namespace: "default",
      license: { name: "braid", organization: "braid", expire_at: "9999-12-31" },
      ...more
    },
    status: {
      sessions: [],
      connected_clusters: members.map((name) => ({
        name,
        lastCheck: "2026-01-01T00:00:00Z",
        connected: { operatorVersion: "3.250.0" }
      }))
    }
  }
]
