/**
 * The report on the health of clusters: how long each was ready, not ready or unknown in a period, in all and on each
 * day of UTC, and its outages.
 *
 * Not here: which spans there are (health-spans.ts), reading them and writing formats (app/usage).
 */

import { timestamp } from "../resources/object-meta.ts"
import type { Period } from "./concurrency.ts"
import type { HealthSpan } from "./health-spans.ts"
import { type HealthQuery, maxTrendDays } from "./usage-query.ts"
import type { Sheet } from "./usage-sheets.ts"
import { dayAt, dayMillis, dayName, dayNumber } from "./usage-spans.ts"

/** Milliseconds; together as long as their period. */
interface HealthTimes {
  readonly readyMillis: number
  readonly notReadyMillis: number
  readonly unknownMillis: number
}

interface Outage {
  readonly from: string
  /** `null` while it goes on. */
  readonly to: string | null
  readonly reason: string
  readonly message: string
}

export interface ClusterHealthMetric extends HealthTimes {
  readonly cluster: string
  /** Share of the known time, from 0 to 1, which is 1 only without any outage; `null` without known time. */
  readonly readyShare: number | null
  readonly knownMillis: number
  readonly outages: {
    readonly count: number
    readonly totalMillis: number
    readonly maxMillis: number
    readonly last: Outage | null
  }
  /** The days of which something is known. */
  readonly days: ReadonlyArray<HealthTimes & { readonly date: string }>
}

/** The answer of `reports/clusters?format=json`. */
export interface HealthReport {
  readonly reportPeriod: { readonly from: string; readonly to: string }
  readonly clusters: ReadonlyArray<ClusterHealthMetric>
}

/** Two outages with no more unknown time between them are one, ms: the operator was started again meanwhile. */
const sameOutageWithin = 300_000

/** The span's part of the period, after the spans before it. */
interface Piece extends Period {
  readonly span: HealthSpan
}

const lengthOf = ({ from, to }: Period): number => to - from
const sum = (values: ReadonlyArray<number>): number => values.reduce((all, value) => all + value, 0)
const isReady = ({ span }: Piece): boolean => span.unready === undefined

/** Two processes may have written of the same time: the earlier span has it. `spans`: of one cluster. */
const piecesOf = (spans: ReadonlyArray<HealthSpan>, period: Period): ReadonlyArray<Piece> => {
  let at = period.from
  return spans
    .toSorted((a, b) => a.from - b.from)
    .flatMap((span) => {
      const piece = { span, from: Math.max(at, span.from), to: Math.min(period.to, span.lastSeen) }
      if (piece.from >= piece.to) return []
      at = piece.to
      return [piece]
    })
}

const timesOf = (pieces: ReadonlyArray<Piece>, period: Period): HealthTimes => {
  let [readyMillis, notReadyMillis] = [0, 0]
  for (const piece of pieces)
    if (isReady(piece)) readyMillis += lengthOf(piece)
    else notReadyMillis += lengthOf(piece)
  return { readyMillis, notReadyMillis, unknownMillis: lengthOf(period) - readyMillis - notReadyMillis }
}

/** The parts of pieces by days. */
const daysOf = (pieces: ReadonlyArray<Piece>, period: Period): ClusterHealthMetric["days"] => {
  const days = new Map<number, Array<Piece>>()
  for (const piece of pieces)
    for (let { from } = piece; from < piece.to;) {
      const to = Math.min(piece.to, dayAt(from).to)
      const day = days.get(dayNumber(from)) ?? []
      days.set(dayNumber(from), day)
      day.push({ span: piece.span, from, to })
      from = to
    }
  return [...days].map(([day, parts]) => {
    const { from, to } = dayAt(day * dayMillis)
    const within = { from: Math.max(from, period.from), to: Math.min(to, period.to) }
    return { date: dayName(day), ...timesOf(parts, within) }
  })
}

