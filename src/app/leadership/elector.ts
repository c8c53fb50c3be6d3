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
  /** What is to be done at the end of a term, before the Lease is given up. Gets a short while only. */
  readonly resign: Effect.Effect<void>
}

/**
 * Stands by until the Lease can be had, then runs `lead` until it is lost, and stands by again. In the same process: a
 * container that ended instead would be kept from starting for up to five minutes, by its kubelet, where an API server
 * fails again and again. When it is interrupted the Lease is given up, so that the next leader need not wait for its
 * end.
 */
export const electLeader = <R>(
  options: ElectorOptions,
  lead: (term: Term) => Effect.Effect<never, never, R | Scope.Scope>
): Effect.Effect<never, never, R> =>
  Effect.gen(function* () {
    const { api, namespace, pod, resign, times } = options
    const clock = yield* Clock.Clock
    const elapsed = elapsedOf(clock)
    const identity = holderIdentity(pod, ((yield* Random.nextInt) >>> 0).toString(16))
    let observed: ObservedLease | undefined

    const look = (object: KubeObject): Effect.Effect<void, KubeError> => {
      const lease = readResource(leases, object)
      if (Result.isFailure(lease)) return Effect.fail(failed(`it cannot be read: ${lease.failure.message}`))
      observed = observeLease(observed, lease.success, elapsed())
      return Effect.void
    }
    const failed = (detail: string): KubeError =>
      new KubeError({ cluster: api.cluster, operation: `use Lease ${leaseName}`, reason: "Unreachable", detail })

    const read: Effect.Effect<void, KubeError> = api.get(leases, leaseName, namespace).pipe(
      Effect.flatMap(look),
      Effect.catch((error) => {
        if (error.reason !== "NotFound") return Effect.fail(error)
        observed = undefined
        return Effect.void
      })
    )
    const decide = (term: LeaseTerm | undefined): LeaseStep =>
      leaseStep(observed, { identity, term, elapsed: elapsed(), now: clock.currentTimeMillisUnsafe() }, times)
    /** Gives when the write left: a term counts from there. */
    const write = (step: Exclude<LeaseStep, { readonly _tag: "StandBy" }>): Effect.Effect<number, KubeError> =>
      Effect.suspend(() => {
        const sent = elapsed()
        const { spec } = step
        const answer =
          step._tag === "Create"
            ? api.create(
                leases,
                { apiVersion: apiVersionOf(leases), kind: leases.kind, metadata: { name: leaseName, namespace }, spec },
                namespace
              )
            : api.mergePatch(leases, leaseName, { metadata: { resourceVersion: step.version }, spec }, { namespace })
        return Effect.as(Effect.flatMap(answer, look), sent)
      })
    /** Half the deadline: a request that hangs leaves time for another. */
    const longestAttempt = times.renewDeadline / 2
    const inTime = <A>(
      attempt: Effect.Effect<A, KubeError>,
      limit = longestAttempt
    ): Effect.Effect<Result.Result<A, KubeError>> =>
      attempt.pipe(
        Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.fail(failed("no answer in time")) }),
        Effect.result
      )

    /**
     * Opens `released` when the holder gives the Lease up, so that a hand-over takes as long as a watch tells. A hint
     * only: who stands by looks at the Lease all the same, from time to time and before it writes. A Lease that is
     * deleted may still have a leader, for a moment.
     */
    const watchForRelease = (released: Latch.Latch): Effect.Effect<never> =>
      Stream.suspend(() =>
        observed === undefined ? Stream.empty : api.watch(leases, observed.version, { namespace, name: leaseName })
      ).pipe(
        Stream.filter((event) => {
          if (event._tag !== "Changed") return false
          const lease = readResource(leases, event.object)
          return Result.isSuccess(lease) && isReleased(lease.success)
        }),
        Stream.runForEach(() => released.open),
        Effect.ignore,
        Effect.andThen(Effect.sleep(times.retryPeriod)),
        Effect.forever
      )

    const standBy = Effect.gen(function* () {
      const released = Latch.makeUnsafe(false)
      yield* Effect.forkScoped(watchForRelease(released))
      let told: string | undefined
      const tell = (news: string, details: object = {}) => {
        if (told === news) return Effect.void
        told = news
        return logInfo("the operator stands by", { why: news, ...details })
      }
      for (;;) {
        let step: LeaseStep | undefined
        yield* released.close
        const acquired = yield* inTime(
          Effect.flatMap(read, () => {
            step = decide(undefined)
            return step._tag === "StandBy" ? Effect.succeed(undefined) : write(step)
          })
        )
        if (Result.isSuccess(acquired) && acquired.success !== undefined && observed !== undefined) {
          return new LeaseTerm(observed.record.epoch, acquired.success, times, elapsed)
        }
        yield* Result.isFailure(acquired)
          ? tell(acquired.failure.message)
          : tell(`${step?._tag === "StandBy" ? step.holder : "another replica"} leads`)
        const asked = Result.isFailure(acquired) ? (acquired.failure.retryAfterMs ?? 0) : 0
        const pause = Effect.sleep(Math.max(asked, times.retryPeriod * (yield* Random.nextBetween(1, retryJitter))))
        yield* Result.isFailure(acquired) ? pause : Effect.raceFirst(pause, released.await)
      }
    }).pipe(Effect.scoped)

    /** Somebody wrote to the Lease, or it was deleted: it is looked at before anything is concluded. */
    const renewAfterAll = (term: LeaseTerm): Effect.Effect<number | "Lost", KubeError> =>
      Effect.flatMap(read, (): Effect.Effect<number | "Lost", KubeError> => {
        const step = decide(term)
        return step._tag === "Renew" ? write(step) : Effect.succeed("Lost")
      })

    /** Until somebody else leads, or nobody can know. */
    const renew = (term: LeaseTerm): Effect.Effect<string> =>
      Effect.gen(function* () {
        let failure: KubeError | undefined
        /** Who was stopped meanwhile knows nothing yet: maybe nobody else was there. */
        const wasStopped = (since: number, expected: number): boolean =>
          elapsed() - since > expected + times.retryPeriod
        const tooLate = ({ message }: KubeError): string => `its lease could not be renewed in time: ${message}`
        for (;;) {
          const slept = elapsed()
          const pause = Math.max(
            failure?.retryAfterMs ?? 0,
            failure === undefined ? times.retryPeriod : Math.min(times.retryPeriod, Math.max(0, term.certainFor()))
          )
          yield* Effect.sleep(pause)
          const [begun, left] = [elapsed(), term.certainFor()]
          if (failure !== undefined && left <= 0 && !wasStopped(slept, pause)) return tooLate(failure)
          const step = decide(term)
          const limit = left > 0 ? Math.max(shortestAttempt, Math.min(longestAttempt, left)) : longestAttempt
          const renewed = yield* inTime(
            step._tag === "Renew"
              ? write(step).pipe(
                  Effect.catch((error): Effect.Effect<number | "Lost", KubeError> =>
                    error.reason === "Conflict" || error.reason === "NotFound"
                      ? renewAfterAll(term)
                      : Effect.fail(error)
                  )
                )
              : renewAfterAll(term),
            limit
          )
          if (Result.isFailure(renewed)) {
            failure = renewed.failure
            if (!term.isCertain() && !wasStopped(begun, limit)) return tooLate(failure)
            if (!term.lasts())
              yield* logWarning("the lease is not renewed in time; nothing is written until it is", {
                problem: failure.message
              })
          } else if (renewed.success === "Lost") {
            return `${observed?.record.holder ?? "nobody"} holds the lease now`
          } else {
            failure = undefined
            term.renewed(renewed.success)
          }
        }
      })

    const release = Effect.suspend(() => {
      const step = releaseStep(observed, { identity, now: clock.currentTimeMillisUnsafe() })
      if (step === undefined) return Effect.void
      return Effect.ignore(
        api.mergePatch(
          leases,
          leaseName,
          { metadata: { resourceVersion: step.version }, spec: step.spec },
          { namespace }
        )
      )
    })

    for (;;) {
      const term = yield* standBy
      yield* logInfo("the operator leads", { epoch: term.epoch, identity })
      const why = yield* Effect.scoped(
        Effect.raceFirst(lead(term), renew(term)).pipe(Effect.onExit(() => Effect.sync(() => term.end())))
      ).pipe(
        Effect.onExit((exit) => within(Exit.isSuccess(exit) ? resign : Effect.andThen(resign, release), releaseLimit))
      )
      yield* logWarning("the operator does not lead any more", { epoch: term.epoch, why })
    }
  })
