import { Effect, Exit, Fiber, Scope } from "effect"
import { linkedConnectRequest } from "../../lab/simulation/world/linked-connect-request.ts"
import { makeUserAuthority, type UserAuthority } from "../../src/adapters/x509/user-certificates.ts"
import type { AcceptedConnection, ConnectRequest, OperatorFacade } from "../../src/app/api/operator-facade.ts"
import type { ApiError } from "../../src/app/api/status.ts"
import { userAuthoritySecret } from "../../src/app/certificates/user-authority.ts"
import type { ConfigurationSource } from "../../src/app/fleet/configuration-source.ts"
import { type OperatorCapabilities, operatorCapabilities } from "../../src/app/operator/capabilities.ts"
import { makeOperator, type OperatorOptions } from "../../src/app/operator/operator.ts"
import type { BranchSettings } from "../../src/domain/branches/branch-settings.ts"
import { selectedPrimary } from "../../src/domain/copies/copy-order.ts"
import type { FleetConfiguration } from "../../src/domain/fleet/configuration.ts"
import { encodeBase64Text } from "../../src/domain/fleet/credentials/base64.ts"
import { matchesGlob } from "../../src/domain/policies/glob.ts"
import type { PortTls } from "../../src/domain/policies/tls/tls-steal-rules.ts"
import { clientMessage } from "../../src/domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import { readSteal } from "../../src/domain/relay/port-locks.ts"
import { copyTargets } from "../../src/domain/resources/copy-target.ts"
import { deployments, pods, secrets, subjectAccessReviews } from "../../src/domain/resources/core-kinds.ts"
import { mirrordOperators } from "../../src/domain/resources/mirrord-operator.ts"
import { sessions } from "../../src/domain/resources/session.ts"
import { targets } from "../../src/domain/resources/target.ts"
import { AgentFailed, Agents } from "../../src/ports/agents.ts"
import { type ClusterAccess, ClusterConnector } from "../../src/ports/cluster-connector.ts"
import type { FrameChannel } from "../../src/ports/frame-channel.ts"
import { type KubeApi, KubeError, type KubeErrorReason, type KubeObject } from "../../src/ports/kube-api.ts"
import { LinkRefused } from "../../src/ports/member-link.ts"
import { channelPair } from "./channel-pair.ts"
import { configurationOf, giveCredentials, operatorNamespace, defaultLimits } from "./fleet.ts"
import { MemberWays } from "./member-ways.ts"
import { MemoryKubeApi } from "./memory-kube-api.ts"

export const primaryIdentity = { user: "system:serviceaccount:mirrord:mirrord-operator-envoy", groups: [], extra: {} }

/** One cluster with its operator, all in this process. */
export interface MemoryCluster {
  readonly name: string
  readonly api: MemoryKubeApi
  operator: OperatorFacade["Service"] | undefined
  /** The scope of that operator, with which its connections end; `undefined` for one that no world kills. */
  life: Scope.Scope | undefined
  /** Agent connections that are open, the idle ones that keep agents alive included. */
  agentConnections: number
  /** Further variables of targets. */
  readonly variables: Map<string, string>
  /** Whether agents tell their own variables, as ephemeral ones do. */
  areAgentsEphemeral: boolean
  /** Makes every start of an agent fail with this text. */
  agentProblem: string | undefined
  /** The pods that agents were asked for, in order. */
  readonly agentPods: Array<string>
  /** The TLS ports that each of them was to have. */
  readonly agentTls: Array<ReadonlyArray<PortTls>>
  /** Users who may do everything that an operator asks its API server about. */
  readonly trusted: Set<string>
}

/** By the names of clusters. */
const authorities = new Map<string, UserAuthority>()

/** The API of a cluster in which an operator ran before: each would otherwise make an RSA key, which takes 0.1 s. */
const usedApi = (name: string): MemoryKubeApi => {
  const api = new MemoryKubeApi(name)
  const authority = authorities.get(name) ?? makeUserAuthority(0, new Uint8Array(16))
  authorities.set(name, authority)
  const { certificatePem, keyPem } = authority
  const data = { "tls.crt": encodeBase64Text(certificatePem), "tls.key": encodeBase64Text(keyPem) }
  api.write(secrets, userAuthoritySecret, { data }, operatorNamespace)
  return api
}

/** A cluster without an operator. */
export const memoryCluster = (name: string): MemoryCluster => ({
  name,
  api: usedApi(name),
  operator: undefined,
  life: undefined,
  agentConnections: 0,
  variables: new Map(),
  areAgentsEphemeral: false,
  agentProblem: undefined,
  agentPods: [],
  agentTls: [],
  trusted: new Set([primaryIdentity.user])
})

