/**
 * Answers the reports on use from the store.
 *
 * Not here: which sessions are read as sums (read-usage.ts), and what reports make of them (domain/usage).
 */

import { Clock, Effect, Semaphore } from "effect"
import { readTrendDays, readUsageQuery, type UsageQuery } from "../../domain/usage/usage-query.ts"
import type { UsageRecord } from "../../domain/usage/usage-record.ts"
import { type Installation, type UsageReport, UsageSums } from "../../domain/usage/usage-report.ts"
import { csvOf, usageSheets } from "../../domain/usage/usage-sheets.ts"
import { TrendSums } from "../../domain/usage/usage-trends.ts"
import type { UsageStore } from "../../ports/usage-store.ts"
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

const answerIn = (
  { format }: UsageQuery,
  report: UsageReport,
  recent: ReadonlyArray<UsageRecord>,
  { kept }: Answering
): Effect.Effect<ReportAnswer> => {
  const sheets = usageSheets(report)
  switch (format) {
    case "json":
      return Effect.succeed(json(report))
    case "debug":
      return Effect.succeed(json({ ...report, recentRecords: recent }))
    case "csv":
      return Effect.succeed({ contentType: "text/csv; charset=utf-8", body: csvOf(sheets[1]) })
    case "xlsx":
      return Effect.map(kept.workbook(sheets), (body) => ({
        contentType: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        body
      }))
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
        const query = yield* Effect.mapError(Effect.fromResult(readUsageQuery(search, now)), badRequest)
        return yield* Effect.mapError(usageAnswer(store, query, answering), ({ message }) => internalError(message))
      },
      turns.withPermit,
      Effect.provideService(Clock.Clock, clock)
    )
  }
  return reports
})
