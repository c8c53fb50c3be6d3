import { Effect, Exit, Result } from "effect"
import { podAgents } from "../../../adapters/pod/pod-agents.ts"
import type { FleetConfiguration } from "../../../domain/fleet/configuration.ts"
import { AgentUnreachable, Agents } from "../../../ports/agents.ts"
import { ClusterConnector } from "../../../ports/cluster-access.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import type { ClusterAccess } from "../../../ports/cluster-access.ts"
import type { KubeObject } from "../../../ports/kube-api.ts"
import { LinkRefused } from "../../../ports/member-link.ts"
import { acceptConnection } from "../../api/accept-connection.ts"
import type { ConnectRequest, OperatorFacade } from "../../api/operator-facade.ts"
import { type ApiError, badRequest } from "../../api/status.ts"
import { CurrentHoldings, Holdings } from "../../holdings.ts"
import { makeOperator } from "../../operator/operator.ts"
import { untilStarted } from "../../operator/starting.ts"
import type { Answer } from "../../../adapters/memory/memory-objects.ts"
import type { Kernel } from "../kernel/kernel.ts"
import { SimProcess } from "../kernel/sim-process.ts"
import type { ApiCaller, ApiServer } from "./api-server.ts"
import type { Network, Place } from "./network.ts"
import { makePipe, type PipeEnd } from "./pipe.ts"
import type { FaultPlan } from "./port-calls.ts"
import type { PortCall, WorldEvent } from "./world-event.ts"

export const operatorNamespace = "mirrord"
/** ms between a crash and the next start of an operator, as a kubelet restarts it. */
const restartAfter = 3_000
/** ms between two WebSocket pings on a member link (docs/member-link.md). */
const linkPulse = 30_000

export const agentSettings = {
  image: "agent:1",
  imagePullPolicy: "IfNotPresent",
  namespace: operatorNamespace,
  port: undefined,
  idleTtlSecs: 60,
  startupTimeoutSecs: 60,
  logLevel: "info"
} as const

/** The user that the operator of a primary is in its members. */
export const envoy = "system:serviceaccount:mirrord:mirrord-operator-envoy"

export interface OperatorHostOptions {
  readonly kernel: Kernel
  readonly network: Network
  readonly emit: (event: WorldEvent) => void
  readonly server: ApiServer
  readonly fleet: FleetConfiguration | undefined
  readonly member: (name: string) => { readonly server: ApiServer; readonly host: OperatorHost } | undefined
  /** Dials an agent's pod in this cluster. */
  readonly dialAgent: (from: PipeEnd, host: string, port: number) => FrameChannel | undefined
  readonly faults: () => FaultPlan
}

/** A connect request on its way: how it ends, and the way to give it up. */
export interface ConnectOutcome {
  readonly opened: (channel: FrameChannel) => void
  /** Without code: there was no answer. */
  readonly refused: (code: number | undefined, reason: string, message: string) => void
}

/** Where the operator of one cluster runs: starts it, restarts it after a crash, and hands requests to it. */
export class OperatorHost {
  readonly place: Place
  readonly #options: OperatorHostOptions
  #process: SimProcess | undefined
  #facade: OperatorFacade["Service"] | undefined
  #holdings = new Holdings()
  #starts = 0
  #calls = 0
  #restarts = true
  /** How far the host's clock is ahead, ms; kept over restarts. */
  skew = 0

  constructor(options: OperatorHostOptions) {
    this.#options = options
    this.place = options.server.place
  }

  /** The process that runs now. */
  get process(): SimProcess | undefined {
    return this.#process
  }

  /** Whether it serves requests. */
  get serves(): boolean {
    return this.#facade !== undefined && this.#process?.state === "running"
  }

  /** What the present process holds in memory for sessions. */
  get holdings(): ReadonlyMap<string, number> {
    return this.#holdings.now()
  }

  /** Whether nobody starts it again. */
  get isGone(): boolean {
    return !this.#restarts
  }

  /** Calls that left this operator so far, over all its processes. */
  get calls(): number {
    return this.#calls
  }

