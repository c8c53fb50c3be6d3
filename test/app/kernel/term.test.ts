import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { elapsedOf, LeaseTerm } from "../../../src/app/kernel/term.ts"
import { defaultLeaseTimes } from "../../../src/domain/leadership/lease-times.ts"
import { it } from "../../support/effect-it.ts"

const make = Effect.map(Clock.Clock, (clock) => {
  const elapsed = elapsedOf(clock)
  return new LeaseTerm(3, elapsed(), defaultLeaseTimes, elapsed)
})

describe("a term", () => {
  it.effect(
    "lasts for the renew deadline after the request that renewed it left, and is certain for the lease's duration",
    function* () {
      const term = yield* make
      yield* TestClock.adjust(9_999)
      assert.isTrue(term.lasts())
      yield* TestClock.adjust(1)
      assert.deepStrictEqual([term.lasts(), term.isCertain()], [false, true])
      yield* TestClock.adjust(5_000)
      assert.deepStrictEqual([term.lasts(), term.isCertain(), term.isOver()], [false, false, false])
      term.renewed(Number((yield* Clock.monotonicTimeNanos) / 1_000_000n))
      assert.deepStrictEqual([term.lasts(), term.isCertain()], [true, true])
    }
  )

  it.effect("is not made longer by an old renewal, and never begins again once it is over", function* () {
    const term = yield* make
    yield* TestClock.adjust(20_000)
    term.renewed(0)
    assert.isFalse(term.lasts())
    term.end()
    term.renewed(20_000)
    assert.deepStrictEqual([term.lasts(), term.isCertain(), term.isOver()], [false, false, true])
    yield* term.over
  })

  it.effect("lets who waits see a late renewal, and not wait for ever", function* () {
    const term = yield* make
    assert.isTrue(yield* term.lastsSoon)
    yield* TestClock.adjust(12_000)
    const patient = yield* Effect.forkChild(term.lastsSoon)
    yield* TestClock.adjust(3_000)
    term.renewed(14_000)
    assert.isTrue(yield* Fiber.join(patient))
    yield* TestClock.adjust(12_000)
    const disappointed = yield* Effect.forkChild(term.lastsSoon)
    yield* TestClock.adjust(5_000)
    assert.isFalse(yield* Fiber.join(disappointed))
    const told = yield* Effect.forkChild(term.lastsSoon)
    yield* TestClock.adjust(1)
    term.end()
    assert.isFalse(yield* Fiber.join(told))
  })
})
