/**
 * When an Event is written: repetitions are counted, and a session that flaps is written ever more rarely.
 *
 * Not here: the writing itself, and its retries (app/kernel/event-recorder.ts).
 */

import type { SessionEvent } from "./event-catalogue.ts"
import type { InvolvedObject, Occurrences } from "./event-object.ts"

/** Time between the first two writes of a series, ms. It doubles with each write. */
const firstSpacing = 10_000
/** Longest time between two writes of a series, ms. */
const maxSpacing = 120_000

/** Most attempts to write an Event while the API server answers with errors. */
export const maxTries = 3

/** An Event with its repetitions: the same object, reason and cluster. Times are epoch ms. */
export interface EventSeries extends Occurrences {
  /** Name of the Event object. */
  readonly name: string
  readonly about: InvolvedObject
  /** The last occurrence. */
  readonly event: SessionEvent
  /** The state at the API server; undefined before the Event object was created. */
  readonly written: { readonly count: number; readonly at: number; readonly writes: number } | undefined
  /** Attempts in a row that failed. */
  readonly failures: number
}

/**
 * The key of a series: Events with the same key belong to the same series. Clusters of a fleet have no UID, and an
 * object that was made again under its name has another one.
 */
export const seriesKey = ({ kind, name, namespace, uid }: InvolvedObject, { cluster, reason }: SessionEvent): string =>
  [kind, namespace, name, uid, reason, cluster].join(" ")

/** One occurrence of an Event. `name`: for the Event object, in case that the series is new. */
export type Occurrence = Pick<EventSeries, "name" | "about" | "event">

/** The series with one more occurrence; a new series if there was none. */
export const occurred = (series: EventSeries | undefined, occurrence: Occurrence, now: number): EventSeries =>
  series === undefined
    ? { ...occurrence, count: 1, firstAt: now, lastAt: now, written: undefined, failures: 0 }
    : { ...series, event: occurrence.event, count: series.count + 1, lastAt: now }

/** When the series is to be written, epoch ms; undefined while the API server has all of it. */
export const dueAt = ({ count, lastAt, written }: EventSeries): number | undefined => {
  if (written === undefined) return lastAt
  if (written.count === count) return undefined
  return written.at + Math.min(firstSpacing * 2 ** Math.min(written.writes - 1, 10), maxSpacing)
}

/** The series after the API server accepted `count` occurrences. More may have come meanwhile. */
export const wasWritten = (series: EventSeries, count: number, now: number): EventSeries => ({
  ...series,
  written: { count, at: now, writes: (series.written?.writes ?? 0) + 1 },
  failures: 0
})

/** How a write failed. `Later`: it may succeed another time. `Never`: it will not succeed in this form. */
export type WriteProblem = "Expired" | "Later" | "Never"

/** The series after a write failed; undefined if the series is given up. An expired Event object is created again. */
export const wasRefused = (series: EventSeries, problem: WriteProblem): EventSeries | undefined => {
  const failures = series.failures + 1
  if (problem === "Never" || failures >= maxTries) return undefined
  return { ...series, failures, written: problem === "Expired" ? undefined : series.written }
}
