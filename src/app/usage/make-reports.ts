/**
 * Answers the reports on use and on the health of clusters from the store.
 *
 * Not here: which sessions are read as sums (read-usage.ts), and what reports make of them (domain/usage).
 */

import { Clock, Effect, Semaphore } from "effect"
import type { Period } from "../../domain/usage/concurrency.ts"
import {
  clusterHealth,
  type ClusterHealthMetric,
  healthPeriod,
  type HealthReport,
  healthReport,
  healthSheets
} from "../../domain/usage/health-report.ts"
import { type HealthSpan, spanKey } from "../../domain/usage/health-spans.ts"
import {
  type HealthQuery,
  readHealthQuery,
  readTrendDays,
  readUsageQuery,
  type UsageQuery
} from "../../domain/usage/usage-query.ts"
import type { UsageRecord } from "../../domain/usage/usage-record.ts"
import { type Installation, type UsageReport, UsageSums } from "../../domain/usage/usage-report.ts"
import { csvOf, type Sheet, usageSheets } from "../../domain/usage/usage-sheets.ts"
import { TrendSums } from "../../domain/usage/usage-trends.ts"
import type { SpanMark, UsageStore } from "../../ports/usage-store.ts"
import type { ReportAnswer } from "../api/operator-facade.ts"
import { type ApiError, badRequest, internalError } from "../api/status.ts"
import type { UsageReports } from "../services/usage-reports.ts"
import type { OpenStore } from "./follow-sessions.ts"
import { readUsage } from "./read-usage.ts"
import type { UsageKept } from "./usage-keeping.ts"

/** The newest records that the format `debug` shows. */
const shownRecords = 100

const json = (value: object): ReportAnswer => ({ contentType: "application/json", body: JSON.stringify(value) })

interface Answering {
  readonly kept: Pick<UsageKept, "workbook">
  readonly installation: () => Installation
}

const csv = (sheet: Sheet): ReportAnswer => ({ contentType: "text/csv; charset=utf-8", body: csvOf(sheet) })

const workbook = (sheets: ReadonlyArray<Sheet>, { kept }: Answering): Effect.Effect<ReportAnswer> =>
  Effect.map(kept.workbook(sheets), (body) => ({
    contentType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    body
  }))

const answerIn = (
  { format }: UsageQuery,
  report: UsageReport,
  recent: ReadonlyArray<UsageRecord>,
  answering: Answering
): Effect.Effect<ReportAnswer> => {
  const sheets = usageSheets(report)
  switch (format) {
    case "json":
      return Effect.succeed(json(report))
    case "debug":
      return Effect.succeed(json({ ...report, recentRecords: recent }))
    case "csv":
      return Effect.succeed(csv(sheets[1]))
    case "xlsx":
      return workbook(sheets, answering)
  }
}

const usageAnswer = Effect.fnUntraced(function* (store: UsageStore, query: UsageQuery, answering: Answering) {
  const now = yield* Clock.currentTimeMillis
  const sums = new UsageSums(query, now)
  yield* readUsage(store, { cuts: [query.from, query.to].filter((cut) => cut !== undefined), now }, sums)
  const recent = query.format === "debug" ? yield* store.newest(shownRecords) : []
  return yield* answerIn(query, sums.report(answering.installation()), recent, answering)
})

const trendAnswer = Effect.fnUntraced(function* (store: UsageStore, days: number) {
  const now = yield* Clock.currentTimeMillis
  const sums = new TrendSums(days, now)
  yield* readUsage(store, { cuts: [], now }, sums)
  return json(sums.trends())
})

/** Spans that are read at once: a few ms. */
const spansAtOnce = 1_000

