/**
 * The clock of {@link virtualTime}: Effect's `TestClock` by its own interface, at a fraction of the cost. Effect's one
 * races each wake-up with a time-out of the machine's clock, and guards each sleep with a semaphore, for warnings that
 * no test here needs. Tests of hours of virtual time spend a good part of their time on that.
 */

import { Clock, Context, Duration, Effect, Layer, Semaphore } from "effect"
import * as Scheduler from "effect/Scheduler"
import type { TestClock } from "effect/testing"
import { EventHeap, type HeapEntry } from "../../lab/simulation/kernel/event-heap.ts"

/** Somebody who sleeps; without `wake` it has been interrupted. */
interface Sleeper extends HeapEntry {
  wake: (() => void) | undefined
}

/** The tasks that a wake-up has brought about, and those that they have brought about in turn. */
interface Wake {
  pending: number
  onRest: () => void
}

/** In two parts, since a moment of today in ns is more than a number holds. */
const nanosOf = (millis: number): bigint =>
  BigInt(Math.floor(millis)) * 1_000_000n + BigInt(Math.floor((millis % 1) * 1_000_000))

class VirtualClock implements TestClock.TestClock {
  readonly #live: Clock.Clock
  readonly #sleepers = new EventHeap<Sleeper>()
  readonly #oneAtATime = Semaphore.makeUnsafe(1)
  #order = 0
  #now = 0
  /** Ms that have passed, however the time was set. */
  #passed = 0
  #wake: Wake | undefined

  constructor(live: Clock.Clock) {
    this.#live = live
  }

  readonly currentTimeMillisUnsafe = (): number => this.#now
  readonly currentTimeNanosUnsafe = (): bigint => nanosOf(this.#now)
  readonly monotonicTimeNanosUnsafe = (): bigint => nanosOf(this.#passed)
  readonly currentTimeMillis = Effect.sync(this.currentTimeMillisUnsafe)
  readonly currentTimeNanos = Effect.sync(this.currentTimeNanosUnsafe)
  readonly monotonicTimeNanos = Effect.sync(this.monotonicTimeNanosUnsafe)

  readonly sleep = (duration: Duration.Duration): Effect.Effect<void> =>
    Effect.suspend(() => {
      const time = this.#now + Duration.toMillis(duration)
      if (time <= this.#now) return Effect.void
      return Effect.callback<void>((resume) => {
        const sleeper: Sleeper = { time, order: this.#order++, wake: () => resume(Effect.void) }
        this.#sleepers.push(sleeper)
        return Effect.sync(() => {
          sleeper.wake = undefined
        })
      })
    })

  readonly adjust = (duration: Duration.Input): Effect.Effect<void> =>
    this.#pass((now) => now + Duration.toMillis(duration))
  readonly setTime = (timestamp: number): Effect.Effect<void> => this.#pass(() => timestamp)

  readonly withLive = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.provideService(effect, Clock.Clock, this.#live)

  /** A scheduler that knows which tasks come of a wake-up. */
  schedulerOver(parent: Scheduler.Scheduler): Scheduler.Scheduler {
    return {
      executionMode: parent.executionMode,
      shouldYield: (fiber) => parent.shouldYield(fiber),
      makeDispatcher: () => {
        const dispatcher = parent.makeDispatcher()
        return {
          scheduleTask: (task, priority) => dispatcher.scheduleTask(this.#counted(task), priority),
          flush: () => dispatcher.flush()
        }
      }
    }
  }

  #counted(task: () => void): () => void {
    const wake = this.#wake
    if (wake === undefined) return task
    wake.pending++
    return () => {
      try {
        this.#during(wake, task)
      } finally {
        if (--wake.pending === 0) wake.onRest()
      }
    }
  }

  #during(wake: Wake, run: () => void): void {
    const outer = this.#wake
    this.#wake = wake
    try {
      run()
    } finally {
      this.#wake = outer
    }
  }

  #pass(until: (now: number) => number): Effect.Effect<void> {
    const passed = Effect.callback<void>((resume) => {
      let isOver = false
      // Work that is under way comes first.
      after(2, () => {
        const end = until(this.#now)
        const goOn = (): void => {
          if (isOver) return
          const wake = this.#nextUntil(end)
          if (wake !== undefined) return this.#woken(wake, goOn)
          this.#goTo(end)
          resume(Effect.void)
        }
        goOn()
      })
      return Effect.sync(() => {
        isOver = true
      })
    })
    return this.#oneAtATime.withPermits(1)(passed)
  }

  /** Goes to the time of the next who sleeps, if that has come by `end`, and takes it. */
  #nextUntil(end: number): (() => void) | undefined {
    for (let next = this.#sleepers.peek(); next !== undefined && next.time <= end; next = this.#sleepers.peek()) {
      this.#sleepers.pop()
      if (next.wake === undefined) continue
      this.#goTo(next.time)
      return next.wake
    }
    return undefined
  }

  #goTo(time: number): void {
    if (time > this.#now && Number.isFinite(time)) this.#passed += time - this.#now
    this.#now = time
  }

  /** Wakes, and goes on when all that comes of it has come to rest: sleeps that begin then begin in time. */
  #woken(run: () => void, goOn: () => void): void {
    const wake: Wake = { pending: 0, onRest: () => {} }
    this.#during(wake, run)
    // Promises that were kept go on within these turns of the event loop.
    if (wake.pending === 0) after(1, goOn)
    else wake.onRest = () => after(2, goOn)
  }
}

/** Goes on after so many turns of the event loop. */
const after = (turns: number, goOn: () => void): void =>
  void setImmediate(turns > 1 ? () => after(turns - 1, goOn) : goOn)

/** A `TestClock` that begins at 0, and the scheduler that it needs. */
export const virtualClock = Layer.effectContext(
  Effect.gen(function* () {
    const clock = new VirtualClock(yield* Clock.Clock)
    const scheduler = clock.schedulerOver(yield* Scheduler.Scheduler)
    return Context.make(Clock.Clock, clock).pipe(Context.add(Scheduler.Scheduler, scheduler))
  })
)
