/**
 * Where the operator of one cluster runs: its replicas, and the Service that hands requests to the leader. The
 * operator's own code runs in `operator-replica.ts`.
 */

import { Effect, Exit, Result } from "effect"
import { reasonOf } from "../../../src/adapters/kubernetes/kube-errors.ts"
import type { ConnectRequest, OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import { serveConnect } from "../../../src/app/api/serve-connect.ts"
import { type ApiError, badRequest } from "../../../src/app/api/status.ts"
import { logError } from "../../../src/app/kernel/log.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import type { Answer, Commit } from "../../memory/memory-objects.ts"
import type { RandomStream } from "../kernel/random-stream.ts"
import { type SimProcess, whenRunning } from "../kernel/sim-process.ts"
import type { Place } from "./network.ts"
import type { ConnectOutcome, LinkOptions, OperatorHostOptions, ReplicaHost } from "./operator-host-options.ts"
import { OperatorReplica } from "./operator-replica.ts"
import { makePipe, type PipeEnd } from "./pipe.ts"
import { networkRoad } from "./road.ts"

/** Time from the start of a pod until its Deployment takes it for ready, ms. */
const readyAfter = 3_000

/** A request that was refused; without a code there was no answer. */
export interface Refusal {
  readonly code: number | undefined
  readonly reason: string
  readonly message: string
}

export class OperatorHost implements ReplicaHost {
  readonly place: Place
  readonly #options: OperatorHostOptions
  readonly #random: RandomStream
  #replicas: ReadonlyArray<OperatorReplica> = []
  /** Number of replicas ever made. */
  #made = 0
  #calls = 0
  #isGone = false
  #isRollingOut = false

  constructor(options: OperatorHostOptions) {
    this.#options = options
    this.place = options.server.place
    this.#random = options.kernel.random.split(`service ${this.place}`)
    for (let i = 0; i < (options.replicas ?? 1); i++) this.#makeReplica()
  }

  get replicas(): ReadonlyArray<OperatorReplica> {
    return this.#replicas
  }

  /** Whether the replicas elect a leader. */
  get isElected(): boolean {
    return this.#options.replicas !== undefined
  }

  /** The replica that leads, as far as the cluster knows. */
  get leader(): OperatorReplica | undefined {
    return this.replicas.find(({ holdsLease, process }) => holdsLease && process !== undefined)
  }

  /** The processes that run now. */
  get processes(): ReadonlyArray<SimProcess> {
    return this.replicas.flatMap(({ process }) => process ?? [])
  }

  /** Whether the operator serves requests. */
  get serves(): boolean {
    return this.replicas.some(
      ({ facade, isSelected, process }) => isSelected && facade !== undefined && process?.state === "running"
    )
  }

  /**
   * Whether the operator serves, with a right clock. An uninstalled operator is no fault, because a person wants it so.
   */
  get isWell(): boolean {
    return this.isGone || (this.serves && this.replicas.every(({ skew }) => skew === 0))
  }

  /** Whether the operator is uninstalled, so that no controller starts it again. */
  get isGone(): boolean {
    return this.#isGone
  }

  /** Whether the replicas are being replaced. */
  get isRollingOut(): boolean {
    return this.#isRollingOut
  }

  /** Calls that left this operator so far, over all its processes; calls about its Lease are not counted. */
  get calls(): number {
    return this.#calls
  }

  countCall(): void {
    this.#calls++
  }

  start(): void {
    for (const replica of this.replicas) replica.start()
  }

  /**
   * Kills the leader as by SIGKILL, or another replica if none leads. The replica is started again after a moment.
   */
  crash(detail: string): void {
    const victim = this.leader ?? this.replicas.find(({ process }) => process !== undefined)
    victim?.crash(detail)
  }

  /** Kills all replicas, which start again after a moment with other settings. */
  upgrade(): void {
    for (const replica of this.replicas) replica.crash("its chart is upgraded")
  }

  /** Kills all replicas, which are not started again. */
  leaveForEver(): void {
    this.#isGone = true
    for (const replica of this.replicas) replica.leaveForEver()
  }

  /** Starts all replicas, and starts them again after each crash. */
  comeBack(): void {
    this.#isGone = false
    for (const replica of this.replicas) replica.comeBack()
  }

  /**
   * Replaces all replicas one after the other, as a Deployment with a surge of one does: a new pod stands by before an
   * old pod is told to end.
   */
  rollOut(): void {
    const replaceNext = ([old, ...others]: ReadonlyArray<OperatorReplica>): void => {
      this.#isRollingOut = old !== undefined
      if (old === undefined) return
      const made = this.#makeReplica()
      this.#options.kernel.after(0, () => {
        if (!this.isGone) made.start()
      })
      this.#options.kernel.after(readyAfter, () =>
        old.retire(() => {
          this.#replicas = this.#replicas.filter((replica) => replica !== old)
          replaceNext(others)
        })
      )
    }
    replaceNext(this.#replicas)
  }

  /** Pauses all replicas as by SIGSTOP. */
  pause(): void {
    for (const replica of this.replicas) replica.pause()
  }

  resume(): void {
    for (const replica of this.replicas) replica.resume()
  }

  /** Sets the clocks of all replicas; neighbours are wrong in opposite directions. */
  setSkew(ms: number): void {
    for (const [index, replica] of this.replicas.entries()) replica.setSkew(index % 2 === 0 ? ms : -ms)
  }

  /** How far the clock of a process is ahead, ms. */
  skewOf(process: string): number {
    return this.processes.find(({ name }) => name === process)?.skew ?? 0
  }

  /** Follows the deletion of the operator's pods. */
  committed({ after, before, ref }: Commit): void {
    if (ref.plural !== pods.plural || after !== undefined || before === undefined) return
    for (const replica of this.replicas) replica.podDeleted(before.metadata.uid)
  }

  /** Ends all faults of the operator; lost nodes are replaced. */
  heal(): void {
    this.setSkew(0)
    this.resume()
    for (const replica of this.replicas) replica.replace()
  }

  #makeReplica(): OperatorReplica {
    const made = new OperatorReplica(this, this.#options, this.#made++)
    this.#replicas = [...this.#replicas, made]
    return made
  }

  /** The process that the Service leads to now, alive or stopped. */
  get endpoint(): SimProcess | undefined {
    return this.#endpoint().process
  }

  /** The replica that the Service leads to, drawn at random if several pods have the leader's label. */
  #endpoint(): Pick<OperatorReplica, "facade" | "process"> {
    const selected = this.replicas.filter(({ isSelected }) => isSelected)
    return (
      (selected.length > 1 ? this.#random.pick(selected) : selected[0]) ?? { facade: undefined, process: undefined }
    )
  }

  /** A request of another operator, or of this one, as this cluster's API server passes it on. */
  answer<A>(
    use: (facade: OperatorFacade["Service"]) => Effect.Effect<A, ApiError>,
    answer: (result: Answer<A>) => void
  ): void {
    const { objects } = this.#options.server
    const unavailable = (detail: string) => answer(Result.fail(objects.error("ask operator", "Other", detail, 503)))
    this.#reach(unavailable, ({ facade, mourning, process }) =>
      process.run(loggingDefects(use(facade)), (exit) => {
        mourning()
        if (Exit.isSuccess(exit)) return answer(Result.succeed(exit.value))
        const failure = firstFailure(exit)
        if (failure === undefined) return unavailable(String(exit.cause))
        const { code, message, reason } = failure
        answer(Result.fail(objects.error("ask operator", reasonOf(code, reason), message, code)))
      })
    )
  }

  /** Calls the operator's API in its process; the answer is a failure if the operator does not serve. */
  ask<A>(
    use: (facade: OperatorFacade["Service"]) => Effect.Effect<A, ApiError>,
    answer: (result: Result.Result<A, string>) => void
  ): void {
    const { facade, process } = this.#endpoint()
    if (process === undefined || facade === undefined || process.state !== "running")
      return answer(Result.fail("503: the operator does not serve"))
    process.run(loggingDefects(use(facade)), (exit) =>
      answer(Exit.isSuccess(exit) ? Result.succeed(exit.value) : Result.fail(String(exit.cause)))
    )
  }

  /**
   * A request of a user as this cluster's aggregation layer passes it on, from the user's machine and back. Nothing is
   * answered to a process that has ended.
   */
  request<A>(
    from: PipeEnd,
    use: (facade: OperatorFacade["Service"]) => Effect.Effect<A, ApiError>,
    answer: (result: Result.Result<A, Refusal>) => void
  ): void {
    const { network, server } = this.#options
    let isAnswered = false
    const back = (result: Result.Result<A, Refusal>): void => {
      if (isAnswered) return
      isAnswered = true
      network.send(this.place, from.place, () => answer(result), from.process)
    }
    const refuse = (code: number | undefined, reason: string, message: string): void =>
      back(Result.fail({ code, reason, message }))
    network.send(from.place, this.place, () => {
      if (server.isDown) return refuse(undefined, "", "connection refused")
      this.#reach(unavailable(refuse), ({ facade, mourning, process }) =>
        process.run(loggingDefects(use(facade)), (exit) => {
          mourning()
          if (Exit.isSuccess(exit)) back(Result.succeed(exit.value))
          else refuseFailure(exit, refuse)
        })
      )
    })
  }

  /**
   * Serves a request in the process that the Service leads to, at once or when the process goes on that is stopped.
   * `refuse` hears why that cannot be: there is none, or it dies before `mourning` is called.
   */
  #reach(refuse: (message: string) => void, serve: (reached: Reached) => void): void {
    const { facade, process } = this.#endpoint()
    if (process === undefined || facade === undefined)
      return refuse("no endpoints available for service mirrord-operator")
    const mourning = process.whenDead(() => refuse("error trying to reach service: connection reset"))
    whenRunning(process, () => serve({ facade, process, mourning }))
  }

  /** A connect request as this cluster's aggregation layer passes it on. The returned function abandons the request. */
  connect(from: PipeEnd, request: ConnectRequest, outcome: ConnectOutcome, link?: LinkOptions): () => void {
    const { kernel, network, server } = this.#options
    const road = link?.road ?? networkRoad({ kernel, network }, from.place, this.place, from.process)
    let isOver = false
    let left = (): void => {}
    const over = (): void => {
      isOver = true
      forgetCaller()
    }
    const refused = (code: number | undefined, reason: string, message: string): void => {
      if (isOver) return
      over()
      road.close()
      outcome.refused(code, reason, message)
    }
    const refuse: Refuse = (...refusal) => road.back(() => refused(...refusal))
    /** Hands the channel to its caller, who may have given up meanwhile. */
    const handOver = (theirs: FrameChannel, isSilent: () => boolean): void => {
      if (isOver) return theirs.close()
      over()
      if (!isSilent()) return outcome.opened(theirs)
      // The answer waited at a cut while its own connection died.
      theirs.close()
      outcome.refused(undefined, "", "connection reset")
    }
    road.whenBroken(
      (why) => refused(undefined, "", why),
      () => left()
    )
    road.go(() => {
      if (isOver) return
      if (server.isDown) return refuse(undefined, "", "connection refused")
      if (link?.bearer !== undefined && !server.accepts(link.bearer)) return refuse(401, "Unauthorized", "Unauthorized")
      let upgraded = false
      const unlessUpgraded: Refuse = (...refusal) => {
        if (!upgraded) refuse(...refusal)
      }
      this.#reach(unavailable(unlessUpgraded), ({ facade, mourning, process }) => {
        const gone = Effect.callback<never, ApiError>((resume) => {
          const tell = (): void =>
            resume(Effect.fail(badRequest("The client left while its session was being prepared.")))
          left = () => whenRunning(process, tell)
          if (isOver) left()
        })
        const upgrade = Effect.sync(() => {
          upgraded = true
          mourning()
          const [theirs, ours, connection] = makePipe(kernel, network, {
            what: `session ${request.sessionId ?? ""}`,
            left: from,
            right: { place: this.place, process },
            road,
            ...(link === undefined ? {} : { pulse: link.pulse })
          })
          road.back(() => handOver(theirs, () => connection.isSilent()))
          return ours
        })
        process.run(loggingDefects(serveConnect(facade, request, gone, upgrade)), (exit) => {
          mourning()
          if (!Exit.isSuccess(exit)) refuseFailure(exit, unlessUpgraded)
        })
      })
    })
    const abandon = (): void => {
      if (isOver) return
      over()
      road.go(() => left())
      road.close()
    }
    const forgetCaller = from.process.whenDead(abandon)
    return abandon
  }
}

type Refuse = (code: number | undefined, reason: string, message: string) => void

interface Reached {
  readonly facade: OperatorFacade["Service"]
  readonly process: SimProcess
  /** Ends the waiting for the process's death. */
  readonly mourning: () => void
}

const unavailable =
  (refuse: Refuse) =>
  (message: string): void =>
    refuse(503, "ServiceUnavailable", message)

/** Logs a defect of a request, as the operator's HTTP server does in production: the answer alone is as of a fault. */
const loggingDefects = <A, R>(answer: Effect.Effect<A, ApiError, R>): Effect.Effect<A, ApiError, R> =>
  Effect.tapDefect(answer, (defect) => logError("request failed", { cause: String(defect) }))

const firstFailure = ({ cause }: Exit.Failure<unknown, ApiError>): ApiError | undefined =>
  cause.reasons.flatMap((reason) => (reason._tag === "Fail" ? [reason.error] : []))[0]

const refuseFailure = (exit: Exit.Failure<unknown, ApiError>, refuse: Refuse): void => {
  const failure = firstFailure(exit)
  if (failure === undefined) refuse(500, "InternalError", String(exit.cause))
  else refuse(failure.code, failure.reason, failure.message)
}
