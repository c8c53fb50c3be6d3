/** Effect programs under virtual time: clocks, pauses, kills. */

import { Clock, Effect, Fiber, Random } from "effect"
import { describe, expect, it } from "vitest"
import { Kernel } from "../../../../lab/simulation/kernel/kernel.ts"
import { type LogLine, SimProcess } from "../../../../lab/simulation/kernel/sim-process.ts"

const make = (seed = "1") => {
  const kernel = new Kernel(seed, 1_000)
  const logs: Array<LogLine> = []
  const process = new SimProcess(kernel, "one", (line) => logs.push(line))
  return { kernel, logs, process }
}

describe("time", () => {
  it("passes only when the kernel runs, and sleepers wake in order", () => {
    const { kernel, process } = make()
    const seen: Array<string> = []
    const sleeper = (name: string, ms: number) =>
      Effect.gen(function* () {
        yield* Effect.sleep(ms)
        seen.push(`${name} ${yield* Clock.currentTimeMillis}`)
      })
    for (const [name, ms] of [
      ["a", 30],
      ["b", 10],
      ["c", 20],
      ["d", 10]
    ] as const)
      process.run(sleeper(name, ms))
    expect(seen).toEqual([])
    kernel.run(1_019)
    expect(seen).toEqual(["b 1010", "d 1010"])
    kernel.run(2_000)
    expect(seen).toEqual(["b 1010", "d 1010", "c 1020", "a 1030"])
    expect(kernel.now).toBe(2_000)
  })

  it("is what the process's own clock says; a jump moves no sleeper", () => {
    const { kernel, process } = make()
    let woke = 0
    process.run(
      Effect.andThen(Effect.sleep(100), () =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          woke = now
        })
      )
    )
    process.skew = -600_000
    kernel.run(1_200)
    expect(woke).toBe(1_100 - 600_000)
  })

  it("time-outs, repetition and interruption work without any promise", () => {
    const { kernel, process } = make()
    const ended: Array<string> = []
    process.run(Effect.timeoutOption(Effect.never, 50), () => ended.push(`timeout ${kernel.now}`))
    let beats = 0
    const fiber = process.run(
      Effect.forever(
        Effect.andThen(
          Effect.sync(() => beats++),
          () => Effect.sleep(10)
        )
      )
    )
    kernel.run(1_055)
    expect(ended).toEqual(["timeout 1050"])
    expect(beats).toBe(6)
    process.run(Fiber.interrupt(fiber))
    kernel.run(2_000)
    expect(beats).toBe(6)
  })

  it("ends with an error where tasks bring about tasks for ever", () => {
    const { kernel } = make()
    const again = (): void => kernel.soon(again)
    again()
    expect(() => kernel.run(2_000)).toThrow("does not come to rest")
  })
})

describe("a paused process", () => {
  it("does nothing, and when resumed all that came due at once, except for what was cancelled", () => {
    const { kernel, process } = make()
    const seen: Array<string> = []
    process.after(10, () => seen.push("first"))
    const cancel = process.after(20, () => seen.push("cancelled"))
    process.run(Effect.andThen(Effect.sleep(15), () => Effect.sync(() => seen.push("fiber"))))
    process.pause()
    kernel.run(1_100)
    expect(seen).toEqual([])
    cancel()
    process.resume()
    kernel.run(1_100)
    expect(seen).toEqual(["first", "fiber"])
  })
})

describe("a killed process", () => {
  it("never runs anything again, finalizers neither; who mourns is told", () => {
    const { kernel, process } = make()
    const seen: Array<string> = []
    process.run(
      Effect.gen(function* () {
        yield* Effect.addFinalizer(() => Effect.sync(() => seen.push("finalizer")))
        yield* Effect.sleep(10)
        seen.push("after the sleep")
      }),
      () => seen.push("ended")
    )
    process.whenDead(() => seen.push("mourned"))
    process.whenDead(() => seen.push("not any more"))()
    process.kill()
    process.kill()
    kernel.run(5_000)
    expect(seen).toEqual(["mourned"])
    process.whenDead(() => seen.push("late"))
    expect(seen).toEqual(["mourned", "late"])
  })
})

describe("what a process draws and logs", () => {
  const run = (seed: string): ReadonlyArray<number> => {
    const { kernel, process } = make(seed)
    const numbers: Array<number> = []
    process.run(
      Effect.map(Effect.all([Random.next, Random.nextInt, Random.nextBetween(1, 2)]), (drawn) => numbers.push(...drawn))
    )
    kernel.run(1_001)
    return numbers
  }

  it("follows from the seed", () => {
    expect(run("1")).toHaveLength(3)
    expect(run("1")).toEqual(run("1"))
    expect(run("1")).not.toEqual(run("2"))
  })

  it("logs with level, message and details", () => {
    const { kernel, logs, process } = make()
    process.run(Effect.logWarning("careful").pipe(Effect.annotateLogs({ session: "s1" })))
    kernel.run(1_001)
    expect(logs).toEqual([{ level: "Warn", message: "careful", details: { session: "s1" } }])
  })
})
