/**
 * The operator's settings, read from its environment and its configuration files. The rules for the fleet are in
 * domain/fleet; nothing here acts on a setting.
 */

import { Config, Data, Effect, Option, Result, Schema } from "effect"
import { type AgentSettings, certificateVariable } from "../../adapters/agents/agent-job.ts"
import { type FleetPaths, readDocument, readFleetFiles } from "../../adapters/files/configuration-files.ts"
import {
  type AgentConfiguration,
  extraEnvironment,
  parseAgentConfiguration
} from "../../domain/agents/agent-configuration.ts"
import type { BranchSettings } from "../../domain/branches/branch-settings.ts"
import type { CopyImage } from "../../domain/copies/copied-pod.ts"
import { type AccessProvider, parseAccessProviders } from "../../domain/fleet/access-providers.ts"
import type { ConfigurationMistake, FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { parseFleetConfiguration } from "../../domain/fleet/parse-configuration.ts"
import { clusterProviders, type ClusterProvider, type ClusterSearch } from "../../domain/fleet/provided-clusters.ts"
import { leaseTimesProblem, usualLeaseTimes } from "../../domain/leadership/lease-times.ts"
import { usualPodlessMillis } from "../../domain/sessions/podless.ts"
import { type SessionBounds, usualBounds } from "../../domain/sessions/session-bounds.ts"
import { type ProtectedNamespaces, protectedNamespaces } from "../../domain/targets/protected-namespaces.ts"
import { isObjectName } from "../../domain/targets/target-path.ts"
import type { ListenAddress } from "../api/listen.ts"
import { type RequestBounds, usualRequestBounds } from "../api/request-bounds.ts"
import { branchEnvironment, readBranchSettings } from "./branch-environment.ts"
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
  /** The longest time of a session, in seconds; nothing: as long as it has a client. */
  readonly longestSessionSecs: number | undefined
  /** How long the target of a session may be without pods, ms. */
  readonly podlessMillis: number
  /** Whether a primary must say which cluster it is. */
  readonly requirePrimary: boolean
  /** Whether the replicas of a primary share its members. */
  readonly sharding: boolean
  /** Namespaces without targets. */
  readonly protectedNamespaces: ProtectedNamespaces
  /** Whether targets are copied. */
  readonly makesCopies: boolean
  /** Whether stolen requests get a header with the key of their session. */
  readonly addsSessionKey: boolean
  /** The image of copied containers: the agent's, unless they keep their own. */
  readonly copyImage: CopyImage | undefined
  /** The engines whose databases have branches. */
  readonly branchSettings: BranchSettings
  /** How this process takes part in the election of the leader; missing if it does not know its pod. */
  readonly candidacy: Candidacy | undefined
  readonly jsonLog: boolean
  /** Where metrics are served; nothing: nowhere. */
  readonly metrics: MetricsAddress | undefined
  /** Where traces go; nothing: traces are off. */
  readonly tracing: TracingSettings | undefined
}

const splitAddress = (address: string): ListenAddress => {
  const at = address.lastIndexOf(":")
  return { host: address.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(address.slice(at + 1)) }
}

const usualAgentImage = "ghcr.io/metalbear-co/mirrord:3.250.0"
const greatestPort = 65_535
/** Beyond, a bound protects nothing. */
const greatestBound = 10_000
/** Ten years, in seconds. */
const greatestSessionTime = 315_360_000
/** More than three days, in ms. */
const greatestPodlessTime = 315_360_000
/** In s: a lease of more than a day serves nobody. */
const greatestLeaseTime = 86_400

/** `[::]:443`, `0.0.0.0:443` or `127.0.0.1:0`. */
const Address = Schema.String.check(
  Schema.makeFilter((address) =>
    /^(\[[0-9a-f:.]+\]|[^:[\]]+):\d{1,5}$/iu.test(address) && splitAddress(address).port <= greatestPort
      ? undefined
      : "Expected <address>:<port>, such as [::]:443 or 0.0.0.0:443"
  )
)

/** A number in digits alone, so that the chart can check it as well: no `1e3`, no `NaN`. */
const wholeNumber = (name: string, greatest: number) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter((digits) =>
        /^[1-9]\d{0,8}$/u.test(digits) && Number(digits) <= greatest
          ? undefined
          : `Expected a whole number from 1 to ${greatest}`
      )
    ),
    name
  ).pipe(Config.map(Number))