/** The outages in their order, each as its pieces. */
const outagesIn = (pieces: ReadonlyArray<Piece>): ReadonlyArray<ReadonlyArray<Piece>> => {
  const outages: Array<Array<Piece>> = []
  let before: Piece | undefined
  for (const piece of pieces) {
    const isSame = before !== undefined && !isReady(before) && piece.from - before.to <= sameOutageWithin
    if (!isReady(piece)) {
      if (isSame) outages.at(-1)?.push(piece)
      else outages.push([piece])
    }
    before = piece
  }
  return outages
}

const outageOf = ([first, ...more]: ReadonlyArray<Piece>): Outage | null => {
  if (first === undefined) return null
  const { to, unready } = (more.at(-1) ?? first).span
  return {
    from: timestamp(first.span.from),
    to: to === undefined ? null : timestamp(to),
    reason: unready?.reason ?? "",
    message: unready?.message ?? ""
  }
}

const outagesOf = (pieces: ReadonlyArray<Piece>): ClusterHealthMetric["outages"] => {
  const outages = outagesIn(pieces)
  const lengths = outages.map((parts) => sum(parts.map(lengthOf)))
  return {
    count: outages.length,
    totalMillis: sum(lengths),
    maxMillis: lengths.reduce((max, length) => Math.max(max, length), 0),
    last: outageOf(outages.at(-1) ?? [])
  }
}

/** Without an outage the share is 1; otherwise it is rounded down, so that it is less. */
const shareOf = ({ notReadyMillis, readyMillis }: HealthTimes): number | null => {
  const known = readyMillis + notReadyMillis
  return known === 0 ? null : Math.floor((readyMillis / known) * 1e6) / 1e6
}

/**
 * The period of a report: it ends now at the latest, and has ten years at most. `first`: where the first span begins,
 * if there is one. `now`: epoch ms.
 */
export const healthPeriod = ({ from, to }: HealthQuery, first: number | undefined, now: number): Period => {
  const end = Math.min(to ?? now, now)
  const begin = from ?? first ?? end
  return { from: Math.min(end, Math.max(begin, (dayNumber(end) - maxTrendDays + 1) * dayMillis)), to: end }
}

/** A cluster in a period. `spans`: those of the cluster in the period, in any order, and others. */
export const clusterHealth = (
  cluster: string,
  spans: ReadonlyArray<HealthSpan>,
  period: Period
): ClusterHealthMetric => {
  const pieces = piecesOf(spans, period)
  const times = timesOf(pieces, period)
  return {
    cluster,
    readyShare: shareOf(times),
    knownMillis: times.readyMillis + times.notReadyMillis,
    ...times,
    outages: outagesOf(pieces),
    days: daysOf(pieces, period)
  }
}

/** The report of these clusters. */
export const healthReport = ({ from, to }: Period, clusters: ReadonlyArray<ClusterHealthMetric>): HealthReport => ({
  reportPeriod: { from: timestamp(from), to: timestamp(to) },
  clusters: clusters.toSorted((a, b) => (a.cluster < b.cluster ? -1 : 1))
})

/** The clusters, and their days. */
export const healthSheets = ({ clusters }: HealthReport): readonly [clusters: Sheet, days: Sheet] => [
  {
    name: "Clusters",
    rows: [
      [
        "cluster",
        "readyShare",
        "knownMillis",
        "readyMillis",
        "notReadyMillis",
        "unknownMillis",
        "outages",
        "outagesTotalMillis",
        "outagesMaxMillis",
        "lastOutageFrom",
        "lastOutageTo",
        "lastOutageReason",
        "lastOutageMessage"
      ],
      ...clusters.map(({ outages: { last, ...outages }, ...metric }) => [
        metric.cluster,
        metric.readyShare,
        metric.knownMillis,
        metric.readyMillis,
        metric.notReadyMillis,
        metric.unknownMillis,
        outages.count,
        outages.totalMillis,
        outages.maxMillis,
        last?.from ?? null,
        last?.to ?? null,
        last?.reason ?? null,
        last?.message ?? null
      ])
    ]
  },
  {
    name: "Days",
    rows: [
      ["cluster", "date", "readyMillis", "notReadyMillis", "unknownMillis"],
      ...clusters.flatMap(({ cluster, days }) =>
        days.map((day) => [cluster, day.date, day.readyMillis, day.notReadyMillis, day.unknownMillis])
      )
    ]
  }
]
