/**
 * Makes the sums of days and months that have none, from their records. It lets messages be relayed between any two
 * reads, and sessions be recorded: the store keeps no sums of a span that was written to meanwhile.
 */

import { Effect, Random } from "effect"
import type { Period } from "../../domain/usage/concurrency.ts"
import {
  noneRunning,
  type RunningEnds,
  runningAfter,
  SpanSumming,
  type SpanSums
} from "../../domain/usage/span-sums.ts"
import { daysOf, monthAt } from "../../domain/usage/usage-spans.ts"
import type { UsageStore, UsageStoreError } from "../../ports/usage-store.ts"
import { readRecords } from "./read-usage.ts"

/** Rows of sums that are read at once: about 10 ms. Of a span with more the parts are read. */
const maxPairs = 20_000

const nameOf = ({ from, to }: Period): string => `${from} ${to}`

/** The months in which sessions began. */
const monthsOf = Effect.fnUntraced(function* (store: UsageStore, now: number) {
  const months: Array<Period> = []
  for (let from = Number.MIN_SAFE_INTEGER; ;) {
    const start = yield* store.nextStart(from)
    if (start === undefined || start > now) return months
    const month = monthAt(start)
    months.push(month)
    from = month.to
  }
})

/** One making: which spans have sums, and which are to get them. */
interface Making {
  readonly store: UsageStore
  readonly now: number
  readonly maker: number
  readonly summed: ReadonlySet<string>
  readonly missing: ReadonlySet<string>
}

const storedSums = ({ store, summed }: Making, span: Period): Effect.Effect<SpanSums | undefined, UsageStoreError> =>
  summed.has(nameOf(span)) ? store.sums(span) : Effect.undefined

/** Keeps the sums of a span if they are missing, not too many, and hold for good. */
const keep = ({ maker, missing, store }: Making, span: Period, summing: SpanSumming) =>
  Effect.suspend(() => {
    const sums = summing.sums()
    const isKept = missing.has(nameOf(span)) && !summing.isOpen && sums.pairs.length <= maxPairs
    return isKept ? store.keepSums(span, sums, maker) : Effect.void
  })

const sumsOfDay = Effect.fnUntraced(function* (making: Making, day: Period, running: RunningEnds) {
  const stored = yield* storedSums(making, day)
  if (stored !== undefined) return { sums: stored, isOpen: false }
  const summing = new SpanSumming(day, running)
  yield* readRecords(making.store, day, summing.add)
  yield* keep(making, day, summing)
  return { sums: summing.sums(), isOpen: summing.isOpen }
})

/** Makes what is missing of a month, and gives the sessions that run at its end. */
const makeMonth = Effect.fnUntraced(function* (making: Making, month: Period, before: RunningEnds) {
  const stored = yield* storedSums(making, month)
  if (stored !== undefined) return runningAfter(month, stored, before)
  const whole = new SpanSumming(month, before)
  let running = before
  for (const day of daysOf(month)) {
    if (day.to > making.now) return running
    const { isOpen, sums } = yield* sumsOfDay(making, day, running)
    running = runningAfter(day, sums, running)
    whole.addSums(day, sums, isOpen)
    yield* Effect.yieldNow
  }
  yield* keep(making, month, whole)
  return running
})

/** Makes the sums of all days and months with sessions that are past at `now`, epoch ms, as far as they are missing. */
export const makeSums = Effect.fnUntraced(function* (
  store: UsageStore,
  now: number
): Effect.fn.Return<void, UsageStoreError> {
  const summed = new Set((yield* store.summed).map(nameOf))
  const months = yield* monthsOf(store, now)
  const missing = months
    .filter((month) => !summed.has(nameOf(month)))
    .flatMap((month) => [month, ...daysOf(month)])
    .filter((span) => span.to <= now && !summed.has(nameOf(span)))
  if (missing.length === 0) return
  const maker = yield* Random.nextInt
  // Of all spans before the first record is read: sessions that run from one span into another are in the sums of both.
  yield* store.beginSums(missing, maker)
  const making: Making = { store, now, maker, summed, missing: new Set(missing.map(nameOf)) }
  let running = noneRunning
  for (const month of months) running = yield* makeMonth(making, month, running)
})
