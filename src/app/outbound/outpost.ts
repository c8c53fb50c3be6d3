/**
 * The outpost: the side of tunnels in a member that dials its primary. Carries out what the plan says: dials, beats,
 * asks for certificates, and replaces tunnels.
 *
 * Not here: the decisions (domain/outbound/outpost-plan.ts), and the requests on lanes (adapters/kubernetes).
 */

import { Cause, Clock, Effect, Exit, Queue, Random, type Redacted, Result, Schedule, Scope, Semaphore } from "effect"
import { judgeCommand } from "../../domain/outbound/command-sequence.ts"
import { type CellMessage, readCellLine, tunnelProtocol, writeLine } from "../../domain/outbound/control-message.ts"
import {
  afterEvent,
  newOutpost,
  type OutpostAction,
  type OutpostEvent,
  type OutpostMemory,
  type OutpostMoment,
  outpostPlan,
  whyAway
} from "../../domain/outbound/outpost-plan.ts"
import { type DialOptions, type Tunnel, TunnelDialler } from "../../ports/tunnel.ts"
import { countHolding } from "../kernel/holdings.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logError, logInfo, logWarning } from "../kernel/log.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { elapsedOf } from "../kernel/term.ts"
import { untilDone } from "../kernel/until-done.ts"
import { version } from "../kernel/version.ts"
import {
  type BootstrapSettings,
  givenIdentity,
  keepIdentity,
  type KeptIdentity,
  type OutpostPlace,
  readIdentity,
  redeemToken,
  tokenId
} from "./outpost-identity.ts"
import { CurrentTunnelCertificates, type TunnelCertificates } from "./tunnel-certificates.ts"

export interface OutpostOptions extends OutpostPlace {
  /** Host and port of the cell's tunnels. */
  readonly cell: string
  /** `undefined` if there is no token. */
  readonly bootstrap: BootstrapSettings | undefined
  /** Serves a lane that the cell has opened. */
  readonly serve: DialOptions["serve"]
}

/** A tunnel of this process. */
interface Dialled {
  readonly scope: Scope.Closeable
  /** `undefined` while it is dialled. */
  tunnel: Tunnel | undefined
}

interface State {
  readonly options: OutpostOptions
  readonly dialler: TunnelDialler["Service"]
  readonly certificates: TunnelCertificates
  readonly scope: Scope.Scope
  readonly elapsed: () => number
  readonly dialled: Map<number, Dialled>
  /** Something happened, and the plan is to be made again. */
  readonly news: Queue.Queue<void>
  readonly log: LogOnce
  memory: OutpostMemory
  identity: KeptIdentity | undefined
  /** Changes of the identity, which each keep what the one before has changed. */
  readonly inTurn: Semaphore.Semaphore
  /** The keys for which certificates were asked for, by the ids of the questions. An answer may come late. */
  readonly asked: Map<string, Redacted.Redacted>
  lastQuestion: number
}

/** Questions for certificates whose answers are waited for at the same time. */
const maxAsked = 4
/** How long the start waits before a token that could not be used is tried again, ms. */
const redeemAgainAfter = 30_000
/** Further pauses of a token that may wait, since the present certificate lasts. It ends within an hour. */
const redeemSchedule = Schedule.min([Schedule.exponential("10 seconds"), Schedule.spaced("2 minutes")])

const momentOf = (state: State): Effect.Effect<OutpostMoment> =>
  Effect.map(Effect.all([Clock.currentTimeMillis, Random.next]), ([now, share]) => ({
    now,
    share,
    elapsed: state.elapsed()
  }))

const happened = (state: State, event: OutpostEvent): Effect.Effect<void> =>
  Effect.map(momentOf(state), (moment) => {
    state.memory = afterEvent(state.memory, event, moment)
    Queue.offerUnsafe(state.news, undefined)
  })

/** Keeps an identity before it is used. The result is a clause why it is not kept. */
const keep = (state: State, identity: KeptIdentity): Effect.Effect<string | undefined> =>
  Effect.match(keepIdentity(state.options, identity), {
    onFailure: ({ detail }) => detail,
    onSuccess: () => {
      state.identity = identity
      Queue.offerUnsafe(state.news, undefined)
      return undefined
    }
  })

/** The authorities of an identity, as the control lane has them. */
const heldBy = ({ authoritiesPem, sequence }: KeptIdentity) => ({ ...sequence, hash: sha256Hex(authoritiesPem) })