/** The least of an agent: what a session's start needs. */
const agent = (cluster: MemoryCluster, channel: FrameChannel): void => {
  cluster.agentConnections++
  const answer = (message: DaemonMessage): void => channel.send(daemonMessage.encode(message))
  channel.open({
    message: (bytes) => {
      const decoded = clientMessage.decode(bytes)
      if (decoded._tag !== "Decoded") return channel.close()
      const { value: message } = decoded
      if (message._tag === "SwitchProtocolVersion")
        answer({ _tag: "SwitchProtocolVersionResponse", value: message.value })
      if (message._tag === "Ping") answer({ _tag: "Pong" })
      const steal = readSteal(bytes)
      if (steal?.claim !== undefined)
        answer({ _tag: "TcpSteal", value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: steal.port } } })
      if (message._tag === "GetEnvVarsRequest") {
        const isHidden = [...message.value.envVarsFilter].some((pattern) => matchesGlob(pattern, "CLUSTER"))
        const own = [...message.value.envVarsFilter].some((pattern) => matchesGlob(pattern, "MIRRORD_AGENT_X"))
        const value = new Map([
          ...(isHidden ? [] : [["CLUSTER", cluster.name] as const]),
          ...cluster.variables,
          ...(cluster.areAgentsEphemeral && !own ? [["MIRRORD_AGENT_X", "1"] as const] : [])
        ])
        answer({ _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value } })
      }
    },
    ended: () => {
      cluster.agentConnections--
    },
    drained: () => {},
    ignored: () => {}
  })
}

const memoryAgents = (cluster: MemoryCluster): Agents["Service"] => ({
  ensure: (placement, _owner, tls = []) => {
    const pod = placement?.podName ?? "nobody"
    cluster.agentPods.push(pod)
    cluster.agentTls.push(tls)
    return cluster.agentProblem === undefined
      ? Effect.succeed({
          name: `agent-of-${pod}`,
          uid: placement?.containerId ?? "nobody",
          host: "10.0.0.1",
          port: 1,
          ...(cluster.areAgentsEphemeral ? { tellsOwnVariables: true as const } : {})
        })
      : Effect.fail(new AgentFailed({ agent: "agent", detail: cluster.agentProblem }))
  },
  giveUp: () => Effect.void,
  connect: () =>
    Effect.sync(() => {
      const [mine, its] = channelPair()
      agent(cluster, its)
      return mine
    })
})

/** An answer of a cluster's operator as its API server passes it on. */
const answered = <A>(
  cluster: MemoryCluster,
  ask: (operator: OperatorFacade["Service"]) => Effect.Effect<A, ApiError>
): Effect.Effect<A, KubeError> => {
  const { name, operator } = cluster
  const refused = (code: number, detail: string): KubeError =>
    new KubeError({ cluster: name, operation: "ask", reason: reasons.get(code) ?? "Other", code, detail })
  // Any request shows whether the server can be reached.
  return Effect.andThen(cluster.api.list(pods), () =>
    operator === undefined
      ? Effect.fail(refused(503, "no operator"))
      : Effect.mapError(ask(operator), ({ code, message }) => refused(code, message))
  )
}

const reasons: ReadonlyMap<number, KubeErrorReason> = new Map([
  [403, "Forbidden"],
  [404, "NotFound"],
  [409, "Conflict"]
])

