/**
 * The operator's settings, read from its environment and its configuration files. The rules for the fleet are in
 * domain/fleet; nothing here acts on a setting.
 */

import { type Config, Data, Effect, Redacted, Result } from "effect"
import { type AgentSettings, certificateVariable } from "../../adapters/agents/agent-job.ts"
import { type FleetPaths, readDocument, readFleetFiles } from "../../adapters/files/configuration-files.ts"
import { type AgentConfiguration, parseAgentConfiguration } from "../../domain/agents/agent-configuration.ts"
import type { BranchSettings } from "../../domain/branches/branch-settings.ts"
import type { CopyImage } from "../../domain/copies/copied-pod.ts"
import { type AccessProvider, parseAccessProviders } from "../../domain/fleet/access-providers.ts"
import type { ConfigurationMistake, FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { parseFleetConfiguration } from "../../domain/fleet/parse-configuration.ts"
import { clusterProviders, type ClusterProvider, type ClusterSearch } from "../../domain/fleet/provided-clusters.ts"
import { leaseTimesProblem } from "../../domain/leadership/lease-times.ts"
import { nameHere, reservedGroup } from "../../domain/outbound/impersonation.ts"
import type { SplitSettings } from "../../domain/queues/settings.ts"
import type { SessionBounds } from "../../domain/sessions/session-bounds.ts"
import { type ProtectedNamespaces, protectedNamespaces } from "../../domain/targets/protected-namespaces.ts"
import type { ListenAddress } from "../api/listen.ts"
import type { RequestBounds } from "../api/request-bounds.ts"
import { branchEnvironment, readBranchSettings } from "../branches/branch-environment.ts"
import { type SettingValues, settingValues } from "../kernel/setting-values.ts"
import type { Candidacy } from "./run-replica.ts"
import { readTracing, tracingEnvironment, type TracingSettings } from "./tracing-settings.ts"

/** The configuration keeps the operator from starting; exit code 2. Holds every mistake at once, one sentence each. */
export class RefusedConfiguration extends Data.TaggedError("RefusedConfiguration")<{
  readonly mistakes: ReadonlyArray<ConfigurationMistake>
}> {
  override get message(): string {
    return this.mistakes.map(({ message }) => message).join("\n")
  }
}

export interface MetricsAddress extends ListenAddress {
  readonly fallback: ListenAddress | undefined
}

export interface Settings {
  /** The value of each setting, as its card says. */
  readonly values: SettingValues
  readonly host: string
  readonly port: number
  /** The address to use if this machine does not have the first. */
  readonly fallback: ListenAddress | undefined
  readonly namespace: string
  readonly requireFrontProxy: boolean
  /** Files of the serving certificate, if there are any. */
  readonly certificate: { readonly certificatePath: string; readonly keyPath: string } | undefined
  /** Without files: keep a certificate in a Secret and its authority in the APIService, instead of one per start. */
  readonly ownCertificate: boolean
  readonly agents: AgentSettings
  /** Whether connections to agents are encrypted. */
  readonly agentTls: boolean
  readonly fleet: FleetConfiguration | undefined
  /** The files that the fleet's configuration is from. */
  readonly fleetPaths: FleetPaths | undefined
  /** How a primary looks for further clusters. */
  readonly search: ClusterSearch
  readonly requestBounds: RequestBounds
  readonly bounds: SessionBounds
  /** The longest time of a session, in seconds; `undefined` if there is no bound. */
  readonly maxSessionSecs: number | undefined
  /** How long a session of this cluster alone lives without a client, in seconds. */
  readonly sessionTtlSecs: number
  /** How long the target of a session may be without pods, ms. */
  readonly podlessMillis: number
  /** Whether primaries may use this cluster. */
  readonly isMember: boolean
  /** Whether a primary must say which cluster it is. */
  readonly requirePrimary: boolean
  /** Namespaces without targets. */
  readonly protectedNamespaces: ProtectedNamespaces
  /** Whether targets are copied. */
  readonly makesCopies: boolean
  /** The image of copied containers: the agent's, unless they keep their own. */
  readonly copyImage: CopyImage | undefined
  /** The engines whose databases have branches. */
  readonly branchSettings: BranchSettings
  /** How queues are split; `undefined` if none is. */
  readonly splitting: SplitSettings | undefined
  /** How this process takes part in the election of the leader; missing if it does not know its pod. */
  readonly candidacy: Candidacy | undefined
  readonly jsonLog: boolean
  /** Where metrics are served; `undefined` if nowhere. */
  readonly metrics: MetricsAddress | undefined
  /** Where traces go; `undefined` if traces are off. */
  readonly tracing: TracingSettings | undefined
}

const splitAddress = (address: string): ListenAddress => {
  const at = address.lastIndexOf(":")
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(address.slice(at + 1)) }
}

