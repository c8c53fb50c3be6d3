import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parse } from "yaml"
import { chartFolder } from "./chart.ts"
import { asMap, at } from "./json.ts"
import { merged } from "./merged.ts"

/** The chart's own values.yaml. */
export const defaults = asMap(parse(readFileSync(join(chartFolder, "values.yaml"), "utf8")))

/** Keys from the root. A key may hold dots, as `tls.key` does. */
export type ValuePath = readonly [string, ...ReadonlyArray<string>]

export const pathOf = (dotted: string): ValuePath => {
  const [first = "", ...rest] = dotted.split(".")
  return [first, ...rest]
}

/** A map with one value, at this path. */
export const nested = ([first, ...rest]: ValuePath, value: unknown): object => ({
  [first]: rest.reduceRight<unknown>((below, key) => ({ [key]: below }), value)
})

const isMap = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value)

/** Some value of the default's kind that is not the default. */
export const another = (value: unknown, text = "something"): unknown => {
  if (typeof value === "boolean") return !value
  if (typeof value === "number") return value + 1_000_000
  if (Array.isArray(value)) return [{ other: "value" }]
  if (isMap(value)) return { other: "value" }
  return text
}

/** Paths of all values that hold no other: scalars, lists and empty maps. */
export const leavesOf = (map: object): ReadonlyArray<ValuePath> =>
  Object.entries(map).flatMap(([key, value]): ReadonlyArray<ValuePath> =>
    isMap(value) && Object.keys(value).length > 0 ? leavesOf(value).map((path): ValuePath => [key, ...path]) : [[key]]
  )

/** Values beside which others act that do not act alone. */
export const manyFeatures = {
  dashboard: {
    enabled: true,
    ingress: { enabled: true, host: "mirrord.example.com" },
    oidc: { issuer: "https://login.example.com", clientId: "braid", secret: "login", groups: ["dev"] }
  },
  networkPolicy: { enabled: true },
  monitoring: {
    serviceMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    grafanaDashboard: { enabled: true }
  },
  openshift: true,
  roleNamespaces: ["default"],
  operator: {
    podDisruptionBudget: { enabled: true },
    metrics: true,
    kafkaSplitting: true,
    genericBranching: true,
    pgBranching: true,
    mysqlBranching: true,
    mariadbBranching: true,
    mongodbBranching: true,
    dynamodbBranching: true,
    mssqlBranching: true,
    redisBranching: true,
    clickhouseBranching: true,
    previewEnv: true,
    multiClusterMember: true,
    cell: { enabled: true },
    outbound: { enabled: true, cell: "a.example.com:8443", bootstrap: "a.example.com:8444", pin: "ab" },
    multiCluster: {
      enabled: true,
      clusters: { a: { server: "https://a.example.com", authType: "bearerToken", isDefault: true } }
    }
  }
}

