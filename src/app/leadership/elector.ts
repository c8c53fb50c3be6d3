/**
 * Elects a cluster's operator by a Lease: stands by, leads, renews, gives up. Other Leases are held in the same way.
 * domain/leadership/lease.ts decides what a Lease means for a candidate; the leader's work is its caller's.
 */

import { Clock, Duration, Effect, Exit, Fiber, Latch, Random, Result, type Scope, Stream } from "effect"
import { holderIdentity, type OperatorPod } from "../../domain/leadership/identity.ts"
import { type LeaseTimes, retryJitter } from "../../domain/leadership/lease-times.ts"
import {
  isReleased,
  type LeaseStep,
  leaseStep,
  observeLease,
  type ObservedLease,
  releaseStep
} from "../../domain/leadership/lease.ts"
import { leases } from "../../domain/resources/core-kinds.ts"
import { apiVersionOf, readResource } from "../../domain/resources/resource-descriptor.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../ports/kube-api.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { elapsedOf, LeaseTerm, type Term } from "../kernel/term.ts"
import { within } from "../kernel/within.ts"

/** The Lease by which the operators of a cluster elect their leader. */
export const leaseName = "mirrord-operator"
/** The least time for an attempt to renew, in ms. */
const minAttempt = 1_000
/** How long the release of the Lease may take when the process ends. */
const releaseLimit = Duration.seconds(3)

export interface ElectorOptions {
  readonly api: KubeApi
  readonly namespace: string
  /** Name of the Lease. */
  readonly lease: string
  /** Further metadata of a Lease that this process creates. */
  readonly metadata?: object | undefined
  readonly pod: OperatorPod
  readonly times: LeaseTimes
  /** Runs at the end of a term, before the Lease is given up; it gets only a short while. */
  readonly resign: Effect.Effect<void>
}

/** The state of one candidate. */
interface ElectorState {
  readonly options: ElectorOptions
  /** The name of this process in the Lease. */
  readonly identity: string
  /** The host's clock: its time is written to the Lease, but decides nothing. */
  readonly clock: Clock.Clock
  /** The steady clock, ms. */
  readonly elapsed: () => number
  /** The Lease as last seen; missing before the first read, and while there is none. */
  observed: ObservedLease | undefined
}

/** The end of an attempt to renew: the moment when the write left, or that another process holds the Lease. */
type Renewal = { readonly _tag: "Renewed"; readonly sent: number } | { readonly _tag: "Lost" }

type Write = Exclude<LeaseStep, { readonly _tag: "StandBy" }>

const makeState = Effect.fnUntraced(function* (
  options: ElectorOptions,
  observed?: ObservedLease
): Effect.fn.Return<ElectorState> {
  const clock = yield* Clock.Clock
  const identity = holderIdentity(options.pod, ((yield* Random.nextInt) >>> 0).toString(16))
  return { options, identity, clock, elapsed: elapsedOf(clock), observed }
})

const failed = ({ options: { api, lease } }: ElectorState, detail: string): KubeError =>
  new KubeError({ cluster: api.cluster, operation: `use Lease ${lease}`, reason: "Unreachable", detail })

/** Records the Lease that a server has answered with. */
const observeAnswer = (state: ElectorState, object: KubeObject): Effect.Effect<void, KubeError> => {
  const lease = readResource(leases, object)
  if (Result.isFailure(lease)) return Effect.fail(failed(state, `it cannot be read: ${lease.failure.message}`))
  state.observed = observeLease(state.observed, lease.success, state.elapsed())
  return Effect.void
}

const readLease = (state: ElectorState): Effect.Effect<void, KubeError> =>
  state.options.api.get(leases, state.options.lease, state.options.namespace).pipe(
    Effect.flatMap((object) => observeAnswer(state, object)),
    Effect.catch((error) => {
      if (error.reason !== "NotFound") return Effect.fail(error)
      state.observed = undefined
      return Effect.void
    })
  )

