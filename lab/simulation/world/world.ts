/**
 * A whole installation in one process: clusters with API servers, nodes and operators, the network between them,
 * clients. Everything that happens is told to the observers, in order. Stories act on it from `../story`; it knows no
 * story.
 */

import { userAuthoritySecret } from "../../../src/app/certificates/user-authority.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { identityNamespace } from "../../../src/domain/fleet/cluster-identity.ts"
import { defaultSessionTimes, type FleetConfiguration } from "../../../src/domain/fleet/configuration.ts"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { authorityLife } from "../../../src/domain/outbound/certificate-plan.ts"
import { namespaces, secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import { type Cancel, Kernel } from "../kernel/kernel.ts"
import { SimProcess } from "../kernel/sim-process.ts"
import { AccountTokens, type TokenPlan } from "./account-tokens.ts"
import type { BranchWish } from "./branch-order.ts"
import type { FaultPlan } from "./call-faults.ts"
import { canary } from "./canary.ts"
import type { CopyWish } from "./copy-request.ts"
import { CredentialMakers } from "./credential-makers.ts"
import { userAuthority, worldStart } from "./credentials.ts"
import { MemberAuthors } from "./member-authors.ts"
import type { MemberPlans, OutboundPlan } from "./member-plan.ts"
import { Network, type Place } from "./network.ts"
import type { DialledAgent, OutboundWorld, PrimarySources } from "./operator-host-options.ts"
import { OperatorHost } from "./operator-host.ts"
import { envoy, operatorNamespace } from "./operator-replica.ts"
import { OutboundPeople } from "./outbound-people.ts"
import { makePipe, type PipeEnd } from "./pipe.ts"
import { PrimaryFiles } from "./primary-files.ts"
import { ApiServer } from "./sim-api-server.ts"
import { type ClientShape, SimClient } from "./sim-client.ts"
import { SimKubelet, type WorkloadPlan } from "./sim-kubelet.ts"
import { actAsMember, type Stolen } from "./thief.ts"
import { TokenSecrets } from "./token-secrets.ts"
import { SimTunnels } from "./tunnels.ts"
import type { TimedEvent, WorldEvent } from "./world-event.ts"

/** The place of a cluster's nodes, next to its operator. */
export const nodesOf = (cluster: string): Place => `${cluster}/nodes`

export interface ClusterPlan {
  readonly name: string
  /** Pods of `deployment/myapp`; 0: the cluster has no such target. */
  readonly pods: number
  /** Workloads beside `deployment/myapp`. */
  readonly workloads?: ReadonlyArray<WorkloadPlan>
}

/** The parts of a world before anything happens. */
export interface WorldPlan {
  readonly seed: string
  /** Workload clusters. */
  readonly clusters: ReadonlyArray<ClusterPlan>
  readonly defaultCluster: string
  /** Name of the primary; a cluster of its own that runs no workloads, unless it is among the clusters. */
  readonly primary: string
  /** Name of another primary of the same clusters, which runs no workloads and where branches are only ordered. */
  readonly secondPrimary: string | undefined
  readonly sessionStart: FleetConfiguration["sessionStart"]
  readonly sessionTtlSecs: number
  readonly remoteSessionTimeoutSecs: number
  /** Time between two pings of a client, ms. */
  readonly pingInterval: number
  /**
   * By cluster: the number of replicas that elect a leader. In all other clusters one process runs, without election.
   */
  readonly replicas: Readonly<Record<string, number>>
  /** Whether the primary's replicas share the members among them. Without an election it has no effect. */
  readonly sharding: boolean
  /** Clusters whose agents are ephemeral containers. In all others they are Jobs. */
  readonly ephemeralAgents: ReadonlyArray<string>
  /** By member: how its tokens end. The tokens of all others never do. */
  readonly tokens: Readonly<Record<string, TokenPlan>>
  /** By member: how it is found, and by what it knows the primary. */
  readonly members: MemberPlans
  readonly outbound: OutboundPlan | undefined
  /** Whether `deployment/myapp` has databases, of which all operators make branches. */
  readonly branches: boolean
  /** Whether operators trace sessions. Traces draw ids, so the world is another one then. */
  readonly traces: boolean
}

export const defaultPlan = {
  sessionStart: "default",
  sessionTtlSecs: defaultSessionTimes.sessionTtlSecs,
  remoteSessionTimeoutSecs: defaultSessionTimes.remoteSessionTimeoutSecs,
  pingInterval: 30_000,
  primary: "primary",
  secondPrimary: undefined,
  replicas: {},
  sharding: false,
  ephemeralAgents: [],
  tokens: {},
  members: {},
  outbound: undefined,
  branches: false,
  traces: false
} as const

/** A cluster of the world: its API server, its nodes, its operator. */
export interface SimCluster {
  readonly name: string
  readonly server: ApiServer
  readonly kubelet: SimKubelet
  readonly host: OperatorHost
  readonly tokens: AccountTokens
}

/** The start of a session by a user. */
export interface ClientPlan {
  readonly name: string
  readonly user: string
  readonly shape: ClientShape
  readonly target: string
  readonly version?: string
  /** The cluster whose operator is asked; the primary unless it is given. */
  readonly at?: string
  readonly copy?: CopyWish
  readonly branches?: BranchWish
  /** Follows from the name unless it is given. */
  readonly sessionId?: bigint
}

/** A request that entered a workload, and its answer once there is one. */
export interface EnteredRequest {
  readonly id: number
  readonly cluster: string
  readonly path: string
  readonly enteredAt: number
  answer: { readonly by: "workload" | "client" | "nobody"; readonly body: string; readonly at: number } | undefined
}

export class World {
  readonly plan: WorldPlan
  readonly kernel: Kernel
  readonly network: Network
  /** The configuration of the fleet. */
  readonly files: PrimaryFiles
  readonly clusters = new Map<string, SimCluster>()
  readonly clients = new Map<string, SimClient>()
  /** The Secrets with the members' tokens. */
  readonly tokenSecrets: TokenSecrets
  /** Those who write what members are found by, and their credentials. */
  readonly authors: MemberAuthors
  /** The makers of credentials. */
  readonly makers: CredentialMakers
  /** All about the members that dial out; `undefined` in a world without. */
  readonly outbound: OutboundWorld | undefined
  readonly requests: Array<EnteredRequest> = []
  /** Faults of operators' calls; the first plan with a fault for a call is heard. */
  readonly faultPlans: Array<FaultPlan> = []
  readonly #observers: Array<(event: TimedEvent) => void> = []
  #healedAt = -Infinity
  readonly #comingFaults = new Set<Cancel>()
  #connections = 0
  #thieves = 0

  constructor(plan: WorldPlan, observers: ReadonlyArray<(event: TimedEvent) => void> = []) {
    this.plan = plan
    this.#observers.push(...observers)
    this.kernel = new Kernel(plan.seed, worldStart)
    this.network = new Network(this.kernel)
    this.files = new PrimaryFiles(plan)
    const tokensOf = (name: string): AccountTokens => this.cluster(name).tokens
    this.makers = new CredentialMakers(tokensOf, () => this.now)
    const seconds = plan.secondPrimary === undefined ? [] : [plan.secondPrimary]
    const names = new Set([plan.primary, ...plan.clusters.map(({ name }) => name), ...seconds])
    this.outbound = this.#makeOutbound()
    for (const name of names) this.#makeCluster(name)
    this.#joinOutbound()
    for (const { name, pods, workloads = [] } of plan.clusters) {
      const { kubelet } = this.cluster(name)
      if (pods > 0) kubelet.deploy("myapp", pods)
      for (const workload of workloads) kubelet.deployOther(workload)
    }
    this.#writeUserAuthority()
    // Without its identity a primary could not tell its copies from those of others.
    if (plan.branches) {
      for (const name of [plan.primary, ...seconds])
        this.cluster(name).server.objects.write(
          namespaces,
          identityNamespace,
          {},
          { namespace: undefined, now: this.now }
        )
    }
    const tokenSecretsOf = (primary: string): TokenSecrets => {
      const isOutbound = (name: string): boolean => plan.outbound?.members.includes(name) === true
      const members = plan.clusters.filter(
        ({ name }) => name !== primary && plan.members[name] === undefined && !isOutbound(name)
      )
      return new TokenSecrets({
        objects: this.cluster(primary).server.objects,
        members: new Map(members.map(({ name }) => [name, this.cluster(name).tokens])),
        now: () => this.now
      })
    }
    this.tokenSecrets = tokenSecretsOf(plan.primary)
    for (const name of seconds) tokenSecretsOf(name)
    this.authors = new MemberAuthors({
      objects: this.primary.server.objects,
      namespace: operatorNamespace,
      plans: plan.members,
      tokens: tokensOf,
      now: () => this.now,
      after: (ms, run) => void this.kernel.after(ms, run)
    })
    // Not at once: the maker of the world may want to see the first calls, or to let them fail.
    for (const { host } of this.clusters.values())
      this.kernel.after(0, () => {
        if (!host.isGone) host.start()
      })
  }

  get now(): number {
    return this.kernel.now
  }

  get primary(): SimCluster {
    return this.cluster(this.plan.primary)
  }

  /** The default cluster of the sessions that begin now. */
  get defaultCluster(): string {
    return this.files.servedDefault
  }

  cluster(name: string): SimCluster {
    const found = this.clusters.get(name)
    if (found === undefined)
      throw new Error(`the world has no cluster ${name}; it has ${[...this.clusters.keys()].join(", ")}`)
    return found
  }

  client(name: string): SimClient {
    const found = this.clients.get(name)
    if (found === undefined)
      throw new Error(`the world has no session ${name}; it has ${[...this.clients.keys()].join(", ")}`)
    return found
  }

  readonly emit = (event: WorldEvent): void => {
    if (this.#observers.length === 0) return
    const timed: TimedEvent = { ...event, at: this.kernel.now }
    for (const observe of this.#observers) observe(timed)
  }

  observe(observer: (event: TimedEvent) => void): void {
    this.#observers.push(observer)
  }

  /** Lets so many ms pass. */
  pass(ms: number): void {
    this.kernel.run(this.kernel.now + ms)
  }

  /** Schedules a part of a fault; {@link heal} cancels it. */
  faultIn(ms: number, strike: () => void): void {
    const cancel = this.kernel.after(ms, () => {
      this.#comingFaults.delete(cancel)
      strike()
    })
    this.#comingFaults.add(cancel)
  }

  /**
   * Whether nothing is wrong anywhere, from now until the next act. Components may still act on an old fault that they
   * have not re-checked. Things removed for good do not count as faults.
   */
  get isWell(): boolean {
    const isQuiet = this.#comingFaults.size === 0 && this.faultPlans.every(({ isOver }) => isOver?.() === true)
    return (
      isQuiet &&
      this.network.isWell &&
      this.areCredentialsWell &&
      [...this.clusters.values()].every(({ host, kubelet, server }) => host.isWell && server.isWell && kubelet.isWell)
    )
  }

  /** Whether credentials, and what members are found by, are not spoilt, and all that are asked for are given. */
  get areCredentialsWell(): boolean {
    return this.tokenSecrets.isWell && this.authors.isWell && this.makers.isWell && this.areTunnelsWell
  }

  /** Whether the primary reaches each member that dials out, as far as the member is in its fleet and has not gone. */
  get areTunnelsWell(): boolean {
    const { outbound } = this
    return (
      outbound === undefined ||
      outbound.members.every(
        (name) =>
          !this.isInFleet(name) ||
          this.cluster(name).host.isGone ||
          this.primary.host.isGone ||
          (outbound.tunnels.current(name)?.carries === true && outbound.people.known(name).problem === undefined)
      )
    )
  }

  /** Whether a cluster is in the fleet, as far as its configuration and its providers can be read. */
  isInFleet(cluster: string): boolean {
    return this.files.isInFleet(cluster) || this.authors.isProvided(cluster)
  }

  /** When {@link heal} was called last, by the kernel's clock. */
  get healedAt(): number {
    return this.#healedAt
  }

  /** Ends all faults: links, servers, clocks and operators are well again. Things removed for good stay away. */
  heal(): void {
    this.#healedAt = this.now
    this.faultPlans.length = 0
    for (const cancel of this.#comingFaults) cancel()
    this.#comingFaults.clear()
    this.network.healAll()
    this.files.mend()
    this.tokenSecrets.heal()
    this.authors.heal()
    this.makers.heal()
    for (const { host, kubelet, server } of this.clusters.values()) {
      server.start()
      server.objects.setMuted(false)
      server.delayWatches(0, false)
      kubelet.heal()
      host.heal()
    }
    this.outbound?.tunnels.heal()
    this.outbound?.people.heal((name) => this.isInFleet(name) && !this.cluster(name).host.isGone)
    for (const client of this.clients.values()) client.process.resume()
  }

  /** Lets time pass until something holds, at most `ms`; the result is whether it holds. */
  passUntil(holds: () => boolean, ms: number): boolean {
    this.kernel.run(this.kernel.now + ms, holds)
    return holds()
  }

  /** A user starts a session. */
  startClient(options: ClientPlan): SimClient {
    const home = options.at ?? this.plan.primary
    const id = options.sessionId ?? BigInt(`0x${sha256Hex(`${this.plan.seed} session ${options.name}`).slice(0, 16)}`)
    const client = new SimClient({
      kernel: this.kernel,
      emit: this.emit,
      name: options.name,
      user: options.user,
      shape: options.shape,
      sessionId: id,
      namespace: "default",
      target: options.target,
      operator: this.cluster(home).host,
      server: this.cluster(home).server,
      isAtPrimary: home === this.plan.primary,
      isManagementOnly: !this.plan.clusters.some(({ name }) => name === home),
      copy: options.copy,
      branches: options.branches,
      nextConnection: () => ++this.#connections,
      pingInterval: this.plan.pingInterval,
      version: options.version ?? "1.29.0"
    })
    this.clients.set(options.name, client)
    return client
  }

  /** Another operator has what a member keeps. */
  startThief(member: string, stolen: Stolen): void {
    const { emit, kernel, outbound } = this
    if (outbound === undefined) return
    const name = `thief-${++this.#thieves}`
    const process = new SimProcess(kernel, name, (line) => emit({ _tag: "Log", process: name, line }))
    const dialler = outbound.tunnels.dialler({ process, place: name, cluster: member })
    process.run(actAsMember(dialler, outbound.tunnels.certificates, stolen))
  }

  /** A request enters the workload of a cluster from outside. */
  request(
    cluster: string,
    path: string,
    headers: ReadonlyArray<readonly [string, string]> = [],
    port = 80
  ): EnteredRequest {
    const id = this.requests.length
    const entered: EnteredRequest = { id, cluster, path, enteredAt: this.now, answer: undefined }
    this.requests.push(entered)
    const answered = (by: "workload" | "client" | "nobody", status: number, body: string): void => {
      entered.answer = { by, body, at: this.now }
      this.emit({ _tag: "RequestAnswered", id, cluster, by, status, body })
    }
    const pod = this.cluster(cluster).kubelet.request("myapp", { id, port, method: "GET", path, headers }, (answer) =>
      answer === undefined ? answered("nobody", 0, "") : answered(answer.by, answer.status, answer.body)
    )
    this.emit({ _tag: "RequestEntered", id, cluster, pod: pod ?? "", path })
    if (pod === undefined) answered("nobody", 0, "")
    return entered
  }

  #makeCluster(name: string): void {
    const { emit, kernel, network } = this
    network.setNeighbours(name, nodesOf(name))
    const tokens = new AccountTokens(
      this.plan.tokens[name],
      { subject: envoy, secret: `${canary}-token-of-${name}` },
      () => kernel.now
    )
    const server = new ApiServer({
      kernel,
      network,
      cluster: name,
      emit: (event) => {
        if (event._tag === "Committed") {
          kubelet.committed(event.commit)
          host.committed(event.commit)
        }
        emit(event)
      },
      askOperator: (use, answer) => host.answer(use, answer),
      envoy,
      tokens
    })
    const kubelet = new SimKubelet({ kernel, server, emit, hasDatabases: this.plan.branches })
    const host: OperatorHost = new OperatorHost({
      kernel,
      network,
      emit,
      server,
      sources: this.#sourcesOf(name),
      replicas: this.plan.replicas[name],
      sharding: this.plan.sharding,
      ephemeralAgents: this.plan.ephemeralAgents.includes(name),
      branches: this.plan.branches,
      traces: this.plan.traces,
      outbound: this.outbound,
      member: (member) => this.clusters.get(member),
      dialAgent: (from, ip) => this.#dialAgent(kubelet, name, from, ip),
      faults: () => (call) => {
        for (const plan of this.faultPlans) {
          const fault = plan(call)
          if (fault !== undefined) return fault
        }
        return undefined
      }
    })
    this.clusters.set(name, { name, server, kubelet, host, tokens })
  }

  #makeOutbound(): OutboundWorld | undefined {
    const { emit, kernel, network, plan } = this
    const { outbound, primary } = plan
    if (outbound === undefined) return undefined
    const members = outbound.members.filter((name) => name !== primary)
    const tunnels = new SimTunnels({ kernel, network, emit, primary, cell: () => this.primary.host.endpoint })
    const people = new OutboundPeople({
      primary: () => this.primary.server.objects,
      objectsOf: (name) => this.cluster(name).server.objects,
      namespace: operatorNamespace,
      members,
      now: () => this.now,
      restart: (name) => this.cluster(name).host.upgrade()
    })
    return { members, tunnels, people, certificateHours: outbound.lifetime / 3_600_000 }
  }

  /** The primary has its authority, and the members that dial out have their tokens. */
  #joinOutbound(): void {
    const { outbound } = this
    if (outbound === undefined) return
    const life = authorityLife(this.now)
    outbound.people.found(outbound.tunnels.authority(life))
    for (const member of outbound.members) outbound.people.join(member)
    outbound.people.backUp()
  }

  /** Of a primary; read when a process starts, as the authors write into a cluster that is there. */
  #sourcesOf(name: string): PrimarySources | undefined {
    const { primary, secondPrimary } = this.plan
    if (name !== primary && name !== secondPrimary) return undefined
    const authors = (): MemberAuthors => this.authors
    return {
      files: name === primary ? this.files : new PrimaryFiles({ ...this.plan, primary: name }),
      plans: this.plan.members,
      makers: this.makers,
      get authors() {
        return authors()
      }
    }
  }

  #dialAgent(kubelet: SimKubelet, cluster: string, from: PipeEnd, ip: string): DialledAgent {
    const nodes = nodesOf(cluster)
    if (kubelet.isLost(ip) || !this.network.isOpen(from.place, nodes) || !this.network.isOpen(nodes, from.place))
      return "no answer"
    const found = kubelet.agentAt(ip)
    if (found === undefined || found.process.state === "dead") return undefined
    const connection = ++this.#connections
    const agent = found.name
    const [ours, its] = makePipe(this.kernel, this.network, {
      what: `agent ${agent}`,
      left: from,
      right: { place: nodesOf(cluster), process: found.process },
      deaf: true
    })
    this.emit({ _tag: "AgentConnected", cluster, agent, connection })
    found.agent.accept(this.#watched(its, cluster, agent, connection))
    return ours
  }

  /** An agent's end of a connection; all that passes is told to the observers. */
  #watched(channel: FrameChannel, cluster: string, agent: string, connection: number): FrameChannel {
    const over = (): void => this.emit({ _tag: "AgentDisconnected", cluster, agent, connection })
    return {
      ...channel,
      send: (bytes) => {
        this.emit({ _tag: "AgentSaid", cluster, agent, connection, bytes })
        channel.send(bytes)
      },
      close: () => {
        over()
        channel.close()
      },
      open: (handlers) =>
        channel.open({
          ...handlers,
          message: (bytes) => {
            this.emit({ _tag: "AgentHeard", cluster, agent, connection, bytes })
            handlers.message(bytes)
          },
          ended: (reason) => {
            over()
            handlers.ended(reason)
          }
        })
    }
  }

  #writeUserAuthority(): void {
    const { certificatePem, keyPem } = userAuthority()
    for (const { server } of this.clusters.values()) {
      const data = { "tls.crt": encodeBase64Text(certificatePem), "tls.key": encodeBase64Text(keyPem) }
      server.objects.write(secrets, userAuthoritySecret, { data }, { namespace: operatorNamespace, now: this.now })
    }
  }
}
