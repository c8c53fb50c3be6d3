/**
 * The objects that the embedded playground applies: the operator's installation and the demo workload. The real
 * playground installs the chart instead, and uses only the demo workload from here.
 */

import { stringify } from "yaml"
import type { Right } from "../../src/domain/catalogue/right.ts"
import type { DialledCell } from "../../src/domain/commands/join/join-request.ts"
import { eventNamespace } from "../../src/domain/events/event-object.ts"
import { leaderLabel } from "../../src/domain/leadership/leader-label.ts"
import { outboundRights } from "../../src/domain/outbound/rights.ts"
import { queueRights } from "../../src/domain/queues/rights.ts"
import { configurationSyncRights } from "../../src/domain/queues/sync-rights.ts"
import type { BranchEngine } from "../../src/domain/resources/chart-switches.ts"
import type { PlaygroundCluster } from "./topology.ts"

/** Namespaces of the operator and of the demo workload in each cluster. */
export const operatorNamespace = "mirrord"
export const workloadNamespace = "default"
export const workloadTarget = "deployment/myapp"
/** Names of the images that the playground's kubelets know. */
export const images = { operator: "braid", agent: "braid-agent", demo: "braid-demo" } as const

export const operatorPort = 3000
/** kubectl reads YAML 1.1, where `yes` is no text. */
const kubectlYaml = { version: "1.1" } as const
const documents = (objects: ReadonlyArray<object>): string =>
  objects.map((object) => stringify(object, kubectlYaml)).join("---\n")

const role = (
  kind: "Role" | "ClusterRole",
  name: string,
  rules: ReadonlyArray<object>,
  namespace?: string
): object => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  rules
})

const binding = (
  kind: "RoleBinding" | "ClusterRoleBinding",
  name: string,
  account: string,
  namespace?: string
): object => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  subjects: [{ kind: "ServiceAccount", name: account, namespace: operatorNamespace }],
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: kind === "RoleBinding" ? "Role" : "ClusterRole", name }
})

const rule = (apiGroups: string, resources: ReadonlyArray<string>, verbs: ReadonlyArray<string>): object => ({
  apiGroups: [apiGroups],
  resources,
  verbs
})

const sessions = "mirrordclustersessions"
const parents = "mirrordmulticlustersessions"

/** Rights of a primary's identity on a member, as far as the playground needs them (published-chart.md §2.9). */
const envoyRules = [
  rule("mirrord.metalbear.co", [sessions], ["create", "get", "list", "watch", "delete"]),
  rule("mirrord.metalbear.co", [`${sessions}/status`], ["get"]),
  rule("operator.metalbear.co", ["targets"], ["get", "list", "proxy"]),
  rule("operator.metalbear.co", ["copytargets"], ["list", "create"]),
  rule("operator.metalbear.co", ["mirrordoperators"], ["get"]),
  rule("operator.metalbear.co", ["sessions"], ["delete"]),
  rule("", ["namespaces"], ["get"])
]

/** The kinds that ask for branches of PostgreSQL. */
const branchKinds = ["branchdatabases", "pgbranchdatabases", "mysqlbranchdatabases", "mongodbbranchdatabases"]

/** Rights of an operator that makes branches of databases; the pods' rights are those of copies. */
const branchRules = [
  rule("dbs.mirrord.metalbear.co", branchKinds, ["get", "list", "watch", "delete"]),
  rule(
    "dbs.mirrord.metalbear.co",
    branchKinds.map((kind) => `${kind}/status`),
    ["patch"]
  ),
  rule("", ["secrets"], ["get", "create"]),
  rule("", ["events"], ["create", "list", "patch"]),
  // Migrations.
  rule("batch", ["jobs"], ["watch", "create", "delete"]),
  rule("", ["configmaps"], ["get", "create", "delete"])
]

/** Rights of a primary's identity on a member that makes branches for its users. */
const orderRules = [
  rule("dbs.mirrord.metalbear.co", branchKinds, ["get", "list", "watch", "create", "patch", "delete"]),
  rule("operator.metalbear.co", ["branchcredentials"], ["create"])
]

/** Rules for the rights of a capability, whatever their conditions and scopes. */
const rulesOf = (rights: ReadonlyArray<Right> = []): ReadonlyArray<object> =>
  rights.map(({ group, name, resource, verbs }) => ({
    ...rule(group, [resource], verbs),
    ...(name === undefined ? {} : { resourceNames: [name] })
  }))

/** Rights of an operator that splits queues. */
const splitRules = ({ hasWorkload, isPrimary }: PlaygroundCluster): ReadonlyArray<object> => [
  ...(hasWorkload ? rulesOf(queueRights.operator) : []),
  ...(isPrimary ? rulesOf(configurationSyncRights.operator) : [])
]

