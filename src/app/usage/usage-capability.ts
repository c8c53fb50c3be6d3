/**
 * The record of use, as a capability of an operator that has a place for it: follows its sessions, and makes reports of
 * the records. A primary records the sessions over its clusters, each once, and the sessions of its own cluster.
 */

import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { readTrendDays, readUsageQuery, type UsageQuery } from "../../domain/usage/usage-query.ts"
import type { UsageRecord } from "../../domain/usage/usage-record.ts"
import { type Installation, type UsageReport, UsageSums } from "../../domain/usage/usage-report.ts"
import { csvOf, usageSheets } from "../../domain/usage/usage-sheets.ts"
import { TrendSums } from "../../domain/usage/usage-trends.ts"
import type { PageMark, UsageStore } from "../../ports/usage-store.ts"
import type { ReportAnswer } from "../api/operator-facade.ts"
import { type ApiError, badRequest, internalError } from "../api/status.ts"
import { CurrentSettings } from "../kernel/setting-values.ts"
import { Capabilities, withCapability } from "../services/capability.ts"
import { FleetView } from "../services/fleet-view.ts"
import { OwnCluster } from "../services/own-cluster.ts"
import { Sessions } from "../services/sessions.ts"
import { noUsage, UsageReports } from "../services/usage-reports.ts"
import { followSessions, type OpenStore } from "./follow-sessions.ts"
import { UsageKeeping, type UsageKept } from "./usage-keeping.ts"

const dayMillis = 86_400_000
const mebibyte = 1_048_576
/** Records that are read at once: a few ms, between which messages are relayed. */
const pageSize = 500
/** The newest records that the format `debug` shows. */
const shownRecords = 100

/** Gives all records to `add`, in the order of their starts. */
const readAll = Effect.fnUntraced(function* (store: UsageStore, add: (record: UsageRecord) => void) {
  let after: PageMark | undefined
  for (;;) {
    const page = yield* store.page(after, pageSize)
    page.forEach(add)
    if (page.length < pageSize) return
    after = page.at(-1)
    yield* Effect.yieldNow
  }
})

const json = (value: object): ReportAnswer => ({ contentType: "application/json", body: JSON.stringify(value) })

interface Answering {
  readonly kept: UsageKept
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
  const sums = new UsageSums(query, yield* Clock.currentTimeMillis)
  const recent: Array<UsageRecord> = []
  yield* readAll(store, (record) => {
    sums.add(record)
    recent.push(record)
    if (recent.length > 2 * shownRecords) recent.splice(0, shownRecords)
  })
  return yield* answerIn(query, sums.report(answering.installation()), recent.slice(-shownRecords), answering)
})

const trendAnswer = Effect.fnUntraced(function* (store: UsageStore, days: number) {
  const sums = new TrendSums(days, yield* Clock.currentTimeMillis)
  yield* readAll(store, sums.add)
  return json(sums.trends())
})

/** The store, or why there is none. */
const opened = ({ problem, store }: OpenStore): Effect.Effect<UsageStore, ApiError> => {
  const found = store()
  return found === undefined
    ? Effect.fail(internalError(`The use of sessions cannot be reported: ${problem()}. The operator tries again.`))
    : Effect.succeed(found)
}

/** One report at a time: each reads the whole store. */
const makeReports = Effect.fnUntraced(function* (open: OpenStore, answering: Answering) {
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

/** The record of use, if it is switched on. */
export const usageLayer = Layer.effectContext(
  Effect.gen(function* () {
    const capability = yield* withCapability({})
    const { kept } = yield* UsageKeeping
    if (kept === undefined) return Context.add(capability, UsageReports, noUsage)
    const { fleet } = yield* OwnCluster
    const { clusters } = yield* FleetView
    const { usageMaxMebibytes, usageRetentionDays } = yield* CurrentSettings
    const earlier = yield* Capabilities
    const open = yield* followSessions(
      {
        open: kept.open,
        sessions: yield* Sessions,
        limits: (now) => ({
          before: now - usageRetentionDays * dayMillis,
          maxBytes: usageMaxMebibytes * mebibyte
        })
      },
      Effect.forEach(earlier, ({ started = Effect.void }) => started, { discard: true })
    )
    const installation = () => ({
      operatorVersion: kept.version,
      chartVersion: kept.version,
      clusterName: fleet?.clusterName ?? null,
      clusters: clusters().map(({ name }) => name)
    })
    return Context.add(capability, UsageReports, yield* makeReports(open, { kept, installation }))
  })
)
