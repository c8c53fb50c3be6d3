/**
 * Reads all sessions for a report, in the order of their starts: of spans that have sums the sums, otherwise records.
 * Messages are relayed between any two reads.
 */

import { Effect } from "effect"
import type { Period } from "../../domain/usage/concurrency.ts"
import type { SpanSums } from "../../domain/usage/span-sums.ts"
import type { UsageRecord } from "../../domain/usage/usage-record.ts"
import { readingOf } from "../../domain/usage/usage-spans.ts"
import type { PageMark, UsageStore } from "../../ports/usage-store.ts"

/** Records that are read at once: a few ms. */
const pageSize = 500

/** Gives the records that began in a span to `add`, in the order of their starts. */
export const readRecords = Effect.fnUntraced(function* (
  store: UsageStore,
  span: Period,
  add: (record: UsageRecord) => void
) {
  let after: PageMark | undefined
  for (;;) {
    const page = yield* store.page(span, after, pageSize)
    page.forEach(add)
    if (page.length < pageSize) return
    after = page.at(-1)
    yield* Effect.yieldNow
  }
})

/** A report that takes sessions. */
interface Summing {
  readonly add: (record: UsageRecord) => void
  readonly addSums: (span: Period, sums: SpanSums) => void
}

/** Where a report begins and ends, as far as it does not have all sessions, and its time now. */
interface ReadingBounds {
  readonly cuts: ReadonlyArray<number>
  readonly now: number
}

/** Gives all sessions to `summing`. */
export const readUsage = Effect.fnUntraced(function* (
  store: UsageStore,
  { cuts, now }: ReadingBounds,
  summing: Summing
) {
  // The clock may have gone back since the sums were made.
  const summed = (yield* store.summed).filter(({ to }) => to <= now)
  for (const { isSummed, span } of readingOf(summed, cuts)) {
    const sums = isSummed ? yield* store.sums(span) : undefined
    if (sums === undefined) yield* readRecords(store, span, summing.add)
    else summing.addSums(span, sums)
    yield* Effect.yieldNow
  }
})
