import { Clock, Effect } from "effect"
import { describe, expect, it } from "vitest"
import { steadyClock } from "../../../src/app/kernel/steady-clock.ts"

describe("the steady clock", () => {
  it("goes on from the host's time when it was made, whatever the host's clock is set to", async () => {
    const host = await Effect.runPromise(Clock.Clock)
    let wall = 1_700_000_000_000_000_000n
    let elapsed = 5_000_000_000n
    const clock = steadyClock({
      ...host,
      currentTimeNanosUnsafe: () => wall,
      monotonicTimeNanosUnsafe: () => elapsed
    })
    expect(clock.currentTimeMillisUnsafe()).toBe(1_700_000_000_000)
    elapsed += 2_500_000_000n
    // Set back by an hour.
    wall -= 3_600_000_000_000n
    expect(clock.currentTimeMillisUnsafe()).toBe(1_700_000_002_500)
    expect(clock.currentTimeNanosUnsafe()).toBe(1_700_000_002_500_000_000n)
    expect(await Effect.runPromise(Effect.all([clock.currentTimeMillis, clock.currentTimeNanos]))).toEqual([
      1_700_000_002_500,
      1_700_000_002_500_000_000n
    ])
  })
})
