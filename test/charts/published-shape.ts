/**
 * Objects of a release of the published chart (published-chart.md §2.10), a primary with one cluster, as far as an
 * upgrade to ours can stumble over them: names, selectors, bindings, immutable fields, and where the credentials are.
 * Contents are ours.
 */
export const publishedRelease = (crds: ReadonlyArray<object>): ReadonlyArray<object> => {
  const namespace = "mirrord"
  const account = { kind: "ServiceAccount", name: "mirrord-operator", namespace }
  const rbac = "rbac.authorization.k8s.io"
  const labels = { "app.kubernetes.io/name": "mirrord-operator", "app.kubernetes.io/version": "3.187.0" }
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }]
  const clusterRole = (name: string): object => ({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRole",
    metadata: { name, labels },
    rules
  })
  const clusterBinding = (name: string): object => ({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name, labels },
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name },
    subjects: [account]
  })
  const role = (name: string, place: string): ReadonlyArray<object> => [
    { apiVersion: `${rbac}/v1`, kind: "Role", metadata: { name, namespace: place }, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata: { name, namespace: place },
      roleRef: { apiGroup: rbac, kind: "Role", name },
      subjects: [account]
    }
  ]
  return [
    ...crds,
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "mirrord-operator", namespace } },
    {
      apiVersion: "scheduling.k8s.io/v1",
      kind: "PriorityClass",
      metadata: { name: "mirrord-agent-pod" },
      value: 1_000_000_000,
      preemptionPolicy: "PreemptLowerPriority"
    },
    ...[
      "mirrord-operator",
      "mirrord-operator-user",
      "mirrord-operator-ci",
      "mirrord-operator-user-basic",
      "mirrord-operator-envoy",
      "mirrord-operator-envoy-remote"
    ].map(clusterRole),
    ...["mirrord-operator", "mirrord-operator-envoy"].map(clusterBinding),
    ...role("mirrord-operator", namespace),
    ...role("mirrord-operator-apiserver-authentication", "kube-system"),
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "mirrord-configmap", namespace },
      data: { "agent-config.yaml": "" }
    },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "mirrord-operator-license", namespace },
      stringData: { OPERATOR_LICENSE_KEY: "key" }
    },
    // In the release's namespace.
    { apiVersion: "v1", kind: "Secret", metadata: { name: "mirrord-cluster-a" }, stringData: { bearerToken: "token" } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "mirrord-operator", namespace },
      spec: {
        type: "ClusterIP",
        selector: { app: "mirrord-operator", "mirrord-operator-leader": "true" },
        ports: [{ name: "https", port: 443, targetPort: "https" }]
      }
    },
    {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1.operator.metalbear.co" },
      spec: {
        group: "operator.metalbear.co",
        version: "v1",
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        insecureSkipTLSVerify: true,
        service: { name: "mirrord-operator", namespace, port: 443 }
      }
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "mirrord-operator", namespace, labels: { app: "mirrord-operator" } },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "mirrord-operator" } },
        template: {
          metadata: { labels: { app: "mirrord-operator", component: "operator" } },
          spec: {
            serviceAccountName: "mirrord-operator",
            securityContext: { runAsNonRoot: true, runAsUser: 1000 },
            containers: [
              {
                name: "mirrord-operator",
                image: "registry.example.com/operator:3.187.0",
                env: [{ name: "RUST_LOG", value: "info" }],
                ports: [{ name: "https", containerPort: 443 }],
                volumeMounts: [
                  { name: "license", mountPath: "/license" },
                  { name: "files", mountPath: "/mirrord-config" }
                ]
              }
            ],
            volumes: [
              { name: "license", secret: { secretName: "mirrord-operator-license" } },
              { name: "files", configMap: { name: "mirrord-configmap" } }
            ]
          }
        }
      }
    }
  ]
}
