import type { SessionEvent } from "./event-catalogue.ts"
import type { InvolvedObject, Occurrences } from "./event-object.ts"

/**
 * Milliseconds between the first two writes of a series, doubling up to the longest: what flaps is counted, not written
 * each time.
 */
const firstSpacing = 10_000
const longestSpacing = 120_000

/** So often in all an Event is tried to be written, while the API server is there but cannot. */
export const mostTries = 3

/** An Event and its repetitions: of one object, reason and cluster. Times are epoch ms. */
export interface EventSeries extends Occurrences {
  /** Of the Event object. */
  readonly name: string
  readonly about: InvolvedObject
  /** As it happened last. */
  readonly event: SessionEvent
  /** What the API server has; nothing before it was created. */
  readonly written: { readonly count: number; readonly at: number; readonly writes: number } | undefined
  /** Tries in a row that failed. */
  readonly failures: number
}

/** What belongs to one series. */
export const seriesKey = ({ uid }: InvolvedObject, { cluster, reason }: SessionEvent): string =>
  `${uid} ${reason} ${cluster ?? ""}`

/** One occurrence of an Event. `name`: for the Event object, in case that the series is new. */
export type Occurrence = Pick<EventSeries, "name" | "about" | "event">

/** The series with one more occurrence; a new series if there was none. */
export const occurred = (series: EventSeries | undefined, occurrence: Occurrence, now: number): EventSeries =>
  series === undefined
    ? { ...occurrence, count: 1, firstAt: now, lastAt: now, written: undefined, failures: 0 }
    : { ...series, event: occurrence.event, count: series.count + 1, lastAt: now }

/** When the series is to be written, epoch ms; nothing while the API server has all of it. */
export const dueAt = ({ count, lastAt, written }: EventSeries): number | undefined => {
  if (written === undefined) return lastAt
  if (written.count === count) return undefined
  return written.at + Math.min(firstSpacing * 2 ** Math.min(written.writes - 1, 10), longestSpacing)
}

/** After the API server took `count` occurrences. More may have come meanwhile. */
export const wasWritten = (series: EventSeries, count: number, now: number): EventSeries => ({
  ...series,
  written: { count, at: now, writes: (series.written?.writes ?? 0) + 1 },
  failures: 0
})

/** What an API server said to a write. `Later`: it may work another time; `Never`: not in this way. */
export type WriteProblem = "Expired" | "Later" | "Never"

/**
 * After a write failed: the series to go on with, or nothing when it is given up. An Event that expired is created
 * anew.
 */
export const wasRefused = (series: EventSeries, problem: WriteProblem): EventSeries | undefined => {
  const failures = series.failures + 1
  if (problem === "Never" || failures >= mostTries) return undefined
  return { ...series, failures, written: problem === "Expired" ? undefined : series.written }
}