const takeCertificate = Effect.fnUntraced(function* (
  state: State,
  { certificate, id }: Extract<CellMessage, { readonly _tag: "Certificate" }>
): Effect.fn.Return<void> {
  const { asked, certificates, identity } = state
  const keyPem = asked.get(id)
  if (keyPem === undefined || identity === undefined) return
  asked.clear()
  const given = givenIdentity(certificates, { ...identity, certificatePem: certificate, keyPem })
  if (Result.isFailure(given)) return yield* logWarning("certificate is not renewed", { problem: given.failure })
  const problem = yield* keep(state, given.success)
  if (problem !== undefined) return yield* logWarning("certificate is not kept", { problem })
  yield* logInfo("certificate of the tunnel renewed", { until: new Date(given.success.known.life.until).toISOString() })
})

/** Carries out the command to trust other authorities, and answers on the tunnel that it came on. */
const takeAuthorities = Effect.fnUntraced(function* (
  state: State,
  tunnel: number,
  { authorities, epoch, number }: Extract<CellMessage, { readonly _tag: "Authorities" }>
): Effect.fn.Return<void> {
  const { identity } = state
  if (identity === undefined) return
  const answer = (_tag: "Behind" | "Holds", held: KeptIdentity): void =>
    state.dialled.get(tunnel)?.tunnel?.send(writeLine({ _tag, ...heldBy(held) }))
  const verdict = judgeCommand(identity.sequence, { epoch, number }, authorities === identity.authoritiesPem)
  if (verdict === "Repeat") return answer("Holds", identity)
  if (verdict === "Behind") {
    answer("Behind", identity)
    return yield* logWarning("command of the primary is refused: it is older than the last one that was accepted", {
      epoch,
      number,
      accepted: identity.sequence.number
    })
  }
  if (!state.certificates.areAuthorities(authorities))
    return yield* logWarning("authorities of the primary are not used", { problem: "they are no certificates" })
  const next = { ...identity, authoritiesPem: authorities, sequence: { epoch, number } }
  const problem = yield* keep(state, next)
  if (problem !== undefined) return yield* logWarning("authorities of the primary are not kept", { problem })
  answer("Holds", next)
  yield* logInfo("other authorities are trusted for the primary's cell", { number })
})

/** Changes the identity while further lines are read: a write to a slow API server holds up no answer to a beat. */
const inBackground = (state: State, change: Effect.Effect<void>): Effect.Effect<void> =>
  Effect.asVoid(Effect.forkIn(state.inTurn.withPermit(change), state.scope))

const take = (state: State, id: number, line: string): Effect.Effect<void> => {
  const read = readCellLine(line)
  if (Result.isFailure(read)) return Effect.sync(() => state.dialled.get(id)?.tunnel?.destroy(read.failure))
  const message = read.success
  switch (message?._tag) {
    case undefined:
      return Effect.void
    case "Welcome":
      return Effect.andThen(
        happened(state, { _tag: "Welcomed", id }),
        logInfo("tunnel to the primary is live", { tunnel: id, primary: message.version, number: message.number })
      )
    case "Answer":
      return happened(state, { _tag: "Answered", id, number: message.number })
    case "Certificate":
      return inBackground(state, takeCertificate(state, message))
    case "Authorities":
      return inBackground(state, takeAuthorities(state, id, message))
    case "Refused":
      return message.id === undefined
        ? happened(state, { _tag: "Refused", id, why: message.why })
        : logWarning("certificate is not renewed", { problem: message.why })
  }
}

/** Dials a tunnel, and follows it to its end. */
const follow = Effect.fnUntraced(function* (state: State, id: number, identity: KeptIdentity, dialled: Dialled) {
  const { dialler, options } = state
  const dial = dialler.dial({ address: options.cell, identity, serve: options.serve })
  const stood = yield* Effect.result(dial.pipe(Scope.provide(dialled.scope)))
  if (Result.isFailure(stood)) {
    const { message, reason } = stood.failure
    return yield* happened(state, { _tag: "DialFailed", id, reason, message })
  }
  const tunnel = stood.success
  dialled.tunnel = tunnel
  // The end comes after all lines, one of which may say why.
  const heard = yield* Queue.unbounded<Result.Result<string, string>>()
  tunnel.listen((line) => void Queue.offerUnsafe(heard, Result.succeed(line)))
  yield* Effect.forkIn(
    Effect.map(tunnel.ended, (why) => Queue.offerUnsafe(heard, Result.fail(why))),
    dialled.scope
  )
  const clock = yield* Clock.currentTimeMillis
  const { binding } = tunnel
  const greeting = { protocol: tunnelProtocol, version, capabilities: [], clock }
  tunnel.send(writeLine({ _tag: "Hello", ...greeting, holds: heldBy(state.identity ?? identity), binding }))
  yield* happened(state, { _tag: "Stands", id })
  const reading = Effect.flatMap(Effect.flatMap(Queue.take(heard), Effect.fromResult), (line) => take(state, id, line))
  const why = yield* Effect.flip(Effect.forever(reading))
  yield* logInfo("tunnel to the primary is over", { tunnel: id, why })
  yield* happened(state, { _tag: "Ended", id, why })
})