/** Another value than the default, where not any value will do. */
const others: Readonly<Record<string, unknown>> = {
  roleNamespaces: ["default"],
  extraObjects: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "other" } }],
  "targets.allowedNamespaces": ["kube-system"],
  "bounds.sessionsPerUser": 7,
  "bounds.sessions": 7,
  "bounds.connectionsPerSession": 7,
  "bounds.agentsPerUser": 7,
  "bounds.agents": 7,
  "bounds.branchesPerNamespace": 7,
  "bounds.branches": 7,
  // It is on beside the others.
  "dashboard.ingress.enabled": false,
  "dashboard.ingress.host": "other.example.com",
  "dashboard.ingress.className": "nginx",
  "dashboard.ingress.annotations": { "example.com/a": "b" },
  "dashboard.ingress.serviceAnnotations": { "example.com/a": "b" },
  "dashboard.ingress.tlsSecret": "other",
  "dashboard.oidc.issuer": "https://other.example.com",
  "dashboard.oidc.secret": "other",
  "dashboard.oidc.scopes": ["openid", "groups"],
  "dashboard.oidc.groups": ["ops"],
  "dashboard.oidc.emails": ["jane@example.com"],
  "usage.retentionDays": 30,
  "usage.maxMebibytes": 500,
  "usage.persistence.size": "2Gi",
  "usage.persistence.storageClassName": "fast",
  "usage.persistence.existingClaim": "other",
  // Records of use, which are on as well, are in a volume.
  "operator.replicas": 0,
  "operator.port": 8443,
  "operator.imagePullPolicy": "Never",
  "operator.requests.cpu": "200m",
  "operator.requests.memory": "600Mi",
  "operator.limits.cpu": "2",
  "operator.limits.memory": "600Mi",
  "operator.dbBranching.initPodVolumeLimit": "2Gi",
  "operator.dbBranching.databasePodVolumeLimit": "2Gi",
  "operator.podDisruptionBudget.maxUnavailable": 2,
  "operator.podUsers": false,
  "tls.certManager.certificate": "other",
  "tls.certManager.issuer": "other",
  "operator.priorityClassName": "other",
  "agent.priorityClass.name": "other",
  "agent.priorityClass.value": 1000,
  "agent.priorityClass.preemptionPolicy": "Never",
  "operator.maxSessionTimeSeconds": 7200,
  "operator.sessionTtlSeconds": 30,
  "operator.noPodTargetsSessionTimeoutMillis": 90000,
  "operator.otelTraceExportUrl": "http://collector:4318",
  "operator.imagePullSecrets": [{ name: "registry" }],
  "tls.apiService.insecureSkipTLSVerify": true,
  "operator.extraEnv": { OPERATOR_LEASE_DURATION_SECS: "20" },
  "operator.pgBranchConfig": { dbPod: { imagePullPolicy: "Never" } },
  "operator.mysqlBranchConfig": { dbPod: { imagePullPolicy: "Never" } },
  "operator.mariadbBranchConfig": { dbPod: { imagePullPolicy: "Never" } },
  "operator.mongodbBranchConfig": { dbPod: { imagePullPolicy: "Never" } },
  "operator.dynamodbBranchConfig": { dbPod: { imagePullPolicy: "Never" } },
  "operator.redisBranchConfig": { dbPod: { imagePullPolicy: "Never" } },
  "operator.clickhouseBranchConfig": { dbPod: { imagePullPolicy: "Never" } },
  "operator.multiCluster.defaultCluster": "a",
  "operator.multiCluster.sessionStart": "all",
  "operator.multiCluster.providers": ["kubeconfigSecrets", "clusterApi", "clusterProfile"],
  "operator.multiCluster.clusterApiNamespace": "clusters",
  "operator.multiCluster.kubeconfigFileSecret": "contexts",
  "operator.multiCluster.kubeconfigDirectorySecret": "kubeconfigs",
  "operator.multiCluster.clusterProfileNamespace": "inventory",
  "operator.multiCluster.accessProviders": [
    { name: "plugin", execConfig: { apiVersion: "client.authentication.k8s.io/v1", command: "/plugins/token" } }
  ],
  "operator.multiCluster.clusters": { a: { server: "https://other.example.com", authType: "mtls" } },
  "operator.cell.port": 9443,
  "operator.cell.bootstrapPort": 9444,
  "operator.cell.webSocketPort": 9445,
  "operator.cell.certificateHours": 48,
  "operator.cell.bootstrapRanges": ["10.0.0.0/8", "fd00::/8"],
  "operator.outbound.proxy.groups": ["dev", "ops"],
  "operator.outbound.proxy.extraKeys": ["example.com/team"],
  "operator.outbound.proxy.prefix": "hub:",
  "operator.outbound.cell": "cell.example.com:8443",
  "operator.outbound.bootstrap": "cell.example.com:8444",
  "bounds.connections": 500,
  "bounds.requestsPerUser": 20,
  "agent.port": 5000,
  "agent.extraConfig": { namespace: "agents", image_pull_policy: "Never", log_level: "trace", service_account: "agent" }
}

/** Values with this one changed; a text is its path. */
export const changedAt = (path: ValuePath): object =>
  nested(path, others[path.join(".")] ?? another(at(defaults, ...path), path.join(".")))

/** Values with all of them changed, except for the claim: records of use in PostgreSQL have no volume. */
export const allChanged: object = leavesOf(defaults)
  .filter((path) => path.join(".") !== "usage.persistence.existingClaim")
  .map(changedAt)
  .reduce(merged)
