/**
 * The election of a cluster's operator by a Lease: stands by, leads, renews, gives up. The meaning of a look at the
 * Lease is decided in domain/leadership/lease.ts; the leader's work is its caller's.
 */

import { Clock, Duration, Effect, Exit, Latch, Random, Result, type Scope, Stream } from "effect"
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

/** The Lease that the operators of a cluster are elected by. */
export const leaseName = "mirrord-operator"
/** ms that an attempt to renew gets at least. */
const shortestAttempt = 1_000
/** How long giving up the lease may take when the process ends. */
const releaseLimit = Duration.seconds(3)

export interface ElectorOptions {
  readonly api: KubeApi
  readonly namespace: string
  readonly pod: OperatorPod
  readonly times: LeaseTimes
  /** Done at the end of a term, before the Lease is given up. Gets a short while only. */
  readonly resign: Effect.Effect<void>
}

/** All that one candidate knows and goes by. */
interface ElectorState {
  readonly options: ElectorOptions
  /** How this process calls itself in the Lease. */
  readonly identity: string
  /** The host's clock: its time is written to the Lease, and nothing is decided by it. */
  readonly clock: Clock.Clock
  /** The steady clock, ms. */
  readonly elapsed: () => number
  /** The Lease as it was seen last; missing before the first look, and while there is none. */
  observed: ObservedLease | undefined
}

/** How an attempt to renew ended: with the moment when the write left, or with somebody else's Lease. */
type Renewal = { readonly _tag: "Renewed"; readonly sent: number } | { readonly _tag: "Lost" }

type Write = Exclude<LeaseStep, { readonly _tag: "StandBy" }>

const makeState = (options: ElectorOptions): Effect.Effect<ElectorState> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const identity = holderIdentity(options.pod, ((yield* Random.nextInt) >>> 0).toString(16))
    return { options, identity, clock, elapsed: elapsedOf(clock), observed: undefined }
  })

const failed = ({ options: { api } }: ElectorState, detail: string): KubeError =>
  new KubeError({ cluster: api.cluster, operation: `use Lease ${leaseName}`, reason: "Unreachable", detail })

/** Takes note of the Lease that a server has answered with. */
const look = (state: ElectorState, object: KubeObject): Effect.Effect<void, KubeError> => {
  const lease = readResource(leases, object)
  if (Result.isFailure(lease)) return Effect.fail(failed(state, `it cannot be read: ${lease.failure.message}`))
  state.observed = observeLease(state.observed, lease.success, state.elapsed())
  return Effect.void
}

