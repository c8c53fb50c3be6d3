import { Deferred, Effect, Exit, Fiber, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { durations } from "../../../src/app/kernel/metrics.ts"
import { SessionEnds } from "../../../src/app/sessions/session-ends.ts"
import { virtualTime } from "../../support/virtual-time.ts"

const about = { session: "session-1", owner: "ann" }
const expired = { act: "ended", cause: "Expired", ...about, message: "no client" } as const
const of = (uid: string) => ({ name: "session-1", uid })
const one = of("u1")

/** The result of `story`, and the causes in the audit. */
const told = async <A>(
  story: (ends: SessionEnds) => Effect.Effect<A, unknown>
): Promise<readonly [Exit.Exit<A, unknown>, ReadonlyArray<unknown>]> => {
  const causes: Array<unknown> = []
  const hear = Logger.layer([
    Logger.map(Logger.formatJson, (line) => void causes.push(JSON.parse(line).annotations.cause))
  ])
  return [await Effect.runPromiseExit(Effect.provide(story(new SessionEnds()), hear)), causes]
}
const causes = async (story: (ends: SessionEnds) => Effect.Effect<unknown, unknown>) => (await told(story))[1]

describe("the ends of sessions in the audit", () => {
  it("a deletion of our own has the line of its cause, whether the watch or the answer is first", async () => {
    expect(await causes((ends) => Effect.andThen(ends.end(one, Effect.void, expired), ends.seen(one, about)))).toEqual([
      "Expired"
    ])
    expect(await causes((ends) => ends.end(one, ends.seen(one, about), expired))).toEqual(["Expired"])
  })

  it("a deletion that failed has none, and its error is passed on", async () => {
    const [exit, lines] = await told((ends) => ends.end(one, Effect.fail("NotFound"), expired))
    expect([Exit.isFailure(exit), lines]).toEqual([true, []])
  })

  it(
    "somebody else's is told as such, beside an attempt of ours that failed or was broken off, and for an object " +
      "of the same name",
    async () => {
      const failing = (ends: SessionEnds, before: Effect.Effect<void>) =>
        Effect.exit(ends.end(one, Effect.andThen(before, Effect.fail("NotFound")), expired))
      expect(await causes((ends) => Effect.andThen(failing(ends, Effect.void), ends.seen(one, about)))).toEqual([
        "Deleted"
      ])
      expect(await causes((ends) => failing(ends, ends.seen(one, about)))).toEqual(["Deleted"])
      const brokenOff = (ends: SessionEnds) =>
        Effect.flatMap(
          Effect.forkChild(ends.end(one, Effect.andThen(ends.seen(one, about), Effect.never), expired), {
            startImmediately: true
          }),
          Fiber.interrupt
        )
      expect(await causes(brokenOff)).toEqual(["Deleted"])
      expect(
        await causes((ends) => Effect.andThen(ends.end(one, Effect.void, expired), ends.seen(of("u2"), about)))
      ).toEqual(["Expired", "Deleted"])
    }
  )

  it("an object has one line, in whatever order attempts begin and end and it is seen", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ succeeds: fc.boolean(), begin: fc.nat(20), end: fc.nat(20) }), { maxLength: 4 }),
        fc.nat(40),
        async (attempts, seenAt) => {
          const lines = await causes((ends) =>
            Effect.gen(function* () {
              const running = attempts.map((attempt) => ({ ...attempt, answer: Deferred.makeUnsafe<void, string>() }))
              const fibers = []
              for (let at = 0; at <= 40; at++) {
                for (const { answer, begin } of running)
                  if (begin === at)
                    fibers.push(
                      yield* Effect.forkChild(Effect.exit(ends.end(one, Deferred.await(answer), expired)), {
                        startImmediately: true
                      })
                    )
                if (at === seenAt) yield* ends.seen(one, about)
                for (const { answer, begin, end, succeeds } of running)
                  if (begin + end === at)
                    yield* succeeds ? Deferred.succeed(answer, undefined) : Deferred.fail(answer, "NotFound")
                yield* Effect.yieldNow
              }
              for (const fiber of fibers) yield* Fiber.join(fiber)
            })
          )
          expect(lines).toHaveLength(1)
          if (attempts.every(({ succeeds }) => !succeeds)) expect(lines).toEqual(["Deleted"])
        }
      ),
      { numRuns: 300 }
    ))

  it("holds a bounded number of ends in memory, the latest ones", async () => {
    const lines = await causes((ends) =>
      Effect.gen(function* () {
        for (let i = 0; i <= 10_000; i++)
          yield* Effect.provide(ends.end(of(`u${i}`), Effect.void, expired), Logger.layer([]))
        for (const uid of ["u1", "u10000", "u0"]) yield* ends.seen(of(uid), about)
      })
    )
    expect(lines).toEqual(["Deleted"])
  })
})

describe("the ends of sessions in the metrics", () => {
  it("count how long a session lasted, each once, and those of CI among them", async () => {
    const counted = await Effect.runPromise(
      Effect.gen(function* () {
        const ends = new SessionEnds()
        yield* TestClock.setTime(600_000)
        const begun = (uid: string, at: number) => ({ ...of(uid), creationTimestamp: new Date(at).toISOString() })
        yield* ends.seen(begun("u1", 540_000), about)
        yield* ends.end(begun("u1", 540_000), Effect.void, expired)
        yield* ends.seen(begun("u2", 0), { ...about, isOfCi: true })
        // A clock of another host is ahead.
        yield* ends.seen(begun("u3", 700_000), about)
        const { count, sum } = yield* Metric.value(durations("mirrord_sessions_duration", {}))
        const ofCi = yield* Metric.value(durations("mirrord_ci_sessions_duration", {}))
        return { count, sum, ofCi: [ofCi.count, ofCi.sum] }
      }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()), Effect.provide([virtualTime, Logger.layer([])]))
    )
    expect(counted).toEqual({ count: 3, sum: 660, ofCi: [1, 600] })
  })
})
