/**
 * One replica of a cluster's operator: its pod, and the process in it that runs the product's own operator code. Which
 * replica gets requests is decided in `operator-host.ts`.
 */

import { Clock, Context, Effect, Exit, Fiber, Redacted } from "effect"
import { podAgents } from "../../../src/adapters/agents/pod-agents.ts"
import type { OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import { findClusters } from "../../../src/app/fleet/cluster-providers.ts"
import { type ConfigurationSource, makeConfigurationSource } from "../../../src/app/fleet/configuration-source.ts"
import { makeProvidedSource } from "../../../src/app/fleet/provided-source.ts"
import { CurrentFailingLists, FailingLists } from "../../../src/app/kernel/failing-lists.ts"
import { CurrentHoldings, Holdings } from "../../../src/app/kernel/holdings.ts"
import { CurrentMeasurements, Measurements } from "../../../src/app/kernel/metrics.ts"
import { retryingApi } from "../../../src/app/kernel/retrying-api.ts"
import { CurrentSecretBytes } from "../../../src/app/kernel/secret-bytes.ts"
import { CurrentSettings } from "../../../src/app/kernel/setting-values.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { CurrentTracing, type Tracing } from "../../../src/app/kernel/tracing.ts"
import { CurrentWatchLags, WatchLags } from "../../../src/app/kernel/watch-lags.ts"
import { makeElectedFacade } from "../../../src/app/leadership/elected-facade.ts"
import type { OperatorOptions } from "../../../src/app/operator/operator.ts"
import { type ReplicaOptions, runReplica } from "../../../src/app/operator/run-replica.ts"
import { serveOutboundMembers } from "../../../src/app/outbound/outbound-members.ts"
import { runOutpost } from "../../../src/app/outbound/outpost.ts"
import { CurrentTunnelCertificates } from "../../../src/app/outbound/tunnel-certificates.ts"
import { defaultAgentConfiguration } from "../../../src/domain/agents/agent-configuration.ts"
import type { ClusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { isOutbound } from "../../../src/domain/fleet/configuration.ts"
import { parseFleetConfiguration } from "../../../src/domain/fleet/parse-configuration.ts"
import type { OperatorPod } from "../../../src/domain/leadership/identity.ts"
import { leaderLabel } from "../../../src/domain/leadership/leader-label.ts"
import { defaultLeaseTimes } from "../../../src/domain/leadership/lease-times.ts"
import { leases, pods } from "../../../src/domain/resources/core-kinds.ts"
import { defaultBounds } from "../../../src/domain/sessions/session-bounds.ts"
import { protectedNamespaces } from "../../../src/domain/targets/protected-namespaces.ts"
import { AgentUnreachable } from "../../../src/ports/agents.ts"
import type { ClusterAccess } from "../../../src/ports/cluster-connector.ts"
import { CredentialMaker, type MakeCredentials } from "../../../src/ports/credential-maker.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import type { KubeApi } from "../../../src/ports/kube-api.ts"
import { LinkRefused } from "../../../src/ports/member-link.ts"
import { TunnelDialler, TunnelListener } from "../../../src/ports/tunnel.ts"
import { SimProcess } from "../kernel/sim-process.ts"
import { accessProviders } from "./credential-makers.ts"
import { tellSpans } from "./ended-span.ts"
import { linkedConnectRequest } from "./linked-connect-request.ts"
import { searchOf } from "./member-plan.ts"
import type { Place } from "./network.ts"
import type { OperatorHostOptions, PrimarySources, ReplicaHost } from "./operator-host-options.ts"
import type { ApiCaller, ApiServer } from "./sim-api-server.ts"
import { branchSettings, secretBytes } from "./source-databases.ts"
import { serveLane } from "./tunnel.ts"
import type { PortCall } from "./world-event.ts"

export const operatorNamespace = "mirrord"
/** Time between a crash and the next start by the kubelet, ms. */
const restartAfter = 3_000
/** How long a process may take to end after SIGTERM, ms. */
const terminationGrace = 10_000
/** After so long a pod of a lost node is replaced on another node, ms. */
const replacedAfter = 60_000
/** After so long without an answer the dial of an agent is given up, ms, as by `dialAgent`. */
const dialTimeout = 10_000
/** Time between two WebSocket pings on a member link, ms (docs/concepts/member-link.md). */
const linkPulse = 30_000

const agentSettings = {
  ...defaultAgentConfiguration,
  image: "agent:1",
  imagePullPolicy: "IfNotPresent",
  namespace: operatorNamespace,
  port: undefined,
  idleTtlSecs: 60,
  startupTimeoutSecs: 60,
  imagePullSecrets: [],
  extraEnv: {}
} as const

const operatorSettings = {
  namespace: operatorNamespace,
  version: "simulated",
  bounds: defaultBounds,
  protectedNamespaces: protectedNamespaces({ operator: operatorNamespace, agents: operatorNamespace, allowed: [] })
} as const

/** An operator without members makes no credentials. */
const noMaker: MakeCredentials = () => Effect.fail("there is no maker of credentials here")

/** The user as which the operator of a primary calls its members. */
export const envoy = "system:serviceaccount:mirrord:mirrord-operator-envoy"

/** The configuration that a process starts with, and that it follows; as in production, no process starts without. */
const readFleet = ({ authors, files, plans }: PrimarySources, process: SimProcess, api: KubeApi) =>
  Effect.gen(function* () {
    const parsed = Effect.fromResult(parseFleetConfiguration(files.documents, sha256Hex))
    const fleet = yield* Effect.mapError(parsed, (mistakes) => mistakes.map(({ message }) => message).join(" "))
    const source = yield* makeConfigurationSource(files.readBy(process), fleet)
    const search = { ...searchOf(plans), accessProviders }
    if (search.providers.length === 0) return { fleet, configuration: source }
    const found = yield* findClusters(search, api, operatorNamespace, authors.reader)
    return { fleet, configuration: yield* makeProvidedSource(source, found) }
  })

export class OperatorReplica {
  /**
   * Where the replica calls its own API server from. With an election this is a place of its own, so that a replica can
   * be cut off from its server.
   */
  readonly node: Place
  readonly #host: ReplicaHost
  readonly #options: OperatorHostOptions
  readonly #index: number
  readonly #name: string
  #pod: OperatorPod | undefined
  /** The pod that ends, while its process may still run. */
  #ending: OperatorPod | undefined
  #pods = 0
  #process: SimProcess | undefined
  #facade: OperatorFacade["Service"] | undefined
  #holdings = new Holdings()
  #starts = 0
  #restarts = true
  /** The node is gone, and the cluster does not know yet that its container does not run. */
  #isLost = false
  #isTerminating = false
  #terminate = (): void => {}
  /** Called when the replica has ended for good; undefined as long as another pod would take its pod's place. */
  #retired: (() => void) | undefined
  readonly #which: { readonly replica?: number }
  /** How far the clock of the replica's machine is ahead, ms; kept over restarts. */
  skew = 0

  constructor(host: ReplicaHost, options: OperatorHostOptions, index: number) {
    this.#host = host
    this.#options = options
    this.#index = index
    const { kernel, network, replicas, server } = options
    const isElected = replicas !== undefined
    this.#which = isElected ? { replica: index } : {}
    this.#name = isElected ? `operator-${server.place}-r${index}` : `operator-${server.place}`
    this.node = isElected ? `${server.place}/${index}` : server.place
    if (!isElected) return
    for (const [from, to] of [
      [this.node, server.place],
      [server.place, this.node]
    ] as const)
      network.setLatency(from, to, 1, 1)
    kernel.after(0, () => this.#makePod())
  }

  get process(): SimProcess | undefined {
    return this.#process
  }

  get facade(): OperatorFacade["Service"] | undefined {
    return this.#facade
  }

  /** Undefined where no leader is elected. */
  get pod(): OperatorPod | undefined {
    return this.#pod
  }

  get holdings(): ReadonlyMap<string, number> {
    return this.#holdings.now()
  }

  /** Whether the Service leads here: the pod has the leader's label, and is not known to be dead. */
  get isSelected(): boolean {
    if (this.#pod === undefined) return this.#options.replicas === undefined
    const { objects } = this.#options.server
    const isLabelled = objects.peek(pods, this.#pod.name, operatorNamespace)?.metadata.labels?.[leaderLabel] === "true"
    return isLabelled && (this.#process !== undefined || this.#isLost)
  }

  /** Whether the cluster's Lease names this replica. */
  get holdsLease(): boolean {
    const pod = this.#pod ?? this.#ending
    if (pod === undefined) return this.#options.replicas === undefined
    const lease = this.#options.server.objects.peek(leases, "mirrord-operator", operatorNamespace)
    const { holderIdentity = "" } = (lease?.["spec"] ?? {}) as { readonly holderIdentity?: string }
    return holderIdentity.startsWith(`${pod.name}_${pod.uid}_`)
  }

  start(): void {
    const { branches, emit, ephemeralAgents, kernel, outbound, replicas, server, sharding, sources, traces } =
      this.#options
    const isThere = replicas === undefined || this.#pod !== undefined
    if (!isThere || this.#process !== undefined || this.#isTerminating) return
    const name = `${this.#name}-${++this.#starts}`
    const holdings = new Holdings()
    this.#holdings = holdings
    const process = new SimProcess(kernel, name, (line) => emit({ _tag: "Log", process: name, line }))
    process.skew = this.skew
    process.countsWhole = outbound !== undefined
    this.#process = process
    emit({ _tag: "Operator", cluster: server.place, process: name, ...this.#which, change: "started" })
    process.whenDead(() => this.#died(process))
    const elected = makeElectedFacade()
    this.#facade = elected.facade
    const replica: Omit<ReplicaOptions, "operator"> = {
      connector: this.#connector(process),
      agents: (api) =>
        podAgents(retryingApi(api), { ...agentSettings, ephemeral: ephemeralAgents }, (host, port) =>
          this.#dial(process, host, port)
        ),
      candidacy:
        replicas === undefined || this.#pod === undefined ? undefined : { pod: this.#pod, times: defaultLeaseTimes },
      elected,
      weight: 1
    }
    const outboundWith = (configuration: ConfigurationSource | undefined) => this.#outbound(process, configuration)
    const operator = Effect.gen(function* () {
      const configured: Pick<OperatorOptions, "configuration"> =
        sources === undefined ? {} : yield* readFleet(sources, process, replica.connector.own.api)
      const tunnels = outboundWith(configured.configuration)
      const served = branches ? { branchSettings } : {}
      return yield* runReplica({
        ...replica,
        ...tunnels,
        operator: { ...operatorSettings, ...served, fleet: undefined, ...configured }
      })
    }).pipe(
      Effect.provideService(CurrentHoldings, holdings),
      Effect.updateService(CurrentSettings, (settings) => ({ ...settings, sharding })),
      Effect.provideService(CredentialMaker, sources?.makers.make ?? noMaker),
      Effect.provideService(CurrentSecretBytes, secretBytes(kernel.random.split(`secrets of ${name}`))),
      (running) =>
        outbound === undefined
          ? running
          : Effect.provideService(running, CurrentTunnelCertificates, outbound.tunnels.certificates),
      // A process that dies takes them with it.
      Effect.provideService(CurrentMeasurements, new Measurements()),
      Effect.provideService(CurrentWatchLags, new WatchLags()),
      Effect.provideService(CurrentFailingLists, new FailingLists()),
      Effect.provideService(CurrentTracing, traces ? this.#tracing(process) : undefined)
    )
    const fiber = process.run(operator, (exit) => {
      if (this.#isTerminating) return this.crash("stopped")
      // As in production: an operator that cannot start ends, and its pod starts it again.
      emit({
        _tag: "Operator",
        cluster: server.place,
        process: name,
        ...this.#which,
        change: "ended",
        detail: Exit.isFailure(exit) ? String(exit.cause) : ""
      })
      process.kill()
    })
    const end = (): void => void process.run(Fiber.interrupt(fiber))
    // The signal reaches a process that is stopped when it goes on.
    this.#terminate = () => (process.state === "running" ? end() : process.holdFirst(end))
  }

  /** A person deleted the pod: the process is stopped, in order if it can be, and another pod takes its place. */
  podDeleted(uid: string | undefined): void {
    if (this.#pod === undefined || this.#pod.uid !== uid) return
    const { kernel } = this.#options
    const process = this.#process
    this.#ending = this.#pod
    this.#pod = undefined
    this.#isTerminating = true
    this.#terminate()
    kernel.after(terminationGrace, () => {
      if (this.#process === process) this.crash("killed after its grace")
      this.#ending = undefined
      this.#isTerminating = false
      if (this.#retired !== undefined) return this.#retired()
      this.#makePod()
      if (this.#restarts && !this.#isLost) this.start()
    })
  }

  /**
   * The Deployment wants the replica no more: its pod is deleted and not replaced. `gone` is called when the replica
   * has ended.
   */
  retire(gone: () => void): void {
    this.#retired = gone
    if (this.#isLost) return gone()
    // A replica that is ending already needs nothing more.
    if (this.#pod !== undefined) this.#options.server.objects.erase(pods, this.#pod.name, operatorNamespace)
  }

  /** Kills the process as by SIGKILL. It is started again after a moment, unless the operator is uninstalled. */
  crash(detail: string): void {
    const process = this.#process
    if (process === undefined) return
    this.#options.emit({
      _tag: "Operator",
      cluster: this.#options.server.place,
      process: process.name,
      ...this.#which,
      change: "crashed",
      detail
    })
    process.kill()
  }

  /**
   * Kills the process together with its node. The pod object stays as it was, with its label, even after another pod
   * has taken its place: no controller deletes it.
   */
  loseNode(): void {
    this.#isLost = true
    this.crash("with its node")
    this.#options.kernel.after(replacedAfter, () => this.replace())
  }

  /** After the loss of the node: another pod takes the place of the lost pod. */
  replace(): void {
    if (!this.#isLost || this.#retired !== undefined) return
    this.#isLost = false
    this.#makePod()
    if (this.#restarts) this.start()
  }

  /** Kills the process, which is not started again. */
  leaveForEver(): void {
    this.#restarts = false
    this.crash("for ever")
  }

  /** Starts the process, and again after each crash. */
  comeBack(): void {
    this.#restarts = true
    if (!this.#isLost) this.start()
  }

  /** Stops the process as by SIGSTOP. */
  pause(): void {
    const process = this.#process
    if (process?.state !== "running") return
    process.pause()
    this.#options.emit({
      _tag: "Operator",
      cluster: this.#options.server.place,
      process: process.name,
      ...this.#which,
      change: "paused"
    })
  }

  resume(): void {
    const process = this.#process
    if (process?.state !== "paused") return
    this.#options.emit({
      _tag: "Operator",
      cluster: this.#options.server.place,
      process: process.name,
      ...this.#which,
      change: "resumed"
    })
    process.resume()
  }

  setSkew(ms: number): void {
    this.skew = ms
    if (this.#process !== undefined) this.#process.skew = ms
  }

  #makePod(): void {
    const { kernel, server } = this.#options
    const name = `mirrord-operator-${this.#index}-${++this.#pods}`
    const { metadata } = server.objects.write(
      pods,
      name,
      {
        metadata: { labels: { app: "mirrord-operator" } },
        spec: { nodeName: this.node, containers: [{ name: "mirrord-operator" }] },
        status: { phase: "Running" }
      },
      { namespace: operatorNamespace, now: kernel.now }
    )
    this.#pod = { name, uid: metadata.uid ?? "" }
  }

  #died(process: SimProcess): void {
    if (this.#process !== process) return
    this.#process = undefined
    this.#facade = undefined
    if (this.#restarts)
      this.#options.kernel.after(restartAfter, () => {
        if (this.#restarts && !this.#isLost && !this.#isTerminating) this.start()
      })
  }

  #tracing(process: SimProcess): Tracing {
    const { emit, server } = this.#options
    return tellSpans(Context.get(process.context, Clock.Clock), (span) =>
      emit({ _tag: "Span", cluster: server.place, process: process.name, span })
    )
  }

  /** The cell of a primary, or the outpost of a member that dials out. */
  #outbound(
    process: SimProcess,
    configuration: ConfigurationSource | undefined
  ): Pick<ReplicaOptions, "dialOut" | "serveOutbound"> {
    const { outbound, server } = this.#options
    if (outbound === undefined) return {}
    const { certificateHours, members, people, tunnels } = outbound
    const namespace = operatorNamespace
    if (configuration !== undefined) {
      const configured = () =>
        configuration
          .known()
          .members.filter(isOutbound)
          .map(({ name }) => name)
      const settings = { hosts: [], port: 8443, bootstrapPort: 8444, bootstrapRanges: [], certificateHours }
      const access = tunnels.access(process, (cluster, road) => {
        const member = this.#options.member(cluster)
        if (member === undefined) throw new Error(`the world has no cluster ${cluster}`)
        return this.#access(process, member.server, { road })
      })
      const isConfigured = (name: ClusterName): boolean => configured().includes(name)
      const listen = (changed: () => void) => configuration.listen(changed)
      return {
        serveOutbound: (api) =>
          serveOutboundMembers({ api, namespace, settings, isConfigured, configured, listen }, access).pipe(
            Effect.provideService(TunnelListener, tunnels.listener(process))
          )
      }
    }
    if (!members.includes(server.place)) return {}
    const dialler = tunnels.dialler({ process, place: server.place, cluster: server.place })
    const bootstrap = people.settingsOf(server.place)
    return {
      dialOut: (api) =>
        runOutpost({ api, namespace, cell: "primary:8443", bootstrap, serve: serveLane }).pipe(
          Effect.provideService(TunnelDialler, dialler)
        )
    }
  }

  #connector(process: SimProcess): ReplicaOptions["connector"] {
    return {
      own: this.#access(process, this.#options.server),
      member: ({ name: cluster }, credentials) =>
        Effect.sync(() => {
          const member = this.#options.member(cluster)
          if (member === undefined) throw new Error(`the world has no cluster ${cluster}`)
          if (this.#options.outbound?.members.includes(cluster) === true)
            throw new Error(`no way leads to ${cluster}, which dials out`)
          let current = credentials
          const token = (): string =>
            current._tag === "BearerToken" ? Redacted.value(current.token) : current.certificatePem.trim()
          return {
            ...this.#access(process, member.server, { token }),
            reauthenticate: (next) => {
              current = next
            }
          }
        })
    }
  }

  #access(process: SimProcess, server: ApiServer, by: Pick<ApiCaller, "road" | "token"> = {}): ClusterAccess {
    const own = this.#options.server.place
    const caller: ApiCaller = {
      process,
      place: server.place === own ? this.node : own,
      ...by,
      call: (call) => this.#call(process, call),
      crash: (detail) => this.crash(detail)
    }
    return {
      api: server.access(caller),
      link: (request) =>
        Effect.callback<FrameChannel, LinkRefused>((resume) => {
          const refused = (code: number | undefined, reason: string, detail: string): void =>
            resume(
              Effect.fail(
                new LinkRefused({ cluster: request.cluster, reason, detail, ...(code === undefined ? {} : { code }) })
              )
            )
          const { fault } = this.#call(process, {
            to: server.place,
            verb: "link",
            group: "",
            resource: "",
            namespace: request.namespace,
            name: request.sessionId.toString(),
            subresource: undefined,
            body: { query: request.query }
          })
          if (process.state === "dead") return
          if (fault?._tag === "Fail") return refused(fault.code, fault.reason, `injected ${fault.reason}`)
          const host = server.place === own ? this.#host : this.#options.member(server.place)?.host
          if (host === undefined) return refused(undefined, "", "no such cluster")
          const bearer = by.token?.()
          const road = by.road?.()
          if (typeof road === "string") return refused(undefined, "", road)
          const abandon = host.connect(
            { place: own, process },
            linkedConnectRequest({ user: envoy, groups: [], extra: {} }, request),
            { opened: (channel) => resume(Effect.succeed(channel)), refused },
            {
              pulse: linkPulse,
              ...(bearer === undefined ? {} : { bearer }),
              ...(road === undefined ? {} : { road })
            }
          )
          return Effect.sync(abandon)
        })
    }
  }

  #dial(process: SimProcess, host: string, port: number): Effect.Effect<FrameChannel, AgentUnreachable> {
    return Effect.suspend(() => {
      const { fault } = this.#call(process, {
        to: this.#options.server.place,
        verb: "dial",
        group: "",
        resource: "",
        namespace: undefined,
        name: `${host}:${port}`,
        subresource: undefined,
        body: undefined
      })
      if (process.state === "dead") return Effect.never
      const channel =
        fault?._tag === "Fail"
          ? undefined
          : this.#options.dialAgent({ place: this.#options.server.place, process }, host, port)
      const unreachable = (detail: string) => Effect.fail(new AgentUnreachable({ agent: `${host}:${port}`, detail }))
      if (channel === undefined) return unreachable("connection refused")
      return channel === "no answer"
        ? Effect.andThen(Effect.sleep(dialTimeout), () => unreachable(`no connection within ${dialTimeout} ms`))
        : Effect.as(
            Effect.onInterrupt(Effect.sleep(1), () => Effect.sync(channel.close)),
            channel
          )
    })
  }

  #call(process: SimProcess, call: Omit<PortCall, "index" | "operator">) {
    // Leases are renewed all the time, so a story's "n-th call" does not count calls about them.
    const isCounted = call.resource !== leases.plural
    const numbered: PortCall = {
      ...call,
      operator: this.#options.server.place,
      index: isCounted ? this.#host.calls : -1
    }
    // Code that runs at the moment of death still reaches this line, but nothing leaves a dead process.
    if (process.state === "dead") return { call: numbered, fault: undefined }
    if (isCounted) this.#host.countCall()
    this.#options.emit({ _tag: "Called", call: numbered, process: process.name })
    const fault = this.#options.faults()(numbered)
    if (fault?._tag === "Crash" && (fault.when === "before" || call.verb === "link" || call.verb === "dial"))
      this.crash(`at call ${numbered.index}`)
    return { call: numbered, fault }
  }
}