const readLease = (state: ElectorState): Effect.Effect<void, KubeError> =>
  state.options.api.get(leases, leaseName, state.options.namespace).pipe(
    Effect.flatMap((object) => look(state, object)),
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

/** Gives when the write left: a term counts from there. */
const write = (state: ElectorState, step: Write): Effect.Effect<number, KubeError> =>
  Effect.suspend(() => {
    const { api, namespace } = state.options
    const sent = state.elapsed()
    const { spec } = step
    const answer =
      step._tag === "Create"
        ? api.create(
            leases,
            { apiVersion: apiVersionOf(leases), kind: leases.kind, metadata: { name: leaseName, namespace }, spec },
            namespace
          )
        : api.mergePatch(leases, leaseName, { metadata: { resourceVersion: step.version }, spec }, { namespace })
    return Effect.as(
      Effect.flatMap(answer, (object) => look(state, object)),
      sent
    )
  })

/** Half the deadline: a request that hangs leaves time for another. */
const longestAttempt = ({ options: { times } }: ElectorState): number => times.renewDeadline / 2

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
 * Opens `released` when the holder gives the Lease up, so that a hand-over takes as long as a watch tells. A hint only:
 * a candidate that stands by looks at the Lease all the same, from time to time and before it writes. A Lease that is
 * deleted may still have a leader, for a moment.
 */
const watchForRelease = (state: ElectorState, released: Latch.Latch): Effect.Effect<never> =>
  Stream.suspend(() =>
    state.observed === undefined
      ? Stream.empty
      : state.options.api.watch(leases, state.observed.version, {
          namespace: state.options.namespace,
          name: leaseName
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

/** How an attempt to become the leader ended; times by the steady clock. */
type Attempt = { readonly _tag: "Acquired"; readonly sent: number } | { readonly _tag: "Led"; readonly by: string }

const acquire = (state: ElectorState): Effect.Effect<Attempt, KubeError> =>
  Effect.flatMap(readLease(state), (): Effect.Effect<Attempt, KubeError> => {
    const step = decide(state, undefined)
    return step._tag === "StandBy"
      ? Effect.succeed({ _tag: "Led", by: step.holder })
      : Effect.map(write(state, step), (sent) => ({ _tag: "Acquired", sent }))
  })

/** Until the Lease is this process's. */
const standBy = (state: ElectorState): Effect.Effect<LeaseTerm> =>
  Effect.gen(function* () {
    const { times } = state.options
    const released = Latch.makeUnsafe(false)
    yield* Effect.forkScoped(watchForRelease(state, released))
    const news = new LogOnce()
    for (;;) {
      yield* released.close
      const attempt = yield* inTime(state, acquire(state), longestAttempt(state))
      if (Result.isSuccess(attempt) && attempt.success._tag === "Acquired" && state.observed !== undefined) {
        return new LeaseTerm(state.observed.record.epoch, attempt.success.sent, times, state.elapsed)
      }
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

/** Somebody wrote to the Lease, or it was deleted: it is looked at before anything is concluded. */
const renewAfterAll = (state: ElectorState, term: LeaseTerm): Effect.Effect<Renewal, KubeError> =>
  Effect.flatMap(readLease(state), (): Effect.Effect<Renewal, KubeError> => {
    const step = decide(state, term)
    return step._tag === "Renew" ? writeRenewal(state, step) : Effect.succeed({ _tag: "Lost" })
  })

const writeRenewal = (state: ElectorState, step: Write): Effect.Effect<Renewal, KubeError> =>
  Effect.map(write(state, step), (sent) => ({ _tag: "Renewed", sent }))

/** By what is known of the Lease, and if that is outdated by what it is. */
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

/** A process that was stopped meanwhile knows nothing yet: maybe nobody else was there. */
const wasStopped = ({ elapsed, options: { times } }: ElectorState, since: number, expected: number): boolean =>
  elapsed() - since > expected + times.retryPeriod

/** Before the next attempt to renew, ms: shorter after one that failed, unless the server asked for more. */
const renewPause = ({ options: { times } }: ElectorState, term: LeaseTerm, failure: KubeError | undefined): number =>
  Math.max(
    failure?.retryAfterMs ?? 0,
    failure === undefined ? times.retryPeriod : Math.min(times.retryPeriod, Math.max(0, term.certainFor()))
  )

/** How long an attempt to renew may take when nobody else can be elected for so many ms. */
const renewLimit = (state: ElectorState, certainFor: number): number =>
  certainFor > 0 ? Math.max(shortestAttempt, Math.min(longestAttempt(state), certainFor)) : longestAttempt(state)

/** Renews until somebody else leads, or nobody can know; gives why. */
const renew = (state: ElectorState, term: LeaseTerm): Effect.Effect<string> =>
  Effect.gen(function* () {
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
      if (renewed.success._tag === "Lost") return `${state.observed?.record.holder ?? "nobody"} holds the lease now`
      failure = undefined
      term.renewed(renewed.success.sent)
    }
  })

/** Gives the Lease up, so that the next leader need not wait for its end. */
const release = (state: ElectorState): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { clock, identity, observed, options } = state
    const step = releaseStep(observed, { identity, now: clock.currentTimeMillisUnsafe() })
    if (step === undefined) return Effect.void
    return Effect.ignore(
      options.api.mergePatch(
        leases,
        leaseName,
        { metadata: { resourceVersion: step.version }, spec: step.spec },
        { namespace: options.namespace }
      )
    )
  })

/** Leads until the term is over; then the term is given up in order, whatever ended it. Gives why it is over. */
const leadFor = <R>(
  state: ElectorState,
  term: LeaseTerm,
  lead: Effect.Effect<never, never, R | Scope.Scope>
): Effect.Effect<string, never, Exclude<R, Scope.Scope>> => {
  const { resign } = state.options
  return Effect.scoped(
    Effect.raceFirst(lead, renew(state, term)).pipe(Effect.onExit(() => Effect.sync(() => term.end())))
  ).pipe(
    Effect.onExit((exit) =>
      within(Exit.isSuccess(exit) ? resign : Effect.andThen(resign, release(state)), releaseLimit)
    )
  )
}

/**
 * Stands by until the Lease can be had, then runs `lead` until it is lost, and stands by again. In the same process: a
 * container that ended instead would be kept from starting for up to five minutes, by its kubelet, where an API server
 * fails again and again. When it is interrupted the Lease is given up.
 */
export const electLeader = <R>(
  options: ElectorOptions,
  lead: (term: Term) => Effect.Effect<never, never, R | Scope.Scope>
): Effect.Effect<never, never, Exclude<R, Scope.Scope>> =>
  Effect.gen(function* () {
    const state = yield* makeState(options)
    for (;;) {
      const term = yield* standBy(state)
      yield* logInfo("the operator leads", { epoch: term.epoch, identity: state.identity })
      const why = yield* leadFor(state, term, lead(term))
      yield* logWarning("the operator does not lead any more", { epoch: term.epoch, why })
    }
  })
