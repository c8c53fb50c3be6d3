/** The report on use as `braid usage` prints it for a person. */

import { spanText } from "../../fleet/credentials/validity.ts"
import { asObject, at } from "../../json.ts"
import { type Estimate, hoursSaved, hoursText, roundedCount } from "../../usage/return-on-investment.ts"
import type { UsageReport } from "../../usage/usage-report.ts"
import { textTable } from "./text-table.ts"

/** The report in an answer; `undefined` if the answer is another one, as of an operator that has another report. */
export const usageReportIn = (answer: unknown): UsageReport | undefined => {
  const { allTimeMetrics, ciMetrics, generalMetrics, liveMetrics, userMetrics } = asObject(answer)
  const areThere = [allTimeMetrics, ciMetrics, liveMetrics].every((part) => typeof part === "object" && part !== null)
  const hasPeriod = typeof at(generalMetrics, "reportPeriod", "from") === "string"
  return areThere && hasPeriod && Array.isArray(userMetrics) ? (answer as UsageReport) : undefined
}

const span = (seconds: number): string => spanText(1_000 * seconds)
const day = (time: string): string => time.slice(0, 10)

const sums = (report: UsageReport, estimate: Estimate): ReadonlyArray<ReadonlyArray<string>> => {
  const { allTimeMetrics, ciMetrics, generalMetrics, liveMetrics } = report
  const { from, to } = generalMetrics.reportPeriod
  const [userSessions, ciSessions] = [allTimeMetrics.totalSessionCount, allTimeMetrics.totalCiSessionCount]
  const saved = hoursSaved({ userSessions, ciSessions }, estimate)
  const shown = [userSessions, ciSessions].map(roundedCount)
  const byEstimate = `${estimate.userMinutes} and ${estimate.ciMinutes} min for each session`
  return [
    ["Period", `${from} to ${to}`],
    ["Users", String(generalMetrics.activeUsers)],
    ["Sessions of CI", `${ciMetrics.totalCiSessions}, at most ${ciMetrics.maxConcurrentCiSessions} at a time`],
    ["Running now", `${liveMetrics.userSessions} of people, ${liveMetrics.ciSessions} of CI`],
    [
      "Since the first",
      `${userSessions} of people in ${span(allTimeMetrics.totalSessionTimeSeconds)}, ${ciSessions} of CI`
    ],
    [
      "At most at a time",
      `${allTimeMetrics.maxConcurrentUserSessions} of people, ${allTimeMetrics.maxConcurrentCiSessions} of CI`
    ],
    ["Time saved", `${hoursText(saved.total)} in about ${shown.join(" and ")} sessions, at ${byEstimate}`]
  ]
}

/** Lines of the sums, and below them the table of users. */
export const usageLines = (report: UsageReport, estimate: Estimate): ReadonlyArray<string> => {
  const users = report.userMetrics.map((user) => [
    user.displayName,
    day(user.firstActive),
    day(user.lastSeen),
    String(user.totalSessionCount),
    span(user.totalSessionTimeSeconds),
    span(user.averageSessionDurationSeconds)
  ])
  return [
    ...textTable(sums(report, estimate)),
    "",
    ...(users.length === 0
      ? ["No user has begun a session in this period."]
      : textTable([["USER", "SINCE", "LAST", "SESSIONS", "TIME", "AVERAGE"], ...users]))
  ]
}