/** The plan hears of the end of a tunnel also if the fiber that follows it has failed. */
const afterFollowing = (state: State, id: number, { scope }: Dialled, exit: Exit.Exit<void>): Effect.Effect<void> => {
  state.dialled.delete(id)
  const defect = Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? Cause.pretty(exit.cause) : undefined
  return Scope.close(scope, Exit.void).pipe(
    Effect.andThen(defect === undefined ? Effect.void : logError("tunnel could not be followed", { cause: defect })),
    Effect.andThen(happened(state, { _tag: "Ended", id, why: "it could not be followed" }))
  )
}

const startDial = Effect.fnUntraced(function* (state: State, id: number): Effect.fn.Return<void> {
  const { identity } = state
  if (identity === undefined) return
  const dialled: Dialled = { scope: yield* Scope.fork(state.scope), tunnel: undefined }
  state.dialled.set(id, dialled)
  const following = follow(state, id, identity, dialled)
  // A dial that is given up ends with its scope, or its tunnel would stand later, unknown to the plan.
  yield* Effect.forkIn(
    Effect.onExit(following, (exit) => afterFollowing(state, id, dialled, exit)),
    dialled.scope
  )
})

const askForCertificate = Effect.fnUntraced(function* (state: State, id: number): Effect.fn.Return<void> {
  const { keyPem, requestPem } = yield* state.certificates.makeRequest
  const { asked, dialled } = state
  const question = String(++state.lastQuestion)
  asked.set(question, keyPem)
  const [oldest = ""] = asked.keys()
  if (asked.size > maxAsked) asked.delete(oldest)
  dialled.get(id)?.tunnel?.send(writeLine({ _tag: "Renew", id: question, request: requestPem }))
})

const perform = (state: State, action: OutpostAction): Effect.Effect<void> => {
  const { id } = action
  const dialled = state.dialled.get(id)
  switch (action._tag) {
    case "Dial":
      return startDial(state, id)
    case "SendBeat":
      return Effect.sync(() => dialled?.tunnel?.send(writeLine({ _tag: "Beat", number: action.number })))
    case "Renew":
      // Beats do not wait for a key to be made.
      return Effect.asVoid(Effect.forkIn(askForCertificate(state, id), state.scope))
    case "Drain":
      return logInfo("tunnel is replaced, and ends with its last lane", { tunnel: id })
    case "Destroy":
      if (dialled?.tunnel !== undefined) return Effect.sync(() => dialled.tunnel?.destroy(action.why))
      return dialled === undefined ? Effect.void : Scope.close(dialled.scope, Exit.void)
  }
}

/** A line of the log says once why there is no tunnel, after a try that failed or the end of the certificate. */
const tellAway = ({ identity, log, memory, options: { cell } }: State, moment: OutpostMoment): Effect.Effect<void> => {
  const why = whyAway(memory, { identity: identity?.known }, moment)
  if (why === undefined) return Effect.sync(() => log.reset())
  const isEnded = identity !== undefined && moment.now >= identity.known.life.until
  if (memory.problem === undefined && !isEnded) return Effect.void
  return log.tell(why, logWarning("this cluster has no tunnel to its primary", { cell, problem: why }))
}

const step = Effect.fnUntraced(function* (state: State): Effect.fn.Return<void> {
  const moment = yield* momentOf(state)
  const received = new Map(
    [...state.dialled].flatMap(([id, { tunnel }]) => (tunnel === undefined ? [] : [[id, tunnel.received()] as const]))
  )
  const { actions, memory, wakeAt } = outpostPlan(state.memory, { identity: state.identity?.known, received }, moment)
  state.memory = memory
  yield* Effect.forEach(actions, (action) => perform(state, action), { discard: true })
  yield* tellAway(state, moment)
  const heard = Queue.take(state.news)
  yield* wakeAt === undefined ? heard : Effect.timeoutOption(heard, Math.max(0, Math.ceil(wakeAt - moment.elapsed)))
})