/** The API server in front of a cluster: its objects, and its operator behind the aggregation layer. */
const aggregated = (cluster: MemoryCluster): KubeApi => {
  const { api } = cluster
  const stop = (operation: string, name: string): Effect.Effect<void, KubeError> =>
    Effect.mapError(
      cluster.operator?.deleteSession(name, primaryIdentity) ?? Effect.die("no operator"),
      ({ code, message }) =>
        new KubeError({
          cluster: cluster.name,
          operation,
          reason: code === 404 ? "NotFound" : "Other",
          code,
          detail: message
        })
    )
  return {
    cluster: api.cluster,
    list: (ref, selection) => {
      if (ref.plural === targets.plural)
        return answered(cluster, (operator) =>
          Effect.map(operator.listTargets(selection?.namespace), (items) => ({
            items: items as ReadonlyArray<KubeObject>,
            resourceVersion: "0"
          }))
        )
      if (ref.plural !== copyTargets.plural) return api.list(ref, selection)
      const listed = answered(cluster, (operator) => {
        const primary = selectedPrimary(selection?.labelSelector ?? null)
        return Effect.map(
          operator.listCopyTargets({
            namespace: selection?.namespace,
            ...(primary === undefined ? {} : { primary }),
            ...(selection?.name === undefined ? {} : { name: selection.name })
          }),
          (items) => ({ items: items as ReadonlyArray<KubeObject>, resourceVersion: "0" })
        )
      })
      // The store has none; a test may have it fail.
      return Effect.andThen(api.list(ref), listed)
    },
    watch: (...args) => api.watch(...args),
    mergePatch: (...args) => api.mergePatch(...args),
    update: (...args) => api.update(...args),
    delete: (ref, name, options) =>
      ref.plural === sessions.plural
        ? // Any request shows whether the server can be reached.
          Effect.andThen(api.list(pods), () => stop("delete", name))
        : api.delete(ref, name, options),
    get: (ref, name, namespace) => {
      if (ref.plural === targets.plural)
        return answered(cluster, ({ target }) =>
          Effect.map(target(namespace ?? "", name), (object) => object as KubeObject)
        )
      if (ref.plural !== mirrordOperators.plural) return api.get(ref, name, namespace)
      return answered(cluster, ({ describe }) => Effect.map(describe, (object) => ({ ...object, metadata: { name } })))
    },
    create: (ref, object, namespace) => {
      if (ref.plural === copyTargets.plural)
        return answered(cluster, (operator) =>
          Effect.map(
            operator.createCopyTarget({
              caller: primaryIdentity,
              namespace: namespace ?? "",
              body: object,
              certificate: undefined,
              clientName: undefined,
              clientHostname: undefined
            }),
            (made) => made as KubeObject
          )
        )
      if (ref.plural !== subjectAccessReviews.plural) return api.create(ref, object, namespace)
      const { spec } = object as { readonly spec: { readonly user: string } }
      return Effect.succeed({ metadata: { name: "" }, status: { allowed: cluster.trusted.has(spec.user) } })
    }
  }
}

const connectTo = (
  cluster: MemoryCluster,
  request: ConnectRequest
): Effect.Effect<AcceptedConnection, ApiError | LinkRefused, Scope.Scope> =>
  cluster.operator === undefined
    ? Effect.fail(new LinkRefused({ cluster: cluster.name, reason: "", detail: "no operator" }))
    : cluster.operator.connect(request)

/** Opens a connection to an operator as its API server would pass it on; the channel is the client's end. */
export const openConnection = (
  cluster: MemoryCluster,
  request: ConnectRequest
): Effect.Effect<FrameChannel, ApiError | LinkRefused, Scope.Scope> =>
  Effect.gen(function* () {
    // A connection that is over holds nothing any more, as for an API server.
    const own = yield* Scope.fork(yield* Effect.scope)
    const accepted = yield* connectTo(cluster, request).pipe(
      Scope.provide(own),
      Effect.onError(() => Scope.close(own, Exit.void))
    )
    const [client, server] = channelPair()
    const serve = Effect.onExit(Effect.scoped(accepted.serve(server)), (exit) => Scope.close(own, exit))
    const serving = yield* Effect.forkIn(serve, yield* Effect.scope, { startImmediately: true })
    if (cluster.life !== undefined) yield* Scope.addFinalizer(cluster.life, Fiber.interrupt(serving))
    return client
  })

/** `scope`: of the requests for links. */
const access = (cluster: MemoryCluster, scope: Scope.Scope): ClusterAccess => ({
  api: aggregated(cluster),
  link: (request) =>
    Effect.andThen(
      Effect.mapError(
        cluster.api.list(pods),
        ({ code, detail, reason }) =>
          new LinkRefused({ cluster: cluster.name, reason, detail, ...(code === undefined ? {} : { code }) })
      ),
      () => openConnection(cluster, linkedConnectRequest(primaryIdentity, request))
    ).pipe(
      Effect.mapError((error) =>
        error._tag === "LinkRefused"
          ? error
          : new LinkRefused({ cluster: cluster.name, code: error.code, reason: error.reason, detail: error.message })
      ),
      Effect.provideService(Scope.Scope, scope)
    )
})

/** Adds a Deployment with one pod. */
export const deploy = (cluster: MemoryCluster, name: string, namespace = "default"): void => {
  const labels = { app: name }
  cluster.api.write(
    deployments,
    name,
    { spec: { selector: { matchLabels: labels }, template: { spec: { containers: [{ name }] } } } },
    namespace
  )
  cluster.api.write(
    pods,
    `${name}-1`,
    {
      metadata: { labels },
      spec: { nodeName: "node", containers: [{ name }] },
      status: {
        phase: "Running",
        podIPs: [{ ip: "10.0.0.1" }],
        containerStatuses: [{ name, ready: true, containerID: "containerd://abc" }]
      }
    },
    namespace
  )
}

