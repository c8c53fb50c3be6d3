import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { eventLoopLag } from "../../../src/app/metrics/event-loop-lag.ts"
import type { Sample } from "../../../src/domain/metrics/catalogue.ts"
import { it } from "../../support/effect-it.ts"

const worst = (samples: ReadonlyArray<Sample>): number =>
  samples.find(({ labels }) => "percentile" in labels && labels.percentile === "100")?.value ?? 0

/** Keeps the event loop from everything else for so many ms, and lets it go on then. */
const block = async (millis: number): Promise<void> => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis)
  // The look that is late now comes before the second one at the latest.
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate)
}

describe("the lag of the event loop", () => {
  it.effect("is told alike to scrapers that come together, and forgotten half a minute later", function* () {
    const lag = yield* eventLoopLag
    lag()
    // The first look of a while has none before it, with which it could be compared.
    yield* Effect.promise(() => block(50))
    yield* Effect.promise(() => block(300))
    yield* TestClock.adjust("30 seconds")
    const seen = lag()
    assert.isAbove(worst(seen), 0.2)
    yield* TestClock.adjust("29 seconds")
    assert.deepStrictEqual(lag(), seen)
    yield* TestClock.adjust("1 second")
    assert.notDeepEqual(lag(), seen)
  })
})