const operatorRules = (primary: boolean, hasWorkload: boolean): ReadonlyArray<object> => [
  rule("", ["pods"], ["get", "list", "watch"]),
  rule("", ["services"], ["get", "list"]),
  rule("", ["nodes"], ["get"]),
  rule("", ["namespaces"], ["get"]),
  rule("", ["pods/ephemeralcontainers"], ["update"]),
  rule("apps", ["deployments", "replicasets", "statefulsets"], ["get", "list"]),
  rule("batch", ["jobs", "cronjobs"], ["get", "list"]),
  // Copies of targets.
  ...(hasWorkload
    ? [
        rule("", ["pods"], ["create", "delete"]),
        rule("apps", ["deployments", "statefulsets"], ["patch"]),
        rule("argoproj.io", ["rollouts"], ["get", "list", "patch"])
      ]
    : []),
  rule("mirrord.metalbear.co", [sessions], ["create", "get", "list", "watch", "delete"]),
  rule("mirrord.metalbear.co", [`${sessions}/status`], ["patch"]),
  rule("mirrord.metalbear.co", ["mirrordtlsstealconfigs", "mirrordclustertlsstealconfigs"], ["list", "watch"]),
  rule("policies.mirrord.metalbear.co", ["mirrordpolicies", "mirrordclusterpolicies"], ["list", "watch"]),
  rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
  ...(primary
    ? [
        rule("operator.metalbear.co", [parents], ["create", "get", "list", "watch", "delete", "patch"]),
        rule("operator.metalbear.co", [`${parents}/status`], ["patch"]),
        // A primary that runs workloads reaches itself like any other member.
        ...envoyRules
      ]
    : [])
]

/** The Service of a primary's cell, and its ports. */
export const cellService = "mirrord-operator-cell"
export const cellPort = 8443
export const bootstrapPort = 8444

/** The operator's environment beside what the pod itself gives (names of the published chart). */
export interface OperatorEnvironment {
  readonly kubeconfig: string
  readonly multiClusterFile: string | undefined
  readonly clustersFile: string | undefined
  /** Whether a primary finds clusters by Secrets with kubeconfigs; not unless given. */
  readonly findsClusters?: boolean
  /** Whether branches of the engines are switched on; not unless given. */
  readonly hasBranches?: boolean
  /** Names of engines in the chart's values; PostgreSQL unless given. */
  readonly branchEngines?: ReadonlyArray<BranchEngine> | undefined
  /** URL of the server that stands in for SQS, whose queues are split; no queues are unless given. */
  readonly sqsEndpoint?: string | undefined
  /** Whether a primary takes tunnels; not unless given. */
  readonly takesTunnels?: boolean
  /** The cell that a member dials; none unless given. */
  readonly dialled?: DialledCell | undefined
  /** Number of replicas, of which one leads; one unless given. */
  readonly replicas?: number
  /** Whether agents speak TLS with the operator. */
  readonly agentTls: boolean
  /** File of SQLite for the records of use; use is not recorded unless given. */
  readonly usageFile?: string | undefined
  /** File with the settings of agents (published-chart.md §2.3); none unless given. */
  readonly agentFile?: string | undefined
  /** More variables of agents; none unless given. */
  readonly agentEnv?: Readonly<Record<string, string>> | undefined
}

/** A variable of the operator; none if it has no value. */
const variable = (name: string, value: string | undefined): ReadonlyArray<object> =>
  value === undefined ? [] : [{ name, value }]

/** By these an operator reaches a server that stands in for SQS, which takes any AWS identity. */
export const sqsVariables = (endpoint: string): Readonly<Record<string, string>> => ({
  AWS_ENDPOINT_URL_SQS: endpoint,
  AWS_REGION: "eu-central-1",
  AWS_ACCESS_KEY_ID: "AKIAEXAMPLE",
  AWS_SECRET_ACCESS_KEY: "secret"
})

const splitVariables = (endpoint: string): ReadonlyArray<object> =>
  Object.entries({ OPERATOR_SQS_SPLITTING: "true", ...sqsVariables(endpoint) }).map(([name, value]) => ({
    name,
    value
  }))

/** The variables of a member that dials out. */
const dialVariables = ({ bootstrap, cell, pin, token }: DialledCell): ReadonlyArray<object> => [
  { name: "OPERATOR_OUTBOUND", value: "true" },
  { name: "OPERATOR_OUTBOUND_CELL", value: cell },
  { name: "OPERATOR_OUTBOUND_BOOTSTRAP", value: bootstrap },
  { name: "OPERATOR_OUTBOUND_PIN", value: pin },
  ...variable("OPERATOR_OUTBOUND_TOKEN", token)
]