const defaultAgentImage = "ghcr.io/metalbear-co/mirrord:3.250.0"
const isPostgresUrl = (text: string): boolean => ["postgres:", "postgresql:"].includes(URL.parse(text)?.protocol ?? "")

/** The settings that concern how a primary looks for clusters. */
export type SearchSettings = Pick<
  SettingValues,
  "providers" | "clusterApiNamespace" | "kubeconfigFile" | "kubeconfigDirectory" | "clusterProfileNamespace"
>

const isProvider = (name: string): name is ClusterProvider => clusterProviders.some((known) => known === name)

/** The search of an operator in this namespace. */
export const searchWithin = (
  settings: SearchSettings,
  accessProviders: ReadonlyArray<AccessProvider>,
  namespace: string
): ClusterSearch => ({
  providers: settings.providers.filter(isProvider),
  clusterApiNamespace: settings.clusterApiNamespace ?? namespace,
  kubeconfigFile: settings.kubeconfigFile ?? "",
  kubeconfigDirectory: settings.kubeconfigDirectory ?? "",
  clusterProfileNamespace: settings.clusterProfileNamespace ?? namespace,
  accessProviders
})

/** The settings of agents: of the environment, else of their file, else the usual. */
const agentSettings = (env: SettingValues, file: AgentConfiguration): AgentSettings => ({
  ...file,
  image: env.agentImage ?? file.image ?? defaultAgentImage,
  imagePullPolicy: env.agentPullPolicy ?? file.imagePullPolicy ?? "IfNotPresent",
  imagePullSecrets: env.agentPullSecrets ?? file.imagePullSecrets ?? [],
  namespace: env.agentNamespace ?? file.namespace ?? env.namespace,
  serviceAccount: env.agentServiceAccount ?? file.serviceAccount,
  port: env.agentPort,
  idleTtlSecs: 60,
  startupTimeoutSecs: file.startupTimeoutSecs ?? 60,
  variables: { ...file.variables, ...(env.agentLogLevel === undefined ? {} : { RUST_LOG: env.agentLogLevel }) },
  extraEnv: env.agentExtraEnv ?? {}
})

const fallbackOf = (address: string | undefined): ListenAddress | undefined =>
  address === undefined ? undefined : splitAddress(address)

const metricsAddressOf = ({ metrics, metricsAddress, metricsFallback }: SettingValues): MetricsAddress | undefined =>
  metrics ? { ...splitAddress(metricsAddress), fallback: fallbackOf(metricsFallback) } : undefined

const leaseMistake = (problem: string): ConfigurationMistake => ({
  file: "environment",
  field: "OPERATOR_LEASE_DURATION_SECS, OPERATOR_LEASE_RENEW_DEADLINE_SECS, OPERATOR_LEASE_RETRY_PERIOD_SECS",
  value: problem,
  cure: "leave them out for 15, 10 and 2",
  message:
    "OPERATOR_LEASE_DURATION_SECS, OPERATOR_LEASE_RENEW_DEADLINE_SECS and OPERATOR_LEASE_RETRY_PERIOD_SECS do not " +
    `fit together: ${problem}; leave them out for 15, 10 and 2.`
})

const certificateMistake: ConfigurationMistake = {
  file: "environment",
  field: "OPERATOR_AGENT_EXTRA_ENV",
  value: certificateVariable,
  cure: "leave it out, and set OPERATOR_AGENT_CONNECTION_TLS",
  message:
    `OPERATOR_AGENT_EXTRA_ENV names ${certificateVariable}, but the operator makes this certificate itself; ` +
    "leave it out, and set OPERATOR_AGENT_CONNECTION_TLS to true."
}