const text = (name: string) => Config.option(Config.String(name))
const seconds = (name: string, otherwise: number) =>
  wholeNumber(name, greatestLeaseTime).pipe(
    Config.map((value) => value * 1000),
    Config.withDefault(otherwise)
  )

const bound = (name: string, otherwise: number) => wholeNumber(name, greatestBound).pipe(Config.withDefault(otherwise))
const objectNames = (name: string) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter((names) =>
        names.split(",").every(isObjectName) ? undefined : "Expected names of objects, separated by commas"
      )
    ),
    name
  ).pipe(Config.map((names) => names.split(",")))
const objectName = (name: string) =>
  Config.schema(
    Schema.String.check(
      Schema.makeFilter((found) => (isObjectName(found) ? undefined : "Expected the name of an object"))
    ),
    name
  )

/** Whether the operator keeps its own serving certificate; `braid doctor` asks for the rights that this needs. */
export const ownCertificate = Config.Boolean("OPERATOR_OWN_CERTIFICATE").pipe(Config.withDefault(false))

/** Whether agents speak TLS; `braid doctor` asks for the right that this needs. */
export const agentTls = Config.Boolean("OPERATOR_AGENT_CONNECTION_TLS").pipe(Config.withDefault(false))

const isNamespace = (name: string): boolean => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u.test(name)

const Namespace = Schema.String.check(
  Schema.makeFilter((name) => (isNamespace(name) ? undefined : "Expected the name of a namespace"))
)

/** Names of namespaces, separated by commas. */
const Namespaces = Schema.String.check(
  Schema.makeFilter((names) =>
    names.split(",").every(isNamespace) ? undefined : "Expected names of namespaces, separated by commas without blanks"
  )
)

const isProvider = (name: string): name is ClusterProvider => clusterProviders.some((known) => known === name)

/** Names of ways to find clusters, separated by commas. */
const Providers = Schema.String.check(
  Schema.makeFilter((names) =>
    names.split(",").every(isProvider)
      ? undefined
      : `Expected names out of ${clusterProviders.join(", ")}, separated by commas without blanks`
  )
)

/** A JSON object of variables. */
const ExtraEnvironment = Schema.String.check(
  Schema.makeFilter((json) =>
    extraEnvironment(json) === undefined ? 'Expected variables as a JSON object, such as {"NAME":"value"}' : undefined
  )
)

/** The environment's setting for the fleet, which overrides its files. */
export const primaryManagementOnly = Config.option(Config.Boolean("PRIMARY_MANAGEMENT_ONLY")).pipe(
  Config.map(Option.getOrUndefined)
)

/** The environment of the published chart (published-chart.md §2.8), as far as the operator uses it. */
/** How a primary looks for clusters, as the variables say. */
export const clusterSearch = Config.all({
  providers: Config.schema(Providers, "OPERATOR_MULTI_CLUSTER_PROVIDERS").pipe(
    Config.map((names) => names.split(",").filter(isProvider)),
    Config.withDefault<ReadonlyArray<ClusterProvider>>([])
  ),
  clusterApiNamespace: Config.option(Config.schema(Namespace, "OPERATOR_CLUSTER_API_NAMESPACE")),
  kubeconfigFile: text("OPERATOR_KUBECONFIG_FILE"),
  kubeconfigDirectory: text("OPERATOR_KUBECONFIG_DIRECTORY"),
  clusterProfileNamespace: Config.option(Config.schema(Namespace, "OPERATOR_CLUSTER_PROFILE_NAMESPACE"))
})

/** The search of an operator in this namespace. */
export const searchWithin = (
  search: Config.Success<typeof clusterSearch>,
  accessProviders: ReadonlyArray<AccessProvider>,
  namespace: string
): ClusterSearch => ({
  providers: search.providers,
  clusterApiNamespace: Option.getOrElse(search.clusterApiNamespace, () => namespace),
  kubeconfigFile: Option.getOrElse(search.kubeconfigFile, () => ""),
  kubeconfigDirectory: Option.getOrElse(search.kubeconfigDirectory, () => ""),
  clusterProfileNamespace: Option.getOrElse(search.clusterProfileNamespace, () => namespace),
  accessProviders
})

/** Whether targets are copied. Without copies the operator needs fewer rights, and jobs are no targets. */
export const makesCopies = Config.Boolean("OPERATOR_COPY_TARGET_ENABLED").pipe(Config.withDefault(true))

/** Whether the replicas of a primary share its members. */
export const sharding = Config.Boolean("OPERATOR_MULTI_CLUSTER_SHARDING").pipe(Config.withDefault(false))