const usageVariables = ({ usageFile }: OperatorEnvironment): ReadonlyArray<object> => [
  ...variable("OPERATOR_USAGE_ENABLED", usageFile === undefined ? undefined : "true"),
  ...variable("OPERATOR_USAGE_FILE", usageFile)
]

const operatorVariables = (environment: OperatorEnvironment): ReadonlyArray<object> => {
  const { agentEnv, branchEngines = ["pg"] as const, dialled, findsClusters, hasBranches, sqsEndpoint } = environment
  return [
    { name: "POD_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
    { name: "OPERATOR_ADDR", value: `$(POD_IP):${operatorPort}` },
    { name: "OPERATOR_POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
    { name: "OPERATOR_POD_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
    { name: "MIRRORD_OPERATOR_NAMESPACE", value: operatorNamespace },
    { name: "MIRRORD_AGENT_IMAGE", value: images.agent },
    { name: "OPERATOR_INJECT_SESSION_KEY_HEADER", value: "true" },
    { name: "OPERATOR_AGENT_CONNECTION_TLS", value: String(environment.agentTls) },
    { name: "KUBECONFIG", value: environment.kubeconfig },
    ...variable("OPERATOR_AGENT_CONFIG", environment.agentFile),
    ...variable("OPERATOR_AGENT_EXTRA_ENV", agentEnv === undefined ? undefined : JSON.stringify(agentEnv)),
    ...variable("MIRRORD_MULTICLUSTER_CONFIG", environment.multiClusterFile),
    ...variable("MIRRORD_CLUSTERS_CONFIG", environment.clustersFile),
    ...(hasBranches === true ? branchEngines : []).map((engine) => ({
      name: `OPERATOR_${engine.toUpperCase()}_BRANCHING`,
      value: "true"
    })),
    ...(sqsEndpoint === undefined ? [] : splitVariables(sqsEndpoint)),
    ...variable("OPERATOR_CELL", environment.takesTunnels === true ? "true" : undefined),
    ...(dialled === undefined ? [] : dialVariables(dialled)),
    ...usageVariables(environment),
    ...variable("OPERATOR_MULTI_CLUSTER_PROVIDERS", findsClusters === true ? "kubeconfigSecrets" : undefined)
  ]
}

/** The operator as an installation: accounts, permissions, Service, APIService and Deployment. */
export const operatorManifests = (cluster: PlaygroundCluster, environment: OperatorEnvironment): string =>
  documents([
    ...operatorRights(cluster, environment),
    ...operatorApi,
    ...(environment.takesTunnels === true ? [cellServiceObject] : []),
    operatorDeployment(environment)
  ])

/** The rights for tunnels in the operator's namespace. No playground of embedded clusters lets people in. */
const ofTunnels = outboundRights.operator?.filter(({ scope }) => scope === "operator-namespace")

const operatorRights = (
  cluster: PlaygroundCluster,
  { dialled, hasBranches = false, sqsEndpoint, takesTunnels = false }: OperatorEnvironment
): ReadonlyArray<object> => [
  role("ClusterRole", "mirrord-operator", [
    ...operatorRules(cluster.isPrimary, cluster.hasWorkload),
    ...(hasBranches ? branchRules : []),
    ...(sqsEndpoint === undefined ? [] : splitRules(cluster))
  ]),
  binding("ClusterRoleBinding", "mirrord-operator", "mirrord-operator"),
  role(
    "Role",
    "mirrord-operator",
    [
      rule("", ["secrets"], ["get", "list", "watch", "create"]),
      rule("", ["configmaps"], ["get", "list", "watch", "create", "patch"]),
      // Why an agent does not start.
      rule("", ["events"], ["list"]),
      rule("batch", ["jobs"], ["create", "delete", "patch"]),
      rule("coordination.k8s.io", ["leases"], ["get", "watch", "create", "patch"]),
      rule("", ["pods"], ["patch"]),
      ...(takesTunnels || dialled !== undefined ? rulesOf(ofTunnels) : [])
    ],
    operatorNamespace
  ),
  binding("RoleBinding", "mirrord-operator", "mirrord-operator", operatorNamespace),
  role(
    "Role",
    "mirrord-operator-front-proxy",
    [
      {
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: ["extension-apiserver-authentication"],
        verbs: ["list", "watch"]
      }
    ],
    "kube-system"
  ),
  binding("RoleBinding", "mirrord-operator-front-proxy", "mirrord-operator", "kube-system"),
  // Events about cluster-wide objects are all in this namespace.
  role("Role", "mirrord-operator-events", [rule("", ["events"], ["create", "patch"])], eventNamespace),
  binding("RoleBinding", "mirrord-operator-events", "mirrord-operator", eventNamespace),
  role("ClusterRole", "mirrord-operator-envoy", [
    ...envoyRules,
    ...(hasBranches ? orderRules : []),
    ...(sqsEndpoint === undefined ? [] : rulesOf(configurationSyncRights.member))
  ]),
  binding("ClusterRoleBinding", "mirrord-operator-envoy", "mirrord-operator-envoy")
]

const labels = { app: "mirrord-operator" }

const operatorApi: ReadonlyArray<object> = [
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "mirrord-operator", namespace: operatorNamespace },
    spec: {
      selector: { ...labels, [leaderLabel]: "true" },
      ports: [{ name: "https", port: 443, targetPort: operatorPort }]
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
      service: { name: "mirrord-operator", namespace: operatorNamespace, port: 443 }
    }
  }
]

const cellServiceObject = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: cellService, namespace: operatorNamespace },
  spec: {
    selector: { ...labels, [leaderLabel]: "true" },
    ports: [
      { name: "tunnels", port: cellPort, targetPort: cellPort },
      { name: "bootstrap", port: bootstrapPort, targetPort: bootstrapPort }
    ]
  }
}