/** An identity to begin with. */
interface FoundIdentity {
  readonly identity: KeptIdentity
  /** A token to be traded as soon as the primary is there; `undefined` if there is none. */
  readonly later: BootstrapSettings | undefined
}

/** The identity to begin with: the kept one, unless there is a token that it does not come from. */
const findIdentity = Effect.fnUntraced(function* (
  options: OutpostOptions
): Effect.fn.Return<FoundIdentity, string, TunnelDialler> {
  const { bootstrap } = options
  const kept = yield* Effect.mapError(readIdentity(options), ({ detail }) => detail)
  if (kept !== undefined && kept.token === (bootstrap && tokenId(bootstrap.token)))
    return { identity: kept, later: undefined }
  if (bootstrap === undefined) {
    const none = "there is no certificate and no token; run braid join --outbound at the primary, and set the token"
    return kept === undefined ? yield* Effect.fail(none) : { identity: kept, later: undefined }
  }
  const redeemed = yield* Effect.result(redeemToken(bootstrap))
  if (Result.isFailure(redeemed)) {
    const { message, reason } = redeemed.failure
    const now = yield* Clock.currentTimeMillis
    // Without a certificate that lasts the token is the only way back.
    if (kept === undefined || now >= kept.known.life.until) return yield* Effect.fail(message)
    yield* logWarning("token is not used, the present certificate stays", { problem: message })
    return { identity: kept, later: reason === "Refused" ? undefined : bootstrap }
  }
  yield* Effect.mapError(keepIdentity(options, redeemed.success), ({ detail }) => detail)
  yield* logInfo("this cluster has a certificate for its tunnel", { cluster: redeemed.success.known.name })
  return { identity: redeemed.success, later: undefined }
})

/** Waits for an identity. A member that has none, or one that has ended, tries again: its primary may be away. */
const awaitIdentity = (options: OutpostOptions, log: LogOnce): Effect.Effect<FoundIdentity, never, TunnelDialler> =>
  findIdentity(options).pipe(
    Effect.catch((problem) =>
      log
        .tell(problem, logWarning("this cluster cannot dial its primary", { problem }))
        .pipe(Effect.andThen(Effect.sleep(redeemAgainAfter)), Effect.andThen(awaitIdentity(options, log)))
    )
  )

/** Trades a token once the primary is there, beside the certificate that lasts. */
const redeemLater = (state: State, bootstrap: BootstrapSettings): Effect.Effect<void, never, TunnelDialler> =>
  redeemToken(bootstrap).pipe(
    Effect.delay(redeemAgainAfter),
    Effect.retry({ schedule: redeemSchedule, while: ({ reason }) => reason !== "Refused" }),
    Effect.flatMap((identity) => state.inTurn.withPermit(keep(state, identity))),
    Effect.catch(({ message }) => Effect.succeed(message)),
    Effect.flatMap((problem) =>
      problem === undefined
        ? logInfo("this cluster has a certificate for its tunnel by its token", {})
        : logWarning("token is not used, the present certificate stays", { problem })
    )
  )

/** Keeps a tunnel to the primary's cell. Never ends; its tunnels end with its scope. */
export const runOutpost = Effect.fnUntraced(function* (
  options: OutpostOptions
): Effect.fn.Return<never, never, TunnelDialler | Scope.Scope> {
  const log = new LogOnce()
  const { identity, later } = yield* awaitIdentity(options, log)
  const elapsed = elapsedOf(yield* Clock.Clock)
  const first = { elapsed: elapsed(), now: yield* Clock.currentTimeMillis, share: yield* Random.next }
  const state: State = {
    options,
    dialler: yield* TunnelDialler,
    certificates: yield* CurrentTunnelCertificates,
    scope: yield* Effect.scope,
    elapsed,
    dialled: new Map(),
    news: yield* Queue.sliding<void>(1),
    log,
    memory: newOutpost(first),
    identity,
    inTurn: yield* Semaphore.make(1),
    asked: new Map(),
    lastQuestion: 0
  }
  yield* countHolding("tunnels dialled", () => state.dialled.size)
  if (later !== undefined) yield* Effect.forkScoped(redeemLater(state, later))
  return yield* Effect.forever(untilDone(step(state), "tunnels could not be looked after"))
})
