import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { ConfigurationArrivals } from "../../../src/app/queues/configuration-arrivals.ts"
import { it } from "../../support/effect-it.ts"

describe("the wait for a configuration", () => {
  it.effect("ends with its arrival, also during the look before it, and after 20 s without", function* () {
    const arrivals = new ConfigurationArrivals()
    let isThere = false
    let looks = 0
    const look = Effect.sync(() => {
      looks++
      const found = isThere
      if (looks === 1) arrivals.came("shop")
      return found
    })
    const waiting = yield* Effect.forkChild(arrivals.until("shop", look, (found) => found))
    yield* TestClock.adjust("5 seconds")
    assert.strictEqual(looks, 2)
    arrivals.came("other")
    isThere = true
    yield* TestClock.adjust("5 seconds")
    assert.strictEqual(looks, 2)
    arrivals.came("shop")
    assert.isTrue(yield* Fiber.join(waiting))
    assert.strictEqual(yield* Clock.currentTimeMillis, 10_000)
    isThere = false
    const late = yield* Effect.forkChild(arrivals.until("shop", look, (found) => found))
    yield* TestClock.adjust("19 seconds")
    assert.isUndefined(late.pollUnsafe())
    yield* TestClock.adjust("1 second")
    assert.isFalse(yield* Fiber.join(late))
  })
})