/** The mistake of a pair of variables of which only one is set. `neither`: what an operator without both does. */
const halfPair = (
  pair: Readonly<Record<string, string | undefined>>,
  neither: string
): ReadonlyArray<ConfigurationMistake> => {
  const [set] = Object.entries(pair).find(([, value]) => value !== undefined) ?? []
  const [missing] = Object.entries(pair).find(([, value]) => value === undefined) ?? []
  if (set === undefined || missing === undefined) return []
  const cure = `set both, or neither for ${neither}`
  const message = `${set} is set, but ${missing} is not; ${cure}.`
  return [{ file: "environment", field: missing, value: "nothing", cure, message }]
}

/** The mistake of metrics on the port of the API: one of the two could not listen. Port 0 is any that is free. */
const portMistakes = ({ address, metrics, metricsAddress }: SettingValues): ReadonlyArray<ConfigurationMistake> => {
  const { port } = splitAddress(address)
  if (!metrics || port === 0 || splitAddress(metricsAddress).port !== port) return []
  const message = `OPERATOR_METRICS_ADDR and OPERATOR_ADDR have the same port, ${port}; give metrics another port.`
  const cure = "give metrics another port"
  return [{ file: "environment", field: "OPERATOR_METRICS_ADDR", value: metricsAddress, cure, message }]
}

/** The mistakes of a cell, or of the page of use, on a port that the operator listens on already. */
const furtherPortMistakes = (env: SettingValues): ReadonlyArray<ConfigurationMistake> => {
  const taken = new Map([[splitAddress(env.address).port, "OPERATOR_ADDR"]])
  if (env.metrics) taken.set(splitAddress(env.metricsAddress).port, "OPERATOR_METRICS_ADDR")
  const wanted = {
    ...(env.takesTunnels && {
      OPERATOR_CELL_PORT: env.cellPort,
      OPERATOR_CELL_BOOTSTRAP_PORT: env.bootstrapPort,
      ...(env.webSocketPort !== undefined && { OPERATOR_CELL_WEBSOCKET_PORT: env.webSocketPort })
    }),
    ...(env.servesDashboard && { OPERATOR_DASHBOARD_PORT: env.dashboardPort })
  }
  return Object.entries(wanted).flatMap(([field, port]) => {
    const other = taken.get(port)
    taken.set(port, field)
    if (other === undefined) return []
    const cure = `give ${field} another port`
    return [
      {
        file: "environment",
        field,
        value: String(port),
        cure,
        message: `${field} and ${other} have the same port, ${port}; ${cure}.`
      }
    ]
  })
}

/** The mistakes of providers that have no path to look at. */
const pathMistakes = (env: SettingValues): ReadonlyArray<ConfigurationMistake> =>
  (
    [
      ["kubeconfigFile", "OPERATOR_KUBECONFIG_FILE"],
      ["kubeconfigDirectory", "OPERATOR_KUBECONFIG_DIRECTORY"]
    ] as const
  ).flatMap(([provider, field]) => {
    if (!env.providers.includes(provider) || env[provider] !== undefined) return []
    const cure = "write its path"
    const message = `OPERATOR_MULTI_CLUSTER_PROVIDERS has ${provider}, but ${field} is not set; ${cure}.`
    return [{ file: "environment", field, value: "nothing", cure, message }]
  })

/** The mistake of replicas that share members or queues and do not know who they are. */
const shardingMistakes = ({ podName, sharding, sharesQueues }: SettingValues): ReadonlyArray<ConfigurationMistake> => {
  if (podName !== undefined) return []
  const on = [
    ...(sharding ? ["OPERATOR_MULTI_CLUSTER_SHARDING"] : []),
    ...(sharesQueues ? ["OPERATOR_SQS_SPLITTING_SHARDING"] : [])
  ]
  const cure = "set OPERATOR_POD_NAME and OPERATOR_POD_UID"
  return on.map((field) => {
    const message = `${field} is true, but the replica does not know its pod; ${cure}.`
    return { file: "environment", field, value: "true", cure, message }
  })
}

/** The mistake of a member that is to dial, but does not know whom. */
const dialMistakes = ({ cellAddress, dialsOut, isMember }: SettingValues): ReadonlyArray<ConfigurationMistake> => {
  if (!isMember || !dialsOut || cellAddress !== undefined) return []
  const cure = "write the primary's host and port, such as cell.example.com:8443"
  const message = `OPERATOR_OUTBOUND is true, but OPERATOR_OUTBOUND_CELL is not set; ${cure}.`
  return [{ file: "environment", field: "OPERATOR_OUTBOUND_CELL", value: "nothing", cure, message }]
}