  start(): void {
    if (this.#process !== undefined) return
    const { emit, server } = this.#options
    const name = `operator-${this.place}-${++this.#starts}`
    this.#holdings = new Holdings()
    const process = new SimProcess(this.#options.kernel, name, (line) => emit({ _tag: "Log", process: name, line }))
    process.skew = this.skew
    this.#process = process
    emit({ _tag: "Operator", cluster: this.place, process: name, change: "started" })
    process.whenDead(() => this.#died(process))
    const operator = Effect.gen({ self: this }, function* () {
      const local = this.#access(process, server)
      const made = makeOperator({ namespace: operatorNamespace, version: "simulated", fleet: this.#options.fleet }).pipe(
        Effect.provideService(ClusterConnector, {
          local,
          member: ({ name: cluster }) =>
            Effect.sync(() => {
              const member = this.#options.member(cluster)
              if (member === undefined) throw new Error(`the world has no cluster ${cluster}`)
              return this.#access(process, member.server)
            })
        }),
        Effect.provideService(CurrentHoldings, this.#holdings),
        Effect.provideService(Agents, podAgents(local.api, agentSettings, (host, port) => this.#dial(process, host, port)))
      )
      this.#facade = yield* untilStarted(made)
      return yield* Effect.never
    })
    process.run(operator, (exit) => {
      // As in production: an operator that cannot start ends, and its pod is started again.
      emit({ _tag: "Operator", cluster: this.place, process: name, change: "ended", detail: Exit.isFailure(exit) ? String(exit.cause) : "" })
      process.kill()
    })
  }

  /** Kills it as by SIGKILL; it is started again after a moment unless it is gone for ever. */
  crash(detail: string): void {
    const process = this.#process
    if (process === undefined) return
    this.#options.emit({ _tag: "Operator", cluster: this.place, process: process.name, change: "crashed", detail })
    process.kill()
  }

  /** Kills it, and nobody starts it again. */
  leaveForEver(): void {
    this.#restarts = false
    this.crash("for ever")
  }

  /** Starts it, and again after each crash. */
  comeBack(): void {
    this.#restarts = true
    this.start()
  }

  /** As by SIGSTOP. */
  pause(): void {
    const process = this.#process
    if (process?.state !== "running") return
    process.pause()
    this.#options.emit({ _tag: "Operator", cluster: this.place, process: process.name, change: "paused" })
  }

  resume(): void {
    const process = this.#process
    if (process?.state !== "paused") return
    this.#options.emit({ _tag: "Operator", cluster: this.place, process: process.name, change: "resumed" })
    process.resume()
  }

  setSkew(ms: number): void {
    this.skew = ms
    if (this.#process !== undefined) this.#process.skew = ms
  }

  #died(process: SimProcess): void {
    if (this.#process !== process) return
    this.#process = undefined
    this.#facade = undefined
    if (this.#restarts) this.#options.kernel.after(restartAfter, () => { if (this.#restarts) this.start() })
  }

  /** The operator's description of itself, asked by its API server. */
  describe(answer: (result: Answer<KubeObject>) => void): void {
    const process = this.#process
    const unavailable = (detail: string) => answer(Result.fail(this.#options.server.objects.error("get operator", "Other", detail, 503)))
    const facade = this.#facade
    if (process === undefined || facade === undefined) return unavailable("no endpoints available for service mirrord-operator")
    const cancel = process.whenDead(() => unavailable("error trying to reach service: connection reset"))
    const describe = (): void => {
      process.run(facade.describe, (exit) => {
        cancel()
        if (Exit.isSuccess(exit)) answer(Result.succeed({ ...exit.value, metadata: { name: "operator" } }))
        else unavailable(String(exit.cause))
      })
    }
    if (process.state === "running") describe()
    else process.hold(describe)
  }

  /** Calls the operator's API in its process; nothing happens if it does not serve. */
  ask<A>(use: (facade: OperatorFacade["Service"]) => Effect.Effect<A, ApiError>, answer: (result: Result.Result<A, string>) => void): void {
    const [process, facade] = [this.#process, this.#facade]
    if (process === undefined || facade === undefined || process.state !== "running") return answer(Result.fail("503: the operator does not serve"))
    process.run(use(facade), (exit) => answer(Exit.isSuccess(exit) ? Result.succeed(exit.value) : Result.fail(String(exit.cause))))
  }

  /**
   * A connect request that came through this cluster's API server, as the aggregation layer passes it on. Gives the way to abandon it.
   */
  connect(from: PipeEnd, request: ConnectRequest, outcome: ConnectOutcome, pulse?: number): () => void {
    const { kernel, network, server } = this.#options
    let isOver = false
    let left = (): void => {}
    const over = (): void => {
      isOver = true
      forgetCaller()
    }
    const refuse = (code: number | undefined, reason: string, message: string): void =>
      network.send(this.place, from.place, () => {
        if (isOver) return
        over()
        outcome.refused(code, reason, message)
      }, from.process)
    network.send(from.place, this.place, () => {
      if (isOver) return
      if (server.isDown) return refuse(undefined, "", "connection refused")
      const [process, facade] = [this.#process, this.#facade]
      if (process === undefined || facade === undefined) return refuse(503, "ServiceUnavailable", "no endpoints available for service mirrord-operator")
      let upgraded = false
      const mourning = process.whenDead(() => { if (!upgraded) refuse(503, "ServiceUnavailable", "error trying to reach service: connection reset") })
      const gone = Effect.callback<never, ApiError>((resume) => {
        const tell = (): void => resume(Effect.fail(badRequest("The client left while its session was being prepared.")))
        left = () => { if (process.state === "running") tell(); else process.hold(tell) }
        if (isOver) left()
      })
      const upgrade = Effect.sync(() => {
        upgraded = true
        mourning()
        const [theirs, ours] = makePipe(kernel, network, {
          what: `session ${request.sessionId ?? ""}`,
          left: from,
          right: { place: this.place, process },
          ...(pulse === undefined ? {} : { pulse })
        })
        network.send(this.place, from.place, () => {
          // Who gave up meanwhile never takes the channel.
          if (isOver) return theirs.close()
          over()
          outcome.opened(theirs)
        }, from.process)
        return ours
      })
      const serve = (): void => {
        process.run(acceptConnection(facade, request, gone, upgrade), (exit) => {
          mourning()
          if (upgraded || Exit.isSuccess(exit)) return
          const failure = firstFailure(exit)
          if (failure === undefined) refuse(500, "InternalError", String(exit.cause))
          else refuse(failure.code, failure.reason, failure.message)
        })
      }
      if (process.state === "running") serve()
      else process.hold(serve)
    })
    const abandon = (): void => {
      if (isOver) return
      over()
      network.send(from.place, this.place, () => left())
    }
    const forgetCaller = from.process.whenDead(abandon)
    return abandon
  }

  #access(process: SimProcess, server: ApiServer): ClusterAccess {
    const caller: ApiCaller = { process, place: this.place, call: (call) => this.#call(process, call), crash: (detail) => this.crash(detail) }
    return {
      api: server.access(caller),
      link: (request) =>
        Effect.callback<FrameChannel, LinkRefused>((resume) => {
          const refused = (code: number | undefined, reason: string, detail: string): void =>
            resume(Effect.fail(new LinkRefused({ cluster: request.cluster, reason, detail, ...(code === undefined ? {} : { code }) })))
          const { fault } = this.#call(process, { to: server.place, verb: "link", resource: "", name: request.sessionId.toString(), subresource: undefined, body: undefined })
          if (process.state === "dead") return
          if (fault?._tag === "Fail") return refused(fault.code, fault.reason, `injected ${fault.reason}`)
          const host = server.place === this.place ? this : this.#options.member(server.place)?.host
          if (host === undefined) return refused(undefined, "", "no such cluster")
          const abandon = host.connect(
            { place: this.place, process },
            {
              caller: { user: envoy, groups: [], extra: {} },
              namespace: request.namespace,
              target: request.target,
              sessionId: request.sessionId.toString(),
              certificate: undefined,
              clientVersion: undefined,
              clientName: undefined,
              clientHostname: undefined,
              query: request.query
            },
            { opened: (channel) => resume(Effect.succeed(channel)), refused },
            linkPulse
          )
          return Effect.sync(abandon)
        })
    }
  }

  #dial(process: SimProcess, host: string, port: number): Effect.Effect<FrameChannel, AgentUnreachable> {
    return Effect.suspend(() => {
      const { fault } = this.#call(process, { to: this.place, verb: "dial", resource: "", name: `${host}:${port}`, subresource: undefined, body: undefined })
      if (process.state === "dead") return Effect.never
      const channel = fault?._tag === "Fail" ? undefined : this.#options.dialAgent({ place: this.place, process }, host, port)
      return channel === undefined
        ? Effect.fail(new AgentUnreachable({ agent: `${host}:${port}`, detail: "connection refused" }))
        : Effect.as(Effect.sleep(1), channel)
    })
  }

  #call(process: SimProcess, call: Omit<PortCall, "index" | "operator">) {
    const numbered: PortCall = { ...call, operator: this.place, index: this.#calls }
    // What was being done at the moment of death still reaches this line, but nothing leaves a dead process.
    if (process.state === "dead") return { call: numbered, fault: undefined }
    this.#calls++
    this.#options.emit({ _tag: "Called", call: numbered, process: process.name })
    const fault = this.#options.faults()(numbered)
    if (fault?._tag === "Crash" && (fault.when === "before" || call.verb === "link" || call.verb === "dial")) this.crash(`at call ${numbered.index}`)
    return { call: numbered, fault }
  }
}

const firstFailure = (exit: Exit.Exit<unknown, ApiError>): ApiError | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  for (const reason of exit.cause.reasons) if (reason._tag === "Fail") return reason.error
  return undefined
}