const decide = (state: ElectorState, term: LeaseTerm | undefined): LeaseStep => {
  const { clock, elapsed, identity, observed, options } = state
  return leaseStep(
    observed,
    { identity, term, elapsed: elapsed(), now: clock.currentTimeMillisUnsafe() },
    options.times
  )
}

/** Writes the Lease, and returns the moment when the request left: a term counts from there. */
const write = (state: ElectorState, step: Write): Effect.Effect<number, KubeError> =>
  Effect.suspend(() => {
    const { api, lease: name, metadata, namespace } = state.options
    const sent = state.elapsed()
    const { spec } = step
    const answer =
      step._tag === "Create"
        ? api.create(
            leases,
            { apiVersion: apiVersionOf(leases), kind: leases.kind, metadata: { ...metadata, name, namespace }, spec },
            namespace
          )
        : api.mergePatch(leases, name, { metadata: { resourceVersion: step.version }, spec }, { namespace })
    return Effect.as(
      Effect.flatMap(answer, (object) => observeAnswer(state, object)),
      sent
    )
  })

/** Half the deadline, so that a request that hangs leaves time for another request. */
const maxAttempt = ({ options: { times } }: ElectorState): number => times.renewDeadline / 2

const inTime = <A>(
  state: ElectorState,
  attempt: Effect.Effect<A, KubeError>,
  limit: number
): Effect.Effect<Result.Result<A, KubeError>> =>
  attempt.pipe(
    Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.fail(failed(state, "no answer in time")) }),
    Effect.result
  )

/**
 * Opens `released` when the holder gives the Lease up, so that a hand-over takes only as long as a watch event. It is
 * only a hint: a standby reads the Lease from time to time anyway, and before it writes. A deleted Lease is no release,
 * because its leader may go on for a moment.
 */
const watchForRelease = (state: ElectorState, released: Latch.Latch): Effect.Effect<never> =>
  Stream.suspend(() =>
    state.observed === undefined
      ? Stream.empty
      : state.options.api.watch(leases, state.observed.version, {
          namespace: state.options.namespace,
          name: state.options.lease
        })
  ).pipe(
    Stream.filter((event) => {
      if (event._tag !== "Changed") return false
      const lease = readResource(leases, event.object)
      return Result.isSuccess(lease) && isReleased(lease.success)
    }),
    Stream.runForEach(() => released.open),
    Effect.ignore,
    Effect.andThen(Effect.sleep(state.options.times.retryPeriod)),
    Effect.forever
  )

/** The end of an attempt to become the leader; times by the steady clock. */
type Attempt = { readonly _tag: "Acquired"; readonly sent: number } | { readonly _tag: "Led"; readonly by: string }

const acquire = (state: ElectorState): Effect.Effect<Attempt, KubeError> =>
  Effect.flatMap(readLease(state), (): Effect.Effect<Attempt, KubeError> => {
    const step = decide(state, undefined)
    return step._tag === "StandBy"
      ? Effect.succeed({ _tag: "Led", by: step.holder })
      : Effect.map(write(state, step), (sent) => ({ _tag: "Acquired", sent }))
  })

/** The term of a process that has just got the Lease. */
const acquiredTerm = (
  { elapsed, observed, options: { times } }: ElectorState,
  attempt: Result.Result<Attempt, KubeError>
): LeaseTerm | undefined =>
  Result.isSuccess(attempt) && attempt.success._tag === "Acquired" && observed !== undefined
    ? new LeaseTerm(observed.record.epoch, attempt.success.sent, times, elapsed)
    : undefined