/** The mistake of a database's URL that is none. Its text may hold a password, so no error repeats it. */
const databaseMistakes = ({ usageDatabase }: SettingValues): ReadonlyArray<ConfigurationMistake> => {
  if (usageDatabase === undefined || isPostgresUrl(Redacted.value(usageDatabase))) return []
  const field = "OPERATOR_USAGE_DATABASE_URL"
  const cure = "write for example postgresql://braid:PASSWORD@db.example.com:5432/braid"
  const message = `${field} is not the URL of a PostgreSQL database; ${cure}.`
  return [{ file: "environment", field, value: "another text", cure, message }]
}

/** The mistakes of a page of use that lacks what a login needs. */
const dashboardMistakes = (env: SettingValues): ReadonlyArray<ConfigurationMistake> => {
  if (!env.servesDashboard) return []
  const needed = {
    OPERATOR_DASHBOARD_HOST: [env.dashboardHost, "write the name by which browsers reach the page"],
    OPERATOR_DASHBOARD_OIDC_ISSUER: [env.oidcIssuer, "write the URL of the provider at which people log in"],
    OPERATOR_DASHBOARD_OIDC_CLIENT_ID: [env.oidcClientId, "write the page's name at the provider"],
    OPERATOR_DASHBOARD_OIDC_CLIENT_SECRET: [env.oidcClientSecret, "write the page's secret at the provider"],
    OPERATOR_DASHBOARD_OIDC_GROUPS: [
      [...env.oidcGroups, ...env.oidcEmails].length > 0 || undefined,
      "list groups, or people in OPERATOR_DASHBOARD_OIDC_EMAILS; without any the page shows nothing to anyone"
    ],
    OPERATOR_USAGE_ENABLED: [env.recordsUsage || undefined, "set it to true; without records there is no page"]
  } as const
  return Object.entries(needed).flatMap(([field, [value, cure]]) =>
    value === undefined
      ? [
          {
            file: "environment",
            field,
            value: "nothing",
            cure,
            message: `OPERATOR_DASHBOARD_INGRESS is true, but ${field} is not set; ${cure}.`
          }
        ]
      : []
  )
}

/** The mistake of a group that is the cluster's own: no person of a primary is ever in it. */
const peopleMistakes = ({ peopleGroups, peoplePrefix }: SettingValues): ReadonlyArray<ConfigurationMistake> => {
  const group = reservedGroup({ groups: peopleGroups, prefix: peoplePrefix })
  if (group === undefined) return []
  const cure = "name groups of people, or set OPERATOR_OUTBOUND_PROXY_PREFIX to primary:"
  const name = nameHere({ prefix: peoplePrefix }, group)
  const message = `OPERATOR_OUTBOUND_PROXY_GROUPS has ${group}, but group ${name} is this cluster's own; ${cure}.`
  return [{ file: "environment", field: "OPERATOR_OUTBOUND_PROXY_GROUPS", value: group, cure, message }]
}

/** The mistakes that are seen only when variables are looked at together. */
const mistakesTogether = (env: SettingValues): ReadonlyArray<ConfigurationMistake> => {
  const { certificatePath, keyPath, leaseDuration, podName, podUid, renewDeadline, retryPeriod } = env
  const problem = leaseTimesProblem({ leaseDuration, renewDeadline, retryPeriod })
  return [
    ...(problem === undefined ? [] : [leaseMistake(problem)]),
    ...portMistakes(env),
    ...furtherPortMistakes(env),
    ...pathMistakes(env),
    ...shardingMistakes(env),
    ...dialMistakes(env),
    ...peopleMistakes(env),
    ...databaseMistakes(env),
    ...dashboardMistakes(env),
    ...halfPair(
      { OPERATOR_TLS_CERT_PATH: certificatePath, OPERATOR_TLS_KEY_PATH: keyPath },
      "a certificate that is made at each start"
    ),
    ...halfPair({ OPERATOR_POD_NAME: podName, OPERATOR_POD_UID: podUid }, "an operator that elects no leader")
  ]
}

const fleetPathsOf = ({
  clustersFile,
  managementOnly,
  multiClusterFile,
  providers
}: SettingValues): FleetPaths | undefined =>
  multiClusterFile === undefined
    ? undefined
    : { multiCluster: multiClusterFile, clusters: clustersFile, managementOnly, findsClusters: providers.length > 0 }