const operatorDeployment = (environment: OperatorEnvironment): object => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "mirrord-operator", namespace: operatorNamespace, labels },
  spec: {
    replicas: environment.replicas ?? 1,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 10,
        containers: [
          {
            name: "mirrord-operator",
            image: images.operator,
            env: operatorVariables(environment),
            ports: [{ name: "https", containerPort: operatorPort }],
            readinessProbe: {
              httpGet: { path: "/readyz/serving", port: operatorPort, scheme: "HTTPS" },
              periodSeconds: 1,
              // On a loaded machine an operator may be slow to answer, and serves all the same.
              timeoutSeconds: 60
            }
          }
        ]
      }
    }
  }
})

/** Namespace and accounts, which must exist before the operator's kubeconfig can be written. */
export const accountManifests = (): string =>
  documents([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: operatorNamespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "mirrord-operator", namespace: operatorNamespace } },
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "mirrord-operator-envoy", namespace: operatorNamespace }
    }
  ])

/** Name of the ConfigMap with a primary's configuration, as in the chart. */
export const configurationName = "mirrord-configmap"

export const configurationManifest = (data: Readonly<Record<string, string>>): string =>
  documents([
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: configurationName, namespace: operatorNamespace }, data }
  ])

/** The credentials with which a primary reaches a member (published-chart.md §2.6). */
export const credentialsManifest = (secretName: string, token: string): string =>
  documents([
    {
      apiVersion: "v1",
      kind: "Secret",
      type: "Opaque",
      metadata: {
        name: secretName,
        namespace: operatorNamespace,
        labels: { "operator.metalbear.co/remote-cluster-credentials": "true" }
      },
      stringData: { bearerToken: token }
    }
  ])

/**
 * The demo workload: the same in every cluster, except for its environment and the content of one file.
 *
 * @param databaseUrl of the default cluster's database, which the workload has from a Secret; none unless given
 * @param image of the workload, where it is not the one of the stand-in kubelets
 */
export const workloadManifests = (
  cluster: PlaygroundCluster,
  { databaseUrl, image = images.demo }: { readonly databaseUrl?: string | undefined; readonly image?: string } = {}
): string => {
  const labels = { app: "myapp" }
  const url = cluster.isDefault ? databaseUrl : undefined
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "myapp-database", namespace: workloadNamespace },
    stringData: { url }
  }
  const databaseVariable = {
    name: "DATABASE_URL",
    valueFrom: { secretKeyRef: { name: "myapp-database", key: "url" } }
  }
  return documents([
    ...(url === undefined ? [] : [secret]),
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "myapp", namespace: workloadNamespace },
      data: { "settings.txt": `settings of ${cluster.name}\n` }
    },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "myapp", namespace: workloadNamespace },
      spec: {
        selector: labels,
        ports: [
          { name: "http", port: 80, targetPort: 80 },
          { name: "tcp", port: 7000, targetPort: 7000 }
        ]
      }
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "myapp", namespace: workloadNamespace, labels },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            containers: [
              {
                name: "myapp",
                image,
                env: [
                  { name: "CLUSTER", value: cluster.name },
                  { name: "DB_HOST", value: `db.${cluster.name}.example` },
                  { name: `ONLY_IN_${cluster.name.toUpperCase().replaceAll("-", "_")}`, value: "yes" },
                  { name: "PORT", value: "80" },
                  { name: "TCP_PORT", value: "7000" },
                  ...(url === undefined ? [] : [databaseVariable])
                ],
                ports: [{ containerPort: 80 }, { containerPort: 7000 }],
                volumeMounts: [{ name: "settings", mountPath: "/etc/myapp" }]
              }
            ],
            volumes: [{ name: "settings", configMap: { name: "myapp" } }]
          }
        }
      }
    }
  ])
}