const environment = Config.all({
  address: Config.schema(Address, "OPERATOR_ADDR").pipe(Config.withDefault("[::]:443")),
  fallback: Config.option(Config.schema(Address, "OPERATOR_FALLBACK_ADDR")),
  namespace: Config.String("MIRRORD_OPERATOR_NAMESPACE").pipe(Config.withDefault("mirrord")),
  requireFrontProxy: Config.Boolean("OPERATOR_REQUIRE_FRONT_PROXY_CLIENT_CERT").pipe(Config.withDefault(true)),
  podName: text("OPERATOR_POD_NAME"),
  podUid: text("OPERATOR_POD_UID"),
  leaseDuration: seconds("OPERATOR_LEASE_DURATION_SECS", usualLeaseTimes.leaseDuration),
  renewDeadline: seconds("OPERATOR_LEASE_RENEW_DEADLINE_SECS", usualLeaseTimes.renewDeadline),
  retryPeriod: seconds("OPERATOR_LEASE_RETRY_PERIOD_SECS", usualLeaseTimes.retryPeriod),
  jsonLog: Config.Boolean("OPERATOR_JSON_LOG").pipe(Config.withDefault(false)),
  metrics: Config.Boolean("OPERATOR_METRICS_ENABLED").pipe(Config.withDefault(false)),
  metricsAddress: Config.schema(Address, "OPERATOR_METRICS_ADDR").pipe(Config.withDefault("[::]:9000")),
  metricsFallback: Config.option(Config.schema(Address, "OPERATOR_METRICS_FALLBACK_ADDR")),
  tracing: tracingEnvironment,
  certificatePath: text("OPERATOR_TLS_CERT_PATH"),
  keyPath: text("OPERATOR_TLS_KEY_PATH"),
  ownCertificate,
  agentTls,
  agentPort: Config.option(wholeNumber("OPERATOR_AGENT_PORT", greatestPort)),
  agentImage: text("MIRRORD_AGENT_IMAGE"),
  agentPullPolicy: text("MIRRORD_AGENT_IMAGE_PULL_POLICY"),
  agentNamespace: text("MIRRORD_AGENT_NAMESPACE"),
  agentServiceAccount: Config.option(objectName("MIRRORD_AGENT_SERVICE_ACCOUNT")),
  agentPullSecrets: Config.option(objectNames("MIRRORD_AGENT_IMAGE_PULL_SECRETS")),
  agentLogLevel: text("MIRRORD_AGENT_RUST_LOG"),
  agentExtraEnv: Config.option(Config.schema(ExtraEnvironment, "OPERATOR_AGENT_EXTRA_ENV")),
  agentFile: text("OPERATOR_AGENT_CONFIG"),
  requestBounds: Config.all({
    requestsPerUser: bound("OPERATOR_REQUESTS_PER_USER", usualRequestBounds.requestsPerUser),
    connections: bound("OPERATOR_CONNECTIONS", usualRequestBounds.connections)
  }),
  bounds: Config.all({
    sessionsPerUser: bound("OPERATOR_SESSIONS_PER_USER", usualBounds.sessionsPerUser),
    sessions: bound("OPERATOR_SESSIONS", usualBounds.sessions),
    connectionsPerSession: bound("OPERATOR_CONNECTIONS_PER_SESSION", usualBounds.connectionsPerSession),
    agentsPerUser: bound("OPERATOR_AGENTS_PER_USER", usualBounds.agentsPerUser),
    agents: bound("OPERATOR_AGENTS", usualBounds.agents),
    branchesPerNamespace: bound("OPERATOR_BRANCHES_PER_NAMESPACE", usualBounds.branchesPerNamespace),
    branches: bound("OPERATOR_BRANCHES", usualBounds.branches)
  }),
  makesCopies,
  addsSessionKey: Config.Boolean("OPERATOR_INJECT_SESSION_KEY_HEADER").pipe(Config.withDefault(false)),
  copiesUseAgentImage: Config.Boolean("OPERATOR_COPY_TARGET_USE_AGENT_IMAGE").pipe(Config.withDefault(true)),
  branches: branchEnvironment,
  longestSession: Config.option(wholeNumber("OPERATOR_MAX_SESSION_TIME_SECONDS", greatestSessionTime)),
  podless: wholeNumber("OPERATOR_NO_POD_TARGETS_SESSION_TIMEOUT_MILLIS", greatestPodlessTime).pipe(
    Config.withDefault(usualPodlessMillis)
  ),
  allowedNamespaces: Config.option(Config.schema(Namespaces, "OPERATOR_ALLOWED_TARGET_NAMESPACES")),
  multiClusterFile: text("MIRRORD_MULTICLUSTER_CONFIG"),
  clustersFile: text("MIRRORD_CLUSTERS_CONFIG"),
  managementOnly: primaryManagementOnly,
  search: clusterSearch,
  accessProvidersFile: text("OPERATOR_ACCESS_PROVIDERS"),
  requirePrimary: Config.Boolean("OPERATOR_MULTI_CLUSTER_REQUIRE_PRIMARY").pipe(Config.withDefault(false)),
  sharding
})

