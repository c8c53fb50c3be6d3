/**
 * The command `braid operator`: puts settings, server and replica together, and runs until the process is told to stop.
 *
 * Not here: what an operator does (app/operator), and who leads (app/leadership).
 */

import { totalmem } from "node:os"
import type { KubeConfig } from "@kubernetes/client-node"
import { Effect, Logger, Predicate, type Scope } from "effect"
import { dialAgent } from "../../adapters/agents/agent-channel.ts"
import { podAgents } from "../../adapters/agents/pod-agents.ts"
import { fleetFiles } from "../../adapters/files/configuration-files.ts"
import { makeClusterConnector } from "../../adapters/kubernetes/cluster-connector.ts"
import { makeLaneAccess } from "../../adapters/kubernetes/lane-access.ts"
import { MessageRoom } from "../../adapters/stream/message-room.ts"
import { openLaneLink, openMemberLink } from "../../adapters/websocket/member-link.ts"
import { roomWithin } from "../../domain/protocol/message-room.ts"
import { leases } from "../../domain/resources/core-kinds.ts"
import { memoryProblem } from "../../domain/server/memory-limit.ts"
import { primaryLeaseName } from "../../domain/sessions/primary-claim.ts"
import type { Agents } from "../../ports/agents.ts"
import { CredentialMaker } from "../../ports/credential-maker.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { serveApi } from "../api/aggregated-api.ts"
import { OperatorFacade } from "../api/operator-facade.ts"
import { ensureAgentIdentity } from "../certificates/agent-identity.ts"
import { servingCertificate } from "../certificates/certificate-watch.ts"
import { watchFrontProxy } from "../certificates/front-proxy.ts"
import { findClusters } from "../fleet/cluster-providers.ts"
import { type ConfigurationSource, makeConfigurationSource } from "../fleet/configuration-source.ts"
import { makeProvidedSource } from "../fleet/provided-source.ts"
import { logError, logInfo } from "../kernel/log.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { CurrentSettings } from "../kernel/setting-values.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { CurrentTracing } from "../kernel/tracing.ts"
import { version } from "../kernel/version.ts"
import { makeElectedFacade } from "../leadership/elected-facade.ts"
import { serveMetrics } from "../metrics/serve-metrics.ts"
import { makePoolSmall } from "../operator/buffer-pool.ts"
import { ownKubeConfig } from "../operator/own-kube-config.ts"
import { runReplica } from "../operator/run-replica.ts"
import { readSettings, type Settings } from "../operator/settings.ts"
import { userAgentOf } from "../operator/user-agent.ts"
import { makeCredentialMaker } from "./credential-maker.ts"
import { outboundDialler, outboundServer } from "./operator-outbound.ts"
import { operatorSplitting } from "./operator-splitting.ts"
import { makeOperatorTracing } from "./operator-tracing.ts"
import { operatorUsage } from "./operator-usage.ts"

/** The container's memory limit in bytes, if it has one. */
const memoryLimit = (): number | undefined => {
  const limit = process.constrainedMemory()
  // Without a limit it is 0, or a number that no machine reaches.
  return limit > 0 && limit < totalmem() ? limit : undefined
}

/** For the unfinished messages of all connections. */
const makeRoom = (): MessageRoom => new MessageRoom(roomWithin(memoryLimit()))

const mebibyte = 1_048_576
/** The weight of a replica without a memory limit, as if it had one of 1 GiB. */
const defaultWeight = 1_024

/** Members are shared by the memory that replicas have: during an update they may have different limits. */
const shareOfMembers = (): number => Math.max(1, Math.round((memoryLimit() ?? defaultWeight * mebibyte) / mebibyte))

/** Agents as pods of this cluster, which speak TLS if the settings say so. */
const agentsOf = ({ agents, agentTls, namespace }: Settings, api: KubeApi, room: MessageRoom): Agents["Service"] =>
  podAgents(
    api,
    agents,
    (host, port, tls) => dialAgent(host, port, { room, tls }),
    agentTls ? ensureAgentIdentity(api, namespace) : undefined
  )

/** The fleet's configuration as its files change, with the clusters that are found. `api`: of the own cluster. */
const configurationOf = Effect.fnUntraced(function* (
  { fleet, fleetPaths, namespace, search }: Settings,
  api: KubeApi
): Effect.fn.Return<ConfigurationSource | undefined, never, Scope.Scope> {
  if (fleet === undefined || fleetPaths === undefined) return undefined
  const files = yield* makeConfigurationSource(fleetFiles(fleetPaths), fleet)
  return search.providers.length > 0
    ? yield* makeProvidedSource(files, yield* findClusters(search, api, namespace))
    : files
})

/** How long the start waits for the Lease of a primary, ms: it is for a line of the log alone. */
const roleWait = 2_000

/**
 * The part of this operator in a fleet. Without the chart's word, a cluster that has served a primary keeps it in a
 * Lease.
 */
const roleOf = ({ fleet, isMember, namespace }: Settings, api: KubeApi): Effect.Effect<string> => {
  if (fleet !== undefined) return Effect.succeed("primary")
  if (isMember) return Effect.succeed("member")
  return api.get(leases, primaryLeaseName, namespace).pipe(
    Effect.as("member"),
    Effect.timeout(roleWait),
    Effect.catch(() => Effect.succeed("one cluster"))
  )
}

