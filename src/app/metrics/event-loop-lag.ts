/**
 * Measures how late the event loop is. Scrapers that come together get the same value: none takes a lag from another.
 */

import { monitorEventLoopDelay } from "node:perf_hooks"
import { Clock, Effect, type Scope } from "effect"
import type { Sample } from "../../domain/metrics/catalogue.ts"

/** How often the event loop is looked at, in ms. A look that comes this late is no lag, so it is subtracted. */
const lookEvery = 20
/** The min time that a value covers, in ms. */
const shortest = 30_000

const nanosecond = 1e-9

const samplesOf = (delay: ReturnType<typeof monitorEventLoopDelay>): ReadonlyArray<Sample> => {
  // Without a look since the last reset all values are 0.
  const lag = (nanoseconds: number): number =>
    Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds * nanosecond - lookEvery / 1000) : 0
  const percentiles = { "50": delay.percentile(50), "99": delay.percentile(99), "100": delay.max }
  return Object.entries(percentiles).map(([percentile, value]) => ({
    name: "braid_event_loop_lag_seconds",
    labels: { percentile },
    value: lag(value)
  }))
}

/** The lag of the last while; it ends with the first scrape that comes late enough. */
export const eventLoopLag: Effect.Effect<() => ReadonlyArray<Sample>, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const delay = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const looking = monitorEventLoopDelay({ resolution: lookEvery })
      looking.enable()
      return looking
    }),
    (looking) => Effect.sync(() => looking.disable())
  )
  let last: { readonly at: number; readonly samples: ReadonlyArray<Sample> } | undefined
  return () => {
    const at = clock.currentTimeMillisUnsafe()
    if (last === undefined || at >= last.at + shortest) {
      last = { at, samples: samplesOf(delay) }
      delay.reset()
    }
    return last.samples
  }
})