type Environment = Config.Success<typeof environment>

/** The settings of agents: of the environment, else of their file, else the usual. */
const agentSettings = (env: Environment, file: AgentConfiguration): AgentSettings => ({
  ...file,
  image: Option.getOrElse(env.agentImage, () => file.image ?? usualAgentImage),
  imagePullPolicy: Option.getOrElse(env.agentPullPolicy, () => file.imagePullPolicy ?? "IfNotPresent"),
  imagePullSecrets: Option.getOrElse(env.agentPullSecrets, () => file.imagePullSecrets ?? []),
  namespace: Option.getOrElse(env.agentNamespace, () => file.namespace ?? env.namespace),
  serviceAccount: Option.getOrElse(env.agentServiceAccount, () => file.serviceAccount),
  port: Option.getOrUndefined(env.agentPort),
  idleTtlSecs: 60,
  startupTimeoutSecs: file.startupTimeoutSecs ?? 60,
  variables: {
    ...file.variables,
    ...Option.match(env.agentLogLevel, { onNone: () => ({}), onSome: (level) => ({ RUST_LOG: level }) })
  },
  extraEnv: Option.match(env.agentExtraEnv, { onNone: () => ({}), onSome: (json) => extraEnvironment(json) ?? {} })
})

const metricsAddressOf = ({ metrics, metricsAddress, metricsFallback }: Environment): MetricsAddress | undefined =>
  metrics
    ? {
        ...splitAddress(metricsAddress),
        fallback: Option.getOrUndefined(Option.map(metricsFallback, splitAddress))
      }
    : undefined

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
  pair: Readonly<Record<string, Option.Option<string>>>,
  neither: string
): ReadonlyArray<ConfigurationMistake> => {
  const [set] = Object.entries(pair).find(([, value]) => Option.isSome(value)) ?? []
  const [missing] = Object.entries(pair).find(([, value]) => Option.isNone(value)) ?? []
  if (set === undefined || missing === undefined) return []
  const cure = `set both, or neither for ${neither}`
  const message = `${set} is set, but ${missing} is not; ${cure}.`
  return [{ file: "environment", field: missing, value: "nothing", cure, message }]
}

/** The mistake of metrics on the port of the API: one of the two could not listen. Port 0 is any that is free. */
const portMistakes = ({ address, metrics, metricsAddress }: Environment): ReadonlyArray<ConfigurationMistake> => {
  const { port } = splitAddress(address)
  if (!metrics || port === 0 || splitAddress(metricsAddress).port !== port) return []
  const message = `OPERATOR_METRICS_ADDR and OPERATOR_ADDR have the same port, ${port}; give metrics another port.`
  const cure = "give metrics another port"
  return [{ file: "environment", field: "OPERATOR_METRICS_ADDR", value: metricsAddress, cure, message }]
}

/** The mistakes of providers that have no path to look at. */
const pathMistakes = ({ search }: Environment): ReadonlyArray<ConfigurationMistake> =>
  (
    [
      ["kubeconfigFile", "OPERATOR_KUBECONFIG_FILE"],
      ["kubeconfigDirectory", "OPERATOR_KUBECONFIG_DIRECTORY"]
    ] as const
  ).flatMap(([provider, field]) => {
    if (!search.providers.includes(provider) || Option.isSome(search[provider])) return []
    const cure = "write its path"
    const message = `OPERATOR_MULTI_CLUSTER_PROVIDERS has ${provider}, but ${field} is not set; ${cure}.`
    return [{ file: "environment", field, value: "nothing", cure, message }]
  })

/** The mistake of replicas that share members and do not know who they are. */
const shardingMistakes = ({ podName, sharding: isOn }: Environment): ReadonlyArray<ConfigurationMistake> => {
  if (!isOn || Option.isSome(podName)) return []
  const cure = "set OPERATOR_POD_NAME and OPERATOR_POD_UID"
  const message = `OPERATOR_MULTI_CLUSTER_SHARDING is true, but the replica does not know its pod; ${cure}.`
  return [{ file: "environment", field: "OPERATOR_MULTI_CLUSTER_SHARDING", value: "true", cure, message }]
}