/** Stands by until this process holds the Lease. */
const standBy = (state: ElectorState): Effect.Effect<LeaseTerm> =>
  Effect.gen(function* () {
    const { times } = state.options
    const released = Latch.makeUnsafe(false)
    yield* Effect.forkScoped(watchForRelease(state, released))
    const news = new LogOnce()
    for (;;) {
      yield* released.close
      const attempt = yield* inTime(state, acquire(state), maxAttempt(state))
      const acquired = acquiredTerm(state, attempt)
      if (acquired !== undefined) return acquired
      const why = whyNot(attempt)
      yield* news.tell(why, logInfo("the operator stands by", { why }))
      const asked = Result.isFailure(attempt) ? (attempt.failure.retryAfterMs ?? 0) : 0
      const pause = Effect.sleep(Math.max(asked, times.retryPeriod * (yield* Random.nextBetween(1, retryJitter))))
      yield* Result.isFailure(attempt) ? pause : Effect.raceFirst(pause, released.await)
    }
  }).pipe(Effect.scoped)

const whyNot = (attempt: Result.Result<Attempt, KubeError>): string => {
  if (Result.isFailure(attempt)) return attempt.failure.message
  return `${attempt.success._tag === "Led" ? attempt.success.by : "another replica"} leads`
}

/** Reads the Lease again before it decides, because another writer changed or deleted it. */
const renewAfterAll = (state: ElectorState, term: LeaseTerm): Effect.Effect<Renewal, KubeError> =>
  Effect.flatMap(readLease(state), (): Effect.Effect<Renewal, KubeError> => {
    const step = decide(state, term)
    return step._tag === "Renew" ? writeRenewal(state, step) : Effect.succeed({ _tag: "Lost" })
  })

const writeRenewal = (state: ElectorState, step: Write): Effect.Effect<Renewal, KubeError> =>
  Effect.map(write(state, step), (sent) => ({ _tag: "Renewed", sent }))

/** Renews the Lease by its last seen version; if that is outdated, by its current version. */
const renewLease = (state: ElectorState, term: LeaseTerm): Effect.Effect<Renewal, KubeError> => {
  const step = decide(state, term)
  if (step._tag !== "Renew") return renewAfterAll(state, term)
  return writeRenewal(state, step).pipe(
    Effect.catch((error) =>
      error.reason === "Conflict" || error.reason === "NotFound" ? renewAfterAll(state, term) : Effect.fail(error)
    )
  )
}

const tooLate = ({ message }: KubeError): string => `its lease could not be renewed in time: ${message}`

/** Whether this process was suspended meanwhile. It then knows nothing yet: maybe no other candidate was there. */
const wasStopped = ({ elapsed, options: { times } }: ElectorState, since: number, expected: number): boolean =>
  elapsed() - since > expected + times.retryPeriod

/** Pause before the next attempt to renew, in ms; shorter after a failure, unless the server asked for more. */
const renewPause = ({ options: { times } }: ElectorState, term: LeaseTerm, failure: KubeError | undefined): number =>
  Math.max(
    failure?.retryAfterMs ?? 0,
    failure === undefined ? times.retryPeriod : Math.min(times.retryPeriod, Math.max(0, term.certainFor()))
  )

/** How long an attempt to renew may take, if no other leader can be elected for `certainFor` ms. */
const renewLimit = (state: ElectorState, certainFor: number): number =>
  certainFor > 0 ? Math.max(minAttempt, Math.min(maxAttempt(state), certainFor)) : maxAttempt(state)

/**
 * Renews until another process leads, or until this process can no longer be sure that it leads. Returns the reason.
 */
const renew = Effect.fnUntraced(function* (state: ElectorState, term: LeaseTerm): Effect.fn.Return<string> {
  let failure: KubeError | undefined
  for (;;) {
    const slept = state.elapsed()
    const pause = renewPause(state, term, failure)
    yield* Effect.sleep(pause)
    const [begun, left] = [state.elapsed(), term.certainFor()]
    if (failure !== undefined && left <= 0 && !wasStopped(state, slept, pause)) return tooLate(failure)
    const limit = renewLimit(state, left)
    const renewed = yield* inTime(state, renewLease(state, term), limit)
    if (Result.isFailure(renewed)) {
      failure = renewed.failure
      if (!term.isCertain() && !wasStopped(state, begun, limit)) return tooLate(failure)
      if (!term.lasts())
        yield* logWarning("the lease is not renewed in time; nothing is written until it is", {
          problem: failure.message
        })
      continue
    }
    if (renewed.success._tag === "Lost") return `${state.observed?.record.holder ?? "no process"} holds the lease now`
    failure = undefined
    term.renewed(renewed.success.sent)
  }
})