const mistakesOf = <A>(
  result: Result.Result<A, ReadonlyArray<ConfigurationMistake>> | undefined
): ReadonlyArray<ConfigurationMistake> => (result !== undefined && Result.isFailure(result) ? result.failure : [])

const boundsOf = (env: SettingValues): SessionBounds => ({
  sessionsPerUser: env.sessionsPerUser,
  sessions: env.sessions,
  connectionsPerSession: env.connectionsPerSession,
  agentsPerUser: env.agentsPerUser,
  agents: env.agents,
  branchesPerNamespace: env.branchesPerNamespace,
  branches: env.branches
})

const candidacyOf = ({
  leaseDuration,
  podName,
  podUid,
  renewDeadline,
  retryPeriod
}: SettingValues): Candidacy | undefined =>
  podName === undefined || podUid === undefined
    ? undefined
    : { pod: { name: podName, uid: podUid }, times: { leaseDuration, renewDeadline, retryPeriod } }

const splittingOf = ({
  isolatesPods,
  splitLinger,
  splitsSqs,
  splitsWaitForPods
}: SettingValues): SplitSettings | undefined =>
  splitsSqs ? { lingerSeconds: splitLinger / 1_000, isolatesPods, waitsForPods: splitsWaitForPods } : undefined

const certificateOf = ({ certificatePath, keyPath }: SettingValues): Settings["certificate"] =>
  certificatePath === undefined || keyPath === undefined ? undefined : { certificatePath, keyPath }

export const readSettings = Effect.fnUntraced(function* (
  sha256Hex: (text: string) => string
): Effect.fn.Return<Settings, RefusedConfiguration | Config.ConfigError> {
  const env = yield* settingValues
  const fleetPaths = fleetPathsOf(env)
  const fleet =
    fleetPaths === undefined ? undefined : parseFleetConfiguration(yield* readFleetFiles(fleetPaths), sha256Hex)
  const file = parseAgentConfiguration(yield* readDocument(env.agentFile), defaultAgentImage)
  const access = parseAccessProviders(yield* readDocument(env.accessProvidersFile))
  const together = [...mistakesTogether(env), ...mistakesOf(access)]
  const tracing = readTracing(yield* tracingEnvironment)
  const isRefused = Result.isFailure(file) || Result.isFailure(tracing) || together.length > 0
  if ((fleet !== undefined && Result.isFailure(fleet)) || isRefused)
    return yield* new RefusedConfiguration({
      mistakes: [...mistakesOf(fleet), ...together, ...mistakesOf(tracing), ...mistakesOf(file)]
    })
  const agents = agentSettings(env, file.success)
  if (agents.extraEnv[certificateVariable] !== undefined)
    return yield* new RefusedConfiguration({ mistakes: [certificateMistake] })
  return {
    values: env,
    ...splitAddress(env.address),
    fallback: fallbackOf(env.fallback),
    namespace: env.namespace,
    requireFrontProxy: env.requireFrontProxy,
    jsonLog: env.jsonLog,
    metrics: metricsAddressOf(env),
    tracing: tracing.success,
    ownCertificate: env.ownCertificate,
    certificate: certificateOf(env),
    agents,
    agentTls: env.agentTls,
    candidacy: candidacyOf(env),
    search: searchWithin(
      env,
      Result.getOrElse(access, () => []),
      env.namespace
    ),
    requestBounds: { requestsPerUser: env.requestsPerUser, connections: env.connections },
    bounds: boundsOf(env),
    podlessMillis: env.podless,
    maxSessionSecs: env.maxSession,
    sessionTtlSecs: env.sessionTtl,
    protectedNamespaces: protectedNamespaces({
      operator: env.namespace,
      agents: agents.namespace,
      allowed: env.allowedNamespaces
    }),
    makesCopies: env.makesCopies,
    copyImage: env.copiesUseAgentImage ? { ...agents, leavesUsersOut: !env.podUsers } : undefined,
    branchSettings: yield* readBranchSettings(yield* branchEnvironment, env),
    splitting: splittingOf(env),
    isMember: env.isMember || env.requirePrimary,
    requirePrimary: env.requirePrimary,
    fleet: fleet?.success,
    fleetPaths
  }
})
