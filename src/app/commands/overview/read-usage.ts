/**
 * Reads the reports on use through the API server, with the person's own rights.
 *
 * Not here: the reports (domain/usage).
 */

import { Effect, type Scope } from "effect"
import { makeJsonReader } from "../../../adapters/kubernetes/kube-api-http.ts"
import { usageReportIn } from "../../../domain/commands/overview/usage-table.ts"
import { asObject } from "../../../domain/json.ts"
import { operatorApiRoot } from "../../../domain/resources/operator-api.ts"
import type { HealthReport } from "../../../domain/usage/health-report.ts"
import type { UsageReport } from "../../../domain/usage/usage-report.ts"
import type { UsageTrends } from "../../../domain/usage/usage-trends.ts"
import type { KubeError } from "../../../ports/kube-api.ts"
import type { KubeConfigChoice } from "../user-kube-config.ts"
import { chosenConfig, unanswered, type Unanswered } from "./ask-cluster.ts"

/** A report that a person wants: its parameters, which the operator judges. */
export interface UsageWish {
  readonly from: string | undefined
  readonly to: string | undefined
  /** By what users are told apart, as the report's parameter `primary_key`. */
  readonly by: string
}

export interface UsageReader {
  readonly report: (wish: UsageWish) => Effect.Effect<UsageReport, Unanswered>
  /** Of the clusters, in the period of a wish. */
  readonly health: (wish: UsageWish) => Effect.Effect<HealthReport, Unanswered>
  /** Of so many days, of which today is the last. */
  readonly trends: (days: number) => Effect.Effect<UsageTrends, Unanswered>
}

const refused = (error: KubeError): Unanswered => {
  if (error.reason === "Forbidden")
    return {
      message: `You may not read the reports on use: ${error.detail}.`,
      fix: "Ask for ClusterRole mirrord-operator-usage-reader, or use another context: --context."
    }
  if (error.reason === "NotFound" && error.detail.includes("dashboard.enabled"))
    return {
      message: error.detail,
      fix: "If another cluster is the primary, choose it: --context."
    }
  if (error.code === 400) return { message: error.detail, fix: "braid usage --help lists what there is." }
  return unanswered(error, "reports on use")
}

const another: Unanswered = {
  message: "The operator answers with another report than this program knows.",
  fix: "Use braid of the operator's version: braid version."
}

/** The trends in an answer; `undefined` if the answer is another one. */
const trendsIn = (answer: unknown): UsageTrends | undefined => {
  const { dailyActiveUsers, dailyCiSessions, dailySessions, userAdoption, usersBefore } = asObject(answer)
  return typeof usersBefore === "number" &&
    [dailyActiveUsers, dailyCiSessions, dailySessions, userAdoption].every(Array.isArray)
    ? (answer as UsageTrends)
    : undefined
}

/** The health of clusters in an answer; `undefined` if the answer is another one. */
const healthIn = (answer: unknown): HealthReport | undefined => {
  const { clusters, reportPeriod } = asObject(answer)
  return Array.isArray(clusters) && typeof asObject(reportPeriod)["from"] === "string"
    ? (answer as HealthReport)
    : undefined
}

const periodOf = ({ from, to }: UsageWish): Readonly<Record<string, string>> => ({
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to })
})

/** Reads the reports by `read`, which gets the path below the reports, with its query. */
export const usageReaderBy = (read: (path: string) => Effect.Effect<unknown, Unanswered>): UsageReader => {
  const ask = <A extends object>(
    path: string,
    query: Readonly<Record<string, string>>,
    found: (answer: unknown) => A | undefined
  ): Effect.Effect<A, Unanswered> =>
    Effect.flatMap(read(`${path}?${new URLSearchParams(query).toString()}`), (answer) => {
      const report = found(answer)
      return report === undefined ? Effect.fail(another) : Effect.succeed(report)
    })
  return {
    report: (wish) => ask("usage", { format: "json", primary_key: wish.by, ...periodOf(wish) }, usageReportIn),
    health: (wish) => ask("clusters", { format: "json", ...periodOf(wish) }, healthIn),
    trends: (days) => ask("usage/trends", { days: String(days) }, trendsIn)
  }
}

/** Reads of the chosen cluster until the scope ends. */
export const makeUsageReader = Effect.fnUntraced(function* (
  choice: KubeConfigChoice
): Effect.fn.Return<UsageReader, Unanswered, Scope.Scope> {
  const config = yield* chosenConfig(choice)
  const read = yield* makeJsonReader(config, config.getCurrentContext())
  return usageReaderBy((path) =>
    Effect.mapError(read(`${operatorApiRoot}/mirrordoperators/operator/reports/${path}`), refused)
  )
})
