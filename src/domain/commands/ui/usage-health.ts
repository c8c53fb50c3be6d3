/**
 * The health of clusters in a period, for the usage page: a strip of days for each cluster, its outages, and all days
 * as a table.
 *
 * Not here: the report itself (domain/usage/health-report.ts).
 */

import { cleanText, textLimits } from "../../clean-text.ts"
import { spanText } from "../../fleet/credentials/validity.ts"
import type { ClusterHealthMetric, HealthReport } from "../../usage/health-report.ts"
import { dayMillis, dayName, dayNumber } from "../../usage/usage-spans.ts"

/** Width of a day and height of a path. */
const [dayWidth, height] = [10, 100]
/** Height of a whole day: less than the path's, so that a day that was not ready differs by its place too. */
const wholeDay = 75
/** Min height of a time that a cluster was not ready, so that the shortest outage is seen. */
const minHeight = 20
/** Columns of a strip, and cells of all strips, at most: in a longer period a column has several days. */
const [maxColumns, maxCells] = [92, 2_000]

/** A cluster's strip and its figures. */
export interface PageHealth {
  readonly name: string
  /** The strip in a sentence, for people who do not see it. */
  readonly summary: string
  /** Paths of an SVG element: the ready time from below, the other from above, and a mark where nothing is known. */
  readonly ready: string
  readonly notReady: string
  readonly unknown: string
  /** Share of the known time, and the outages. */
  readonly share: string
  readonly outages: string
  /** When the last outage was, and why; empty without any. */
  readonly last: string
}

export interface UsageHealth {
  readonly clusters: ReadonlyArray<PageHealth>
  /** The days of a strip, such as `2026-11-01`, or several days. */
  readonly days: ReadonlyArray<string>
  /** The state of each cluster on each day, by days. */
  readonly states: ReadonlyArray<ReadonlyArray<string>>
  /** Width and height of the paths. */
  readonly box: readonly [width: number, height: number]
  /** Why it cannot be shown, a sentence; empty if there is nothing to say. */
  readonly note: string
}

interface Times {
  readonly ready: number
  readonly notReady: number
  readonly all: number
}

const unknownOf = ({ all, notReady, ready }: Times): number => all - ready - notReady

const stateOf = (times: Times): string => {
  const { all, notReady, ready } = times
  if (ready + notReady === 0) return "unknown"
  if (ready === all) return "ready"
  const unknown = unknownOf(times)
  return [
    notReady === 0 ? "ready" : `not ready ${spanText(notReady)}`,
    ...(unknown === 0 ? [] : [`unknown ${spanText(unknown)}`])
  ].join(", ")
}

const percent = (share: number | null): string =>
  share === null ? "unknown" : `${+(Math.floor(share * 100_000) / 1_000).toFixed(3)} %`

const moment = (at: string): string => at.slice(0, 16).replace("T", " ")

const lastOf = ({ outages: { last } }: ClusterHealthMetric): string => {
  if (last === null) return ""
  const end = last.to === null ? "until now" : `to ${moment(last.to)}`
  return cleanText(`${moment(last.from)} ${end}: ${last.message} (${last.reason})`, textLimits.message)
}

const outagesOf = ({ outages, readyShare }: ClusterHealthMetric): string => {
  const { count, maxMillis, totalMillis } = outages
  if (count === 0) return readyShare === null ? "unknown" : "none"
  return count === 1
    ? `1, ${spanText(totalMillis)}`
    : `${count}, ${spanText(totalMillis)}, longest ${spanText(maxMillis)}`
}

const rect = (index: number, top: number, high: number, gap: number): string =>
  `M${index * dayWidth + gap / 2} ${+top.toFixed(1)}h${dayWidth - gap}v${+high.toFixed(1)}h-${dayWidth - gap}z`

/** The three paths of columns. */
const pathsOf = (columns: ReadonlyArray<Times>): Pick<PageHealth, "ready" | "notReady" | "unknown"> => {
  const gap = dayWidth / 5
  const each = (draw: (times: Times, index: number) => string): string => columns.map(draw).join("")
  return {
    notReady: each(({ all, notReady }, index) =>
      notReady === 0 ? "" : rect(index, 0, Math.max(minHeight, (wholeDay * notReady) / all), gap)
    ),
    ready: each(({ all, ready }, index) => {
      const high = (wholeDay * ready) / all
      return ready === 0 ? "" : rect(index, height - high, high, gap)
    }),
    unknown: each((times, index) => (times.ready + times.notReady === 0 ? rect(index, height / 2 - 4, 8, gap) : ""))
  }
}

/** The days of each column, as numbers: the first day, and the one after the last. */
const columnsOf = (
  from: string,
  to: string,
  clusters: number
): ReadonlyArray<readonly [first: number, end: number]> => {
  const first = dayNumber(Date.parse(from))
  // The period ends before its end.
  const end = Math.max(first, dayNumber(Date.parse(to) - 1)) + 1
  const most = Math.max(1, Math.min(maxColumns, Math.floor(maxCells / Math.max(1, clusters))))
  const size = Math.ceil((end - first) / most)
  return Array.from({ length: Math.ceil((end - first) / size) }, (_, index) => {
    const at = first + index * size
    return [at, Math.min(end, at + size)]
  })
}

/** The parts of a report's period that are in columns. */
const timesIn = (
  { days }: ClusterHealthMetric,
  columns: ReadonlyArray<readonly [first: number, end: number]>,
  period: HealthReport["reportPeriod"]
): ReadonlyArray<Times> => {
  const [from, to] = [Date.parse(period.from), Date.parse(period.to)]
  let next = 0
  return columns.map(([first, end]) => {
    let [ready, notReady] = [0, 0]
    for (; (days[next]?.date ?? "~") < dayName(end); next++) {
      ready += days[next]?.readyMillis ?? 0
      notReady += days[next]?.notReadyMillis ?? 0
    }
    return { ready, notReady, all: Math.max(1, Math.min(to, end * dayMillis) - Math.max(from, first * dayMillis)) }
  })
}

const nameOf = ([first, end]: readonly [first: number, end: number]): string =>
  end - first === 1 ? dayName(first) : `${dayName(first)} to ${dayName(end - 1)}`

/** The health for the page. `report`: or a sentence why there is none. */
export const usageHealth = (report: HealthReport | string): UsageHealth => {
  if (typeof report === "string") return { clusters: [], days: [], states: [], box: [0, height], note: report }
  const { clusters, reportPeriod } = report
  const columns = columnsOf(reportPeriod.from, reportPeriod.to, clusters.length)
  const days = columns.map(nameOf)
  const times = clusters.map((cluster) => timesIn(cluster, columns, reportPeriod))
  const [first, last] = [reportPeriod.from.slice(0, 10), dayName((columns.at(-1)?.[1] ?? 1) - 1)]
  return {
    clusters: clusters.map((cluster, index) => {
      const [name, share, outages] = [
        cleanText(cluster.cluster, textLimits.name),
        percent(cluster.readyShare),
        outagesOf(cluster)
      ]
      return {
        name,
        summary: `${name}, ${first} to ${last}: ready ${share} of the known time, outages: ${outages}`,
        ...pathsOf(times[index] ?? []),
        share,
        outages,
        last: lastOf(cluster)
      }
    }),
    days,
    states: columns.map((_, column) => times.map((own) => stateOf(own[column] ?? { ready: 0, notReady: 0, all: 1 }))),
    box: [columns.length * dayWidth, height],
    note: ""
  }
}
