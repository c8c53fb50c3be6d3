/**
 * The spans whose sessions are added up once and for all: days and months of UTC; and which of them a report reads.
 *
 * Not here: the sums themselves (span-sums.ts) and reading them (app/usage).
 */

import type { Period } from "./concurrency.ts"

export const dayMillis = 86_400_000

/** The number of a moment's day, counted from the epoch. Times are epoch ms. */
export const dayNumber = (time: number): number => Math.floor(time / dayMillis)

/** A day's name, such as `2026-11-29`, by its number. */
export const dayName = (day: number): string => new Date(day * dayMillis).toISOString().slice(0, 10)

/** The day of a moment. */
export const dayAt = (time: number): Period => {
  const from = dayNumber(time) * dayMillis
  return { from, to: from + dayMillis }
}

/** The month of a moment. */
export const monthAt = (time: number): Period => {
  const date = new Date(time)
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()]
  // Not `Date.UTC`, which takes years below 100 for others.
  const start = (months: number): number => new Date(0).setUTCFullYear(year, month + months, 1)
  return { from: start(0), to: start(1) }
}

/** The days of a month, in their order. */
export const daysOf = ({ from, to }: Period): ReadonlyArray<Period> =>
  Array.from({ length: (to - from) / dayMillis }, (_, day) => dayAt(from + day * dayMillis))

/** A stretch of time that is read in one way. */
export interface Stretch {
  readonly span: Period
  /** Whether its sums are read, and otherwise its records. */
  readonly isSummed: boolean
}

const always: Period = { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER }

/**
 * How all sessions are read, in the order of their starts. `summed`: the spans that have sums. `cuts`: moments at which
 * a report begins or ends; the records of a span with one inside are read.
 */
export const readingOf = (summed: ReadonlyArray<Period>, cuts: ReadonlyArray<number>): ReadonlyArray<Stretch> => {
  const usable = summed
    .filter(({ from, to }) => !cuts.some((cut) => from < cut && cut < to))
    // Of spans that begin together the longest comes first.
    .toSorted((a, b) => a.from - b.from || b.to - a.to)
  const stretches: Array<Stretch> = []
  let at = always.from
  for (const span of usable) {
    if (span.from < at) continue
    if (span.from > at) stretches.push({ span: { from: at, to: span.from }, isSummed: false })
    stretches.push({ span, isSummed: true })
    at = span.to
  }
  return [...stretches, { span: { from: at, to: always.to }, isSummed: false }]
}