/** The mistakes that are seen only when variables are looked at together. */
const mistakesTogether = (env: Environment): ReadonlyArray<ConfigurationMistake> => {
  const { certificatePath, keyPath, leaseDuration, podName, podUid, renewDeadline, retryPeriod } = env
  const problem = leaseTimesProblem({ leaseDuration, renewDeadline, retryPeriod })
  return [
    ...(problem === undefined ? [] : [leaseMistake(problem)]),
    ...portMistakes(env),
    ...pathMistakes(env),
    ...shardingMistakes(env),
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
  search
}: Environment): FleetPaths | undefined =>
  Option.getOrUndefined(
    Option.map(multiClusterFile, (multiCluster) => ({
      multiCluster,
      clusters: Option.getOrUndefined(clustersFile),
      managementOnly,
      findsClusters: search.providers.length > 0
    }))
  )

const mistakesOf = <A>(
  result: Result.Result<A, ReadonlyArray<ConfigurationMistake>> | undefined
): ReadonlyArray<ConfigurationMistake> => (result !== undefined && Result.isFailure(result) ? result.failure : [])

export const readSettings = (
  sha256Hex: (text: string) => string
): Effect.Effect<Settings, RefusedConfiguration | Config.ConfigError> =>
  Effect.gen(function* () {
    const env = yield* environment
    const fleetPaths = fleetPathsOf(env)
    const fleet =
      fleetPaths === undefined ? undefined : parseFleetConfiguration(yield* readFleetFiles(fleetPaths), sha256Hex)
    const file = parseAgentConfiguration(yield* readDocument(Option.getOrUndefined(env.agentFile)), usualAgentImage)
    const access = parseAccessProviders(yield* readDocument(Option.getOrUndefined(env.accessProvidersFile)))
    const together = [...mistakesTogether(env), ...mistakesOf(access)]
    const tracing = readTracing(env.tracing)
    const isRefused = Result.isFailure(file) || Result.isFailure(tracing) || together.length > 0
    if ((fleet !== undefined && Result.isFailure(fleet)) || isRefused)
      return yield* new RefusedConfiguration({
        mistakes: [...mistakesOf(fleet), ...together, ...mistakesOf(tracing), ...mistakesOf(file)]
      })
    const { certificatePath, keyPath, leaseDuration, podName, podUid, renewDeadline, retryPeriod } = env
    const times = { leaseDuration, renewDeadline, retryPeriod }
    const certificate = Option.all({ certificatePath, keyPath })
    const pod = Option.all({ name: podName, uid: podUid })
    const agents = agentSettings(env, file.success)
    if (agents.extraEnv[certificateVariable] !== undefined)
      return yield* new RefusedConfiguration({ mistakes: [certificateMistake] })
    return {
      ...splitAddress(env.address),
      fallback: Option.getOrUndefined(Option.map(env.fallback, splitAddress)),
      namespace: env.namespace,
      requireFrontProxy: env.requireFrontProxy,
      jsonLog: env.jsonLog,
      metrics: metricsAddressOf(env),
      tracing: tracing.success,
      ownCertificate: env.ownCertificate,
      certificate: Option.getOrUndefined(certificate),
      agents,
      agentTls: env.agentTls,
      candidacy: Option.getOrUndefined(Option.map(pod, (known) => ({ pod: known, times }))),
      search: searchWithin(
        env.search,
        Result.getOrElse(access, () => []),
        env.namespace
      ),
      requestBounds: env.requestBounds,
      bounds: env.bounds,
      podlessMillis: env.podless,
      longestSessionSecs: Option.getOrUndefined(env.longestSession),
      protectedNamespaces: protectedNamespaces({
        operator: env.namespace,
        agents: agents.namespace,
        allowed: Option.getOrElse(env.allowedNamespaces, () => "").split(",")
      }),
      makesCopies: env.makesCopies,
      addsSessionKey: env.addsSessionKey,
      copyImage: env.copiesUseAgentImage ? { ...agents, leavesUsersOut: env.branches.leavesUsersOut } : undefined,
      branchSettings: yield* readBranchSettings(env.branches),
      requirePrimary: env.requirePrimary,
      sharding: env.sharding,
      fleet: fleet?.success,
      fleetPaths
    }
  })