export interface MemoryWorld {
  readonly primary: MemoryCluster
  readonly members: ReadonlyMap<string, MemoryCluster>
  readonly ways: MemberWays
  /** Kills the operator of a cluster. */
  readonly kill: (cluster: MemoryCluster) => Effect.Effect<void>
  /** Starts another operator where the one before was killed. */
  readonly start: (cluster: MemoryCluster) => Effect.Effect<void, KubeError>
}

/** How a world differs from the usual one. */
export interface MemoryWorldOptions {
  readonly capabilities?: OperatorCapabilities
  /** Bounds and protected namespaces of all operators, and the engines that they have switched on. */
  readonly limits?: Partial<typeof defaultLimits> & {
    readonly branchSettings?: BranchSettings
    readonly makesCopies?: boolean
  }
  /** The engines that the operator of a cluster has switched on, where those of `limits` are not meant. */
  readonly branchSettingsOf?: (cluster: string) => BranchSettings
  /** How the operator of a cluster splits queues; `undefined` if it splits none. */
  readonly splitting?: (cluster: string) => OperatorOptions["splitting"]
  /** Whether their statistics go on after a restart. */
  readonly keepsUsers?: boolean
  /** Where the primary's configuration changes; without it never. */
  readonly configuration?: ConfigurationSource
  /** Where the operator of a cluster records use; by default nowhere. */
  readonly usage?: (cluster: string) => OperatorOptions["usage"]
}

/**
 * A management-only primary with members `a` (default) and `b`, each with `deployment/myapp`; lives as long as the
 * scope.
 */
export const memoryWorld = (
  settings: Partial<FleetConfiguration> = {},
  {
    branchSettingsOf,
    capabilities = operatorCapabilities,
    configuration,
    keepsUsers = false,
    limits = {},
    splitting = () => undefined,
    usage = () => undefined
  }: MemoryWorldOptions = {}
): Effect.Effect<MemoryWorld, KubeError, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const primary = memoryCluster("primary")
    const members = new Map(["a", "b"].map((name) => [name, memoryCluster(name)]))
    for (const [name, member] of members) {
      deploy(member, "myapp")
      giveCredentials(primary.api, name)
    }
    const operators = new Map<MemoryCluster, Scope.Closeable>()
    const ways = new MemberWays()
    const start = (cluster: MemoryCluster) =>
      Effect.gen(function* () {
        const own = yield* Scope.fork(scope)
        operators.set(cluster, own)
        cluster.life = own
        const fleet = cluster === primary ? configurationOf([...members.keys()], settings) : undefined
        cluster.operator = yield* makeOperator(
          {
            namespace: operatorNamespace,
            version: "test",
            fleet,
            configuration: cluster === primary ? configuration : undefined,
            keepsUsers,
            splitting: splitting(cluster.name),
            usage: usage(cluster.name),
            ...defaultLimits,
            ...limits,
            ...(branchSettingsOf === undefined ? {} : { branchSettings: branchSettingsOf(cluster.name) })
          },
          capabilities
        ).pipe(
          Effect.provideService(ClusterConnector, {
            own: access(cluster, own),
            member: ({ name }) => {
              const member = members.get(name) ?? memoryCluster(name)
              return Effect.succeed({
                ...ways.through(member, (of) => access(member, of), own),
                reauthenticate: () => {}
              })
            }
          }),
          Effect.provideService(Agents, memoryAgents(cluster)),
          Scope.provide(own)
        )
      })
    const kill = (cluster: MemoryCluster) =>
      Effect.suspend(() => {
        cluster.operator = undefined
        const own = operators.get(cluster)
        return own === undefined ? Effect.void : Scope.close(own, Exit.void)
      })
    for (const member of members.values()) yield* start(member)
    yield* start(primary)
    return { primary, members, ways, kill, start }
  })

/**
 * Starts the operator of a cluster that is in no fleet, or in one of its own; it ends with the scope, and another one
 * may come after it.
 */
export const startSingleOperator = (
  cluster: MemoryCluster,
  limits: MemoryWorldOptions["limits"] = {},
  fleet?: FleetConfiguration
): Effect.Effect<void, KubeError, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const options = { namespace: operatorNamespace, version: "test", fleet, ...defaultLimits, ...limits }
    cluster.operator = yield* makeOperator(options).pipe(
      Effect.provideService(ClusterConnector, {
        own: access(cluster, scope),
        member: () => Effect.die("an operator without a fleet has no members")
      }),
      Effect.provideService(Agents, memoryAgents(cluster))
    )
  })
