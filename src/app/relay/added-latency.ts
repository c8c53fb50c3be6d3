/**
 * Measures the time that messages spend in this process. Only some reads are timed: each of the others costs an
 * addition.
 *
 * Not here: the moments between which time is measured (adapters/stream/timed-read.ts).
 */

import { Clock, Effect } from "effect"
import type { FrameHandlers } from "../../ports/frame-channel.ts"
import { durations } from "../kernel/metrics.ts"
import { CurrentRelayCounts } from "../kernel/relay-counts.ts"

/** Of so many reads one is timed: often enough for a few messages a second, too rarely to cost anything. */
const timedOf = 16

type TimeRead = NonNullable<FrameHandlers["timeRead"]>

/** The timing of reads of clients and of members. */
export const timeReads: Effect.Effect<{ readonly client: TimeRead; readonly member: TimeRead }> = Effect.gen(
  function* () {
    const clock = yield* Clock.Clock
    const { untimed } = yield* CurrentRelayCounts
    const context = yield* Effect.context<never>()
    const readsFrom = (from: "client" | "member"): TimeRead => {
      const latency = durations("braid_added_latency_seconds", { from })
      return () => {
        if (++untimed[from] < timedOf) return undefined
        untimed[from] = 0
        const readAt = clock.monotonicTimeNanosUnsafe()
        return () => latency.updateUnsafe(Number(clock.monotonicTimeNanosUnsafe() - readAt) / 1e9, context)
      }
    }
    return { client: readsFrom("client"), member: readsFrom("member") }
  }
)