/** Gives the Lease up, so that the next leader need not wait until it expires. */
const release = (state: ElectorState): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { clock, identity, observed, options } = state
    const step = releaseStep(observed, { identity, now: clock.currentTimeMillisUnsafe() })
    if (step === undefined) return Effect.void
    return Effect.ignore(
      options.api.mergePatch(
        leases,
        options.lease,
        { metadata: { resourceVersion: step.version }, spec: step.spec },
        { namespace: options.namespace }
      )
    )
  })

/**
 * Leads until the term is over, then gives the term up in order, whatever ended it. Returns the reason of the end. An
 * orderly stop ends the term after what was led, and renews it until then: no other replica leads meanwhile, and what
 * was begun may be finished.
 */
const leadFor = <R>(
  state: ElectorState,
  term: LeaseTerm,
  lead: Effect.Effect<never, never, R | Scope.Scope>
): Effect.Effect<string, never, Exclude<R, Scope.Scope>> => {
  const { resign } = state.options
  const end = Effect.sync(() => term.end())
  const led = (renewing: Fiber.Fiber<string>) =>
    Effect.scoped(
      Effect.raceFirst(lead, Fiber.join(renewing)).pipe(
        Effect.onExit((exit) => (Exit.hasInterrupts(exit) ? Effect.void : end))
      )
    )
  return Effect.scoped(Effect.flatMap(Effect.forkScoped(renew(state, term)), led)).pipe(
    Effect.onExit((exit) =>
      Effect.andThen(end, within(Exit.isSuccess(exit) ? resign : Effect.andThen(resign, release(state)), releaseLimit))
    )
  )
}

/**
 * Stands by until it gets the Lease, runs `lead` until the Lease is lost, and stands by again. An interruption gives
 * the Lease up. All terms run in the same process: if a container ended with each term, its kubelet would delay the
 * restart by up to five minutes while an API server fails again and again.
 */
export const electLeader = Effect.fnUntraced(function* <R>(
  options: ElectorOptions,
  lead: (term: Term) => Effect.Effect<never, never, R | Scope.Scope>
): Effect.fn.Return<never, never, Exclude<R, Scope.Scope>> {
  const state = yield* makeState(options)
  for (;;) {
    const term = yield* standBy(state)
    yield* logInfo("the operator leads", { epoch: term.epoch, identity: state.identity })
    const why = yield* leadFor(state, term, lead(term))
    yield* logWarning("the operator does not lead any more", { epoch: term.epoch, why })
  }
})

/** The end of {@link holdLease}; `why` is a clause. */
export interface LeaseEnd {
  readonly wasHeld: boolean
  readonly why: string
}

/**
 * Tries once to get a Lease that seems to be free, and runs `hold` until it is lost. An interruption gives the Lease
 * up. `observed`: the Lease as the caller has seen it, so that the silence of its holder counts from then.
 */
export const holdLease = Effect.fnUntraced(function* <R>(
  options: ElectorOptions,
  observed: ObservedLease | undefined,
  hold: (term: Term) => Effect.Effect<never, never, R | Scope.Scope>
): Effect.fn.Return<LeaseEnd, never, Exclude<R, Scope.Scope>> {
  const state = yield* makeState(options, observed)
  const attempt = yield* inTime(state, acquire(state), maxAttempt(state))
  const acquired = acquiredTerm(state, attempt)
  if (acquired === undefined) return { wasHeld: false, why: whyNot(attempt) }
  return { wasHeld: true, why: yield* leadFor(state, acquired, hold(acquired)) }
})
