/**
 * An operating-system process in virtual time: runs Effect programs with the kernel's clock, scheduler and randomness.
 * Which program runs is decided in `../world`.
 */

import { Clock, Context, Duration, Effect, Exit, type Fiber, Logger, Random, References, type Scope } from "effect"
import * as Scheduler from "effect/Scheduler"
import { CurrentRepeatedLines, RepeatedLines } from "../../../src/app/kernel/repeated-lines.ts"
import type { Cancel, Kernel, Owner } from "./kernel.ts"

/** Now, or when a process that is stopped goes on. */
export const whenRunning = (process: SimProcess, act: () => void): void => {
  if (process.state === "running") act()
  else process.hold(act)
}

/** One line of a process's log. */
export interface LogLine {
  readonly level: string
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
}

/**
 * A process with fibers, timers and callbacks of its own, and a clock that may be wrong. It can be paused as by SIGSTOP
 * and killed as by SIGKILL; after a kill nothing of it runs any more, finalizers included.
 */
export class SimProcess implements Owner {
  readonly name: string
  readonly #kernel: Kernel
  #state: Owner["state"] = "running"
  #held: Array<() => void> = []
  #sleeping = 0
  readonly #mourners = new Set<() => void>()
  /** How far the process's clock is ahead of the true time, ms. */
  skew = 0
  /** Whether its clock counts whole ms alone, as a real one does. */
  countsWhole = false
  /** Gives fibers and callbacks of this process their time, randomness and turns. */
  readonly context: Context.Context<never>

  constructor(kernel: Kernel, name: string, log: (line: LogLine) => void) {
    this.#kernel = kernel
    this.name = name
    const random = kernel.random.split(`process ${name}`)
    this.context = Context.empty().pipe(
      Context.add(Clock.Clock, this.#clock()),
      Context.add(Scheduler.Scheduler, this.#scheduler()),
      Context.add(CurrentRepeatedLines, new RepeatedLines()),
      Context.add(Random.Random, {
        nextIntUnsafe: () => random.int(-0x80000000, 0x7fffffff),
        nextDoubleUnsafe: () => random.fraction()
      }),
      Context.add(
        Logger.CurrentLoggers,
        new Set([
          Logger.make(({ fiber, logLevel, message }) => {
            log({
              level: logLevel,
              message: Array.isArray(message) ? message.map(String).join(" ") : String(message),
              details: fiber.getRef(References.CurrentLogAnnotations)
            })
          })
        ])
      )
    ) as Context.Context<never>
  }

  get state(): Owner["state"] {
    return this.#state
  }

  /** Number of the process's fibers that sleep. */
  get sleeping(): number {
    return this.#sleeping
  }

  readonly hold = (run: () => void): void => {
    this.#held.push(run)
  }

  /** As `hold`, before all that is held already: a signal. */
  readonly holdFirst = (run: () => void): void => {
    this.#held.unshift(run)
  }

  pause(): void {
    if (this.#state === "running") this.#state = "paused"
  }

  resume(): void {
    if (this.#state !== "paused") return
    this.#state = "running"
    for (const run of this.#held.splice(0)) this.#kernel.soon(run, this)
  }

  kill(): void {
    if (this.#state === "dead") return
    this.#state = "dead"
    this.#held = []
    for (const mourner of [...this.#mourners]) mourner()
    this.#mourners.clear()
  }

  /** Calls `run` when the process dies, unless the returned function is called before. */
  whenDead(run: () => void): Cancel {
    if (this.#state === "dead") {
      run()
      return () => {}
    }
    this.#mourners.add(run)
    return () => void this.#mourners.delete(run)
  }

  after(ms: number, run: () => void): Cancel {
    return this.#kernel.after(ms, run, this)
  }

  /** The process's own idea of the time, epoch ms. */
  now(): number {
    const exact = this.#kernel.now + this.skew
    return this.countsWhole ? Math.floor(exact) : exact
  }

  /** Runs an effect as this process; `ended` gets its exit, unless the process died. */
  run<A, E>(
    effect: Effect.Effect<A, E, Scope.Scope>,
    ended: (exit: Exit.Exit<A, E>) => void = () => {}
  ): Fiber.Fiber<A, E> {
    const fiber = Effect.runForkWith(this.context)(Effect.scoped(effect))
    fiber.addObserver(ended)
    return fiber
  }

  #clock(): Clock.Clock {
    const millis = (): number => this.now()
    const nanos = (): bigint => BigInt(Math.round(this.now())) * 1_000_000n
    const monotonic = (): bigint => BigInt(Math.round(this.#kernel.now)) * 1_000_000n
    return {
      currentTimeMillisUnsafe: millis,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: monotonic,
      monotonicTimeNanos: Effect.sync(monotonic),
      sleep: (duration) => {
        const ms = Duration.toMillis(duration)
        if (!Number.isFinite(ms)) return Effect.never
        return Effect.callback<void>((resume) => {
          this.#sleeping++
          const cancel = this.after(ms, () => {
            this.#sleeping--
            resume(Effect.void)
          })
          return Effect.sync(() => {
            this.#sleeping--
            cancel()
          })
        })
      }
    }
  }

  #scheduler(): Scheduler.Scheduler {
    const dispatcher: Scheduler.SchedulerDispatcher = {
      scheduleTask: (task) => this.#kernel.soon(task, this),
      flush: () => {}
    }
    return {
      executionMode: "async",
      shouldYield: (fiber) => fiber.currentOpCount >= fiber.cache.maxOpsBeforeYield,
      makeDispatcher: () => dispatcher
    }
  }
}
