/**
 * The metrics of the process itself: its version, whether it leads, its relay, its watches, its event loop, its memory.
 */

import { performance } from "node:perf_hooks"
import { Clock, Effect, type Scope } from "effect"
import type { Sample } from "../../domain/metrics/catalogue.ts"
import { CurrentFailingLists } from "../kernel/failing-lists.ts"
import { measure } from "../kernel/metrics.ts"
import { CurrentRelayCounts } from "../kernel/relay-counts.ts"
import { elapsedOf } from "../kernel/term.ts"
import { version } from "../kernel/version.ts"
import { CurrentWatchLags } from "../kernel/watch-lags.ts"
import { eventLoopLag } from "./event-loop-lag.ts"

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
export const measureProcess = Effect.fnUntraced(function* (
  leads: () => boolean
): Effect.fn.Return<void, never, Scope.Scope> {
  const relay = yield* CurrentRelayCounts
  const watches = yield* CurrentWatchLags
  const lists = yield* CurrentFailingLists
  const elapsed = elapsedOf(yield* Clock.Clock)
  const lag = yield* eventLoopLag
  yield* measure(() => [
    { name: "braid_build_info", labels: { version }, value: 1 },
    { name: "braid_leader", labels: {}, value: leads() ? 1 : 0 },
    ...relay.samples(),
    ...watches.samples(elapsed()),
    ...lists.samples(elapsed()),
    ...lag(),
    ...memorySamples()
  ])
})