/** Gives the spans of a period to `add`, cluster by cluster, those that are followed as they are now. */
const readSpans = Effect.fnUntraced(function* (
  store: UsageStore,
  period: Period,
  followed: ReadonlyArray<HealthSpan>,
  add: (cluster: string, spans: ReadonlyArray<HealthSpan>) => void
) {
  const waiting = new Map<string, Map<string, HealthSpan>>()
  for (const span of followed) {
    const own = waiting.get(span.cluster) ?? new Map<string, HealthSpan>()
    waiting.set(span.cluster, own.set(spanKey(span), span))
  }
  let spans: Array<HealthSpan> = []
  let after: SpanMark | undefined
  const end = Effect.fnUntraced(function* (cluster: string | undefined) {
    if (cluster === undefined) return
    const own = waiting.get(cluster) ?? new Map<string, HealthSpan>()
    waiting.delete(cluster)
    add(cluster, [...spans.filter((span) => !own.has(spanKey(span))), ...own.values()])
    spans = []
    yield* Effect.yieldNow
  })
  for (;;) {
    const page = yield* store.health(period, after, spansAtOnce)
    for (const span of page) {
      if (span.cluster !== after?.cluster) yield* end(after?.cluster)
      spans.push(span)
      after = span
    }
    if (page.length < spansAtOnce) break
    yield* Effect.yieldNow
  }
  yield* end(after?.cluster)
  for (const [cluster, own] of waiting) add(cluster, [...own.values()])
})

/** Messages are relayed between any two clusters: one of years is some hundred kilobytes. */
const healthJson = Effect.fnUntraced(function* ({ clusters, reportPeriod }: HealthReport) {
  const parts: Array<string> = []
  for (const cluster of clusters) {
    parts.push(JSON.stringify(cluster))
    yield* Effect.yieldNow
  }
  const body = `{"reportPeriod":${JSON.stringify(reportPeriod)},"clusters":[${parts.join(",")}]}`
  return { contentType: "application/json", body }
})

const healthAnswer = Effect.fnUntraced(function* (
  store: UsageStore,
  query: HealthQuery,
  open: OpenStore,
  answering: Answering
) {
  const now = yield* Clock.currentTimeMillis
  const followed = open.health()
  const first = Math.min((yield* store.firstHealth) ?? Infinity, ...followed.map(({ from }) => from))
  const period = healthPeriod(query, first === Infinity ? undefined : first, now)
  const fleet = new Set(answering.installation().clusters)
  const metrics: Array<ClusterHealthMetric> = []
  yield* readSpans(store, period, followed, (cluster, spans) => {
    const metric = clusterHealth(cluster, spans, period)
    if (metric.knownMillis > 0 || fleet.has(cluster)) metrics.push(metric)
    fleet.delete(cluster)
  })
  for (const cluster of fleet) metrics.push(clusterHealth(cluster, [], period))
  const report = healthReport(period, metrics)
  switch (query.format) {
    case "json":
      return yield* healthJson(report)
    case "csv":
      return csv(healthSheets(report)[0])
    case "xlsx":
      return yield* workbook(healthSheets(report), answering)
  }
})

/** The store, or why there is none. */
const opened = ({ problem, store }: OpenStore): Effect.Effect<UsageStore, ApiError> => {
  const found = store()
  return found === undefined
    ? Effect.fail(internalError(`The use of sessions cannot be reported: ${problem()}. The operator tries again.`))
    : Effect.succeed(found)
}

/** One report at a time: where sums are missing, each reads many records. */
export const makeReports = Effect.fnUntraced(function* (open: OpenStore, answering: Answering) {
  const turns = yield* Semaphore.make(1)
  const clock = yield* Clock.Clock
  const reports: UsageReports["Service"] = {
    answer: Effect.fnUntraced(
      function* (which, search) {
        const store = yield* opened(open)
        if (which === "trends") {
          const days = yield* Effect.mapError(Effect.fromResult(readTrendDays(search)), badRequest)
          return yield* Effect.mapError(trendAnswer(store, days), ({ message }) => internalError(message))
        }
        const now = yield* Clock.currentTimeMillis
        if (which === "clusters") {
          const query = yield* Effect.mapError(Effect.fromResult(readHealthQuery(search, now)), badRequest)
          const health = healthAnswer(store, query, open, answering)
          return yield* Effect.mapError(health, ({ message }) => internalError(message))
        }
        const query = yield* Effect.mapError(Effect.fromResult(readUsageQuery(search, now)), badRequest)
        return yield* Effect.mapError(usageAnswer(store, query, answering), ({ message }) => internalError(message))
      },
      turns.withPermit,
      Effect.provideService(Clock.Clock, clock)
    )
  }
  return reports
})
