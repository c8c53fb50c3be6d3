import { Clock, Deferred, Effect, Exit, Fiber, Metric, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeController, type Requeue } from "../../../src/app/kernel/controller.ts"
import { counter } from "../../../src/app/kernel/metrics.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"

/** A controller whose reconcile notes when it ran and does what `behave` says. */
const noted = <E = never>(behave: (key: string, run: number) => Effect.Effect<Requeue, E>) =>
  Effect.gen(function* () {
    const runs: Array<{ readonly key: string; readonly at: number }> = []
    const controller = yield* makeController({
      name: "Test",
      reconcile: (key) =>
        Effect.gen(function* () {
          runs.push({ key, at: yield* Clock.currentTimeMillis })
          return yield* behave(key, runs.filter((run) => run.key === key).length)
        })
    })
    const times = (key = "a") => runs.filter((run) => run.key === key).map(({ at }) => at)
    return { ...controller, runs, times }
  })

const gaps = (times: ReadonlyArray<number>): ReadonlyArray<number> =>
  times.slice(1).map((at, index) => at - (times[index] ?? 0))

describe("the kernel of controllers", () => {
  it.effect("runs a key once and then rests for ever", function* () {
    const { enqueue, runs } = yield* noted(() => Effect.succeed(undefined))
    yield* TestClock.adjust("1 hour")
    expect(runs).toEqual([])
    enqueue("a")
    yield* TestClock.adjust("1 hour")
    expect(runs).toHaveLength(1)
  })

  it.effect("counts its turns by outcome", () =>
    Effect.gen(function* () {
      const outcomes: ReadonlyArray<Effect.Effect<Requeue, string>> = [
        Effect.fail("no"),
        Effect.succeed("Conflict"),
        Effect.succeed({ after: 1_000 })
      ]
      const { enqueue } = yield* noted((_, run) => outcomes[run - 1] ?? Effect.succeed(undefined))
      enqueue("a")
      yield* TestClock.adjust("1 minute")
      const turns = (outcome: string) =>
        Effect.map(
          Metric.value(counter("braid_reconciles_total", { controller: "Test", outcome })),
          ({ count }) => count
        )
      expect([yield* turns("failed"), yield* turns("conflict"), yield* turns("done")]).toEqual([1, 1, 2])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect(
    "never reconciles a key twice at a time; what came meanwhile makes one more run, not several",
    function* () {
      const gate = yield* Deferred.make<void>()
      let running = 0
      let most = 0
      const { enqueue, times } = yield* noted((_key, run) =>
        Effect.gen(function* () {
          most = Math.max(most, ++running)
          if (run === 1) yield* Deferred.await(gate)
          running--
          return undefined
        })
      )
      enqueue("a")
      yield* TestClock.adjust(10)
      for (let i = 0; i < 5; i++) enqueue("a")
      yield* TestClock.adjust(10)
      expect(times()).toHaveLength(1)
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("1 hour")
      expect(times()).toHaveLength(2)
      expect(most).toBe(1)
    }
  )

  it.effect("reconciles different keys side by side", function* () {
    const { enqueue, times } = yield* noted((key) => (key === "stuck" ? Effect.never : Effect.succeed(undefined)))
    enqueue("stuck")
    enqueue("a")
    yield* TestClock.adjust(1)
    expect(times()).toHaveLength(1)
  })

  it.effect(
    "repeats what failed after pauses that double up to half a minute, with jitter, and start again after success",
    function* () {
      let works = false
      const { enqueue, times } = yield* noted(() => (works ? Effect.succeed(undefined) : Effect.fail("no")))
      enqueue("a")
      yield* TestClock.adjust("10 minutes")
      const pauses = gaps(times())
      expect(pauses.length).toBeGreaterThan(15)
      expect(pauses.length).toBeLessThan(40)
      pauses.forEach((pause, index) => {
        const nominal = Math.min(30_000, 200 * 2 ** index)
        expect(pause).toBeGreaterThanOrEqual(nominal * 0.79)
        expect(pause).toBeLessThanOrEqual(nominal * 1.21)
      })
      expect(new Set(pauses.slice(-5)).size).toBeGreaterThan(1)
      works = true
      yield* TestClock.adjust("1 minute")
      const before = times().length
      works = false
      enqueue("a")
      yield* TestClock.adjust(1_000)
      expect(times().length).toBeGreaterThanOrEqual(before + 3)
    }
  )

  it.effect("repeats after a conflict soon, but later and later while conflicts go on", function* () {
    const { enqueue, times } = yield* noted((_key, run) => Effect.succeed(run <= 12 ? "Conflict" : undefined))
    enqueue("a")
    yield* TestClock.adjust("2 minutes")
    const pauses = gaps(times())
    expect(pauses).toHaveLength(12)
    for (const [i, pause] of pauses.entries()) {
      const wanted = Math.min(5_000, 100 * 2 ** i)
      expect(pause).toBeGreaterThanOrEqual(wanted * 0.8 - 1)
      expect(pause).toBeLessThanOrEqual(wanted * 1.2 + 1)
    }
  })

  it.effect("waits as long as a server has asked for, whatever happens meanwhile", function* () {
    const busy = new KubeError({
      cluster: "c",
      operation: "patch",
      reason: "TooManyRequests",
      code: 429,
      detail: "busy",
      retryAfterMs: 20_000
    })
    const { enqueue, times } = yield* noted((_key, run) => (run === 1 ? Effect.fail(busy) : Effect.succeed(undefined)))
    enqueue("a")
    yield* TestClock.adjust("1 second")
    enqueue("a")
    yield* TestClock.adjust("18 seconds")
    expect(times()).toHaveLength(1)
    yield* TestClock.adjust("2 seconds")
    expect(gaps(times())).toEqual([20_000])
  })

  it.effect("takes a defect and an interruption inside a reconcile for failures: the key lives on", function* () {
    const failures = [Effect.die(new Error("bug")), Effect.interrupt]
    const { enqueue, times } = yield* noted((_key, run) => failures[run - 1] ?? Effect.succeed(undefined))
    enqueue("a")
    yield* TestClock.adjust("1 minute")
    expect(times()).toHaveLength(3)
    enqueue("a")
    yield* TestClock.adjust("1 minute")
    expect(times()).toHaveLength(4)
  })

  it.effect("comes back when the reconcile asked for it, and at once when something changes before", function* () {
    const { enqueue, times } = yield* noted((_key, run) => Effect.succeed(run < 3 ? { after: 1_000 } : undefined))
    enqueue("a")
    yield* TestClock.adjust(999)
    expect(times()).toEqual([0])
    yield* TestClock.adjust(1)
    expect(times()).toEqual([0, 1_000])
    yield* TestClock.adjust(300)
    enqueue("a")
    yield* TestClock.adjust("1 hour")
    expect(times()).toEqual([0, 1_000, 1_300])
  })

  it.effect(
    "ends with its scope, in the middle of a reconcile and of a pause, and does nothing afterwards",
    function* () {
      const scope = yield* Scope.make()
      const ended: Array<string> = []
      const { enqueue, runs } = yield* noted((key) =>
        key === "running"
          ? Effect.never.pipe(Effect.onInterrupt(() => Effect.sync(() => void ended.push(key))))
          : Effect.succeed({ after: 1_000 })
      ).pipe(Scope.provide(scope))
      enqueue("running")
      enqueue("paused")
      yield* TestClock.adjust(10)
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* Fiber.join(closing)
      expect(ended).toEqual(["running"])
      enqueue("late")
      enqueue("paused")
      yield* TestClock.adjust("1 hour")
      expect(runs.map(({ key }) => key)).toEqual(["running", "paused"])
    }
  )
})