/** How many sessions there may be, and how long each. */
const sessionBoundsOf = ({ bounds, maxSessionSecs, podlessMillis, sessionTtlSecs }: Settings) => ({
  bounds,
  maxSessionSecs,
  podlessMillis,
  sessionTtlSecs
})

const noElection = logInfo(
  "no leader is elected: OPERATOR_POD_NAME and OPERATOR_POD_UID are not set; no other process may run an operator " +
    "for this cluster"
)

/** The page of use, whose parts are loaded only where it is served. */
const serveUse = (settings: Settings, facade: OperatorFacade["Service"]) =>
  Effect.flatMap(
    Effect.promise(() => import("./operator-dashboard.ts")),
    ({ operatorDashboard }) => operatorDashboard(settings, facade)
  )

const serve = Effect.fnUntraced(function* (
  settings: Settings,
  config: KubeConfig
): Effect.fn.Return<never, { readonly message: string }, Scope.Scope> {
  const room = makeRoom()
  makePoolSmall()
  const tracing = yield* makeOperatorTracing(settings)
  const userAgent = userAgentOf(version, settings.candidacy?.pod)
  const connector = yield* makeClusterConnector(
    config,
    settings.fleet?.clusterName ?? "local",
    (config, request, name) => openMemberLink(config, request, name, { room }),
    userAgent
  )
  const frontProxy = yield* watchFrontProxy(connector.own.api)
  const elected = makeElectedFacade()
  const certificate = yield* servingCertificate(settings, connector.own.api)
  const { port } = yield* serveApi({
    host: settings.host,
    port: settings.port,
    fallback: settings.fallback,
    certificate,
    frontProxy,
    requireFrontProxy: settings.requireFrontProxy,
    bounds: settings.requestBounds,
    room
  }).pipe(Effect.provideService(OperatorFacade, elected.facade), Effect.provideService(CurrentTracing, tracing))
  if (settings.metrics !== undefined) yield* serveMetrics({ ...settings.metrics, leads: elected.leads })
  if (settings.values.servesDashboard) yield* serveUse(settings, elected.facade)
  yield* logInfo("operator serves", { version, port, role: yield* roleOf(settings, connector.own.api) })
  if (settings.candidacy === undefined) yield* noElection
  const configuration = yield* configurationOf(settings, connector.own.api)
  // Started after the server, so that only a process that has got its port takes part in the election.
  return yield* runReplica({
    operator: {
      namespace: settings.namespace,
      version,
      fleet: settings.fleet,
      configuration,
      ...sessionBoundsOf(settings),
      isMember: settings.isMember,
      requirePrimary: settings.requirePrimary,
      protectedNamespaces: settings.protectedNamespaces,
      makesCopies: settings.makesCopies,
      copyImage: settings.copyImage,
      branchSettings: settings.branchSettings,
      servedAuthority: () => certificate.known().certificatePem,
      splitting: yield* operatorSplitting(settings.splitting),
      keepsUsers: true,
      usage: yield* operatorUsage
    },
    connector,
    agents: (api) => agentsOf(settings, retryingApi(api), room),
    serveOutbound: outboundServer(settings, configuration, (name, openLane) =>
      makeLaneAccess(name, openLane, (open, request, agent) => openLaneLink(open, request, agent, { room }), userAgent)
    ),
    dialOut: outboundDialler(settings, config, userAgent),
    candidacy: settings.candidacy,
    elected,
    weight: shareOfMembers()
  }).pipe(
    Effect.provideService(CredentialMaker, makeCredentialMaker(settings.search.accessProviders)),
    Effect.provideService(CurrentTracing, tracing)
  )
})

/** The cluster of this process, or why there is none. A YAML parser quotes the file below the first line. */
const clusterHere = Effect.try({
  try: ownKubeConfig,
  catch: (cause) => {
    const [why] = (Predicate.isError(cause) ? cause.message : String(cause)).split("\n")
    return {
      message:
        `there is no cluster to serve: ${why}. The chart runs this command in the operator's pod; by hand it needs ` +
        "KUBECONFIG, and braid doctor looks at an operator from outside"
    }
  }
})

/** Too little memory is refused before the port is open: a pod that is ready takes the place of one that works. */
const enoughMemory = Effect.suspend(() => {
  const message = memoryProblem(memoryLimit())
  return message === undefined ? Effect.void : Effect.fail({ message })
})

/** Runs the operator. Exit code 2: the configuration is refused; 1: the operator cannot go on. */
export const runOperator: Effect.Effect<number> = Effect.all([readSettings(sha256Hex), clusterHere, enoughMemory]).pipe(
  Effect.flatMap(([settings, config]) =>
    Effect.scoped(serve(settings, config)).pipe(
      Effect.provideService(CurrentSettings, settings.values),
      Effect.catch((error) => Effect.as(logError(error.message), 1)),
      Effect.provide(Logger.layer([settings.jsonLog ? Logger.consoleJson : Logger.consoleLogFmt]))
    )
  ),
  Effect.catch((error) =>
    Effect.sync(() => {
      console.error(`braid: the configuration cannot be used:\n${error.message}`)
      return 2
    })
  )
)
