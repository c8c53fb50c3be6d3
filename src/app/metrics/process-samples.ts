/** The metrics of the process itself: its version, whether it leads, its relay, its event loop, its memory. */

import { monitorEventLoopDelay, performance } from "node:perf_hooks"
import { Effect, type Scope } from "effect"
import type { Sample } from "../../domain/metrics/catalogue.ts"
import { measure } from "../kernel/metrics.ts"
import { CurrentRelayCounts } from "../kernel/relay-counts.ts"
import { version } from "../kernel/version.ts"

/** How often the event loop is looked at, in ms. A look that comes this late is no lag, so it is subtracted. */
const lookEvery = 20

const nanosecond = 1e-9

const lagSamples = (delay: ReturnType<typeof monitorEventLoopDelay>): ReadonlyArray<Sample> => {
  const lag = (nanoseconds: number): number =>
    Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds * nanosecond - lookEvery / 1000) : 0
  const quantiles = { "0.5": delay.percentile(50), "0.99": delay.percentile(99), "1": delay.max }
  // Without a look since the last scrape all values are 0.
  const samples = Object.entries(quantiles).map(([quantile, value]): Sample => ({
    name: "braid_event_loop_lag_seconds",
    labels: { quantile },
    value: lag(value)
  }))
  delay.reset()
  return samples
}

const memorySamples = (): ReadonlyArray<Sample> => {
  const { external, heapUsed, rss } = process.memoryUsage()
  const { system, user } = process.cpuUsage()
  return [
    { name: "process_resident_memory_bytes", labels: {}, value: rss },
    { name: "process_cpu_seconds_total", labels: {}, value: (system + user) / 1e6 },
    { name: "process_start_time_seconds", labels: {}, value: performance.timeOrigin / 1000 },
    { name: "nodejs_heap_size_used_bytes", labels: {}, value: heapUsed },
    { name: "nodejs_external_memory_bytes", labels: {}, value: external }
  ]
}

/** Measures the process for as long as the scope lives. `leads`: whether this replica leads now. */
export const measureProcess = (leads: () => boolean): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const relay = yield* CurrentRelayCounts
    const delay = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const looking = monitorEventLoopDelay({ resolution: lookEvery })
        looking.enable()
        return looking
      }),
      (looking) => Effect.sync(() => looking.disable())
    )
    yield* measure(() => [
      { name: "braid_build_info", labels: { version }, value: 1 },
      { name: "braid_leader", labels: {}, value: leads() ? 1 : 0 },
      ...relay.samples(),
      ...lagSamples(delay),
      ...memorySamples()
    ])
  })
