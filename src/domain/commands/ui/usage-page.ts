/**
 * The content of the usage page, as data: who used a primary, for what and how much, and how its clusters are. Every
 * text on the page but those of the reader's own estimate is made here; the page only draws it.
 *
 * Not here: the report itself (domain/usage), and reading it (app/commands/ui/read-usage.ts).
 */

import { cleanText, textLimits } from "../../clean-text.ts"
import { spanText } from "../../fleet/credentials/validity.ts"
import type { HealthReport } from "../../usage/health-report.ts"
import type { UsageReport } from "../../usage/usage-report.ts"
import type { UsageTrends } from "../../usage/usage-trends.ts"
import { timeText } from "./fleet-page.ts"
import type { PageCluster } from "./page-cluster.ts"
import { type ActiveUser, activeUsers, type ActivityMeasure } from "./usage-activity.ts"
import { type UsageHealth, usageHealth } from "./usage-health.ts"
import type { UsageCell, UsageRow } from "./usage-tools.ts"
import { type UsageDays, usageDays } from "./usage-trend.ts"

/** The facts in the page's document, before a report is read. */
export interface UsageFrame {
  readonly context: string
  /** Whether the server has the page of the fleet too. */
  readonly hasFleet: boolean
  /** A sentence for when the server does not answer; `undefined` where that is a command. */
  readonly away?: string
  /** Where to log in after the login has ended; `undefined` where no one logs in. */
  readonly logIn?: string
}

/** A value with its name, and what to know about it. */
export interface UsageFigure {
  readonly name: string
  readonly value: string
  readonly note: string
}

export interface UsageColumn {
  readonly name: string
  /** Whether it has numbers, which stand on the right. */
  readonly isNumber: boolean
}

export interface UsageTable {
  readonly columns: ReadonlyArray<UsageColumn>
  readonly rows: ReadonlyArray<UsageRow>
}

/** The clusters with their health now, or why they cannot be shown. */
export interface UsageClusters {
  readonly clusters: ReadonlyArray<PageCluster>
  /** A sentence; empty if there is nothing to say. */
  readonly note: string
}

/** The page's content from one report. */
export interface UsageContent {
  /** When it was read. */
  readonly time: string
  /** Name of the cluster, and the operator's and the chart's version. */
  readonly installation: string
  /** The first and the last day, in words. */
  readonly period: string
  readonly sinceFirst: ReadonlyArray<UsageFigure>
  /** The exact numbers of sessions since the first one, for the estimate. */
  readonly counts: { readonly userSessions: number; readonly ciSessions: number }
  readonly inPeriod: ReadonlyArray<UsageFigure>
  readonly activity: Readonly<Record<ActivityMeasure, ReadonlyArray<ActiveUser>>>
  readonly days: UsageDays
  readonly users: UsageTable
  readonly targets: UsageTable
  readonly userTargets: UsageTable
  readonly clusterSets: UsageTable
  readonly health: UsageHealth
  readonly clusters: UsageClusters
}

/** Everything that the page shows. */
export interface UsagePage {
  /** Why the content is not the present state, and what to do; `undefined` if it is. */
  readonly problem: { readonly message: string; readonly fix: string } | undefined
  /** `undefined` if no report could be read so far. */
  readonly content: UsageContent | undefined
}

/** The findings of a look at the use. */
export interface SeenUsage {
  readonly report: UsageReport
  readonly trends: UsageTrends
  readonly clusters: UsageClusters
  /** Or a sentence why it cannot be shown. */
  readonly health: HealthReport | string
}

const counted = (count: number): string => count.toLocaleString("en-US")

const spans: ReadonlyArray<readonly [string, number]> = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1]
]

/** A long time in the two largest units that it has, such as `1 year 2 months`; a month has 30 days. */
export const longTime = (seconds: number): string => {
  const index = spans.findIndex(([, size]) => seconds >= size)
  if (index < 0) return "0 seconds"
  let rest = seconds
  const words = spans.slice(index, index + 2).flatMap(([name, size]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? [] : [`${count} ${name}${count === 1 ? "" : "s"}`]
  })
  return words.join(" ")
}

const span = (seconds: number): string => spanText(1_000 * seconds)
const name = (text: string): string => cleanText(text, textLimits.name)
const day = (time: string): string => time.slice(0, 10)
const number = (count: number): UsageCell => [counted(count), count]
const time = (seconds: number): UsageCell => [span(seconds), seconds]
const moment = (at: string): string => at.slice(0, 16).replace("T", " ")

const columns = (...names: ReadonlyArray<string>): ReadonlyArray<UsageColumn> =>
  names.map((column) => {
    const isNumber = column.endsWith("#")
    return { name: isNumber ? column.slice(0, -1) : column, isNumber }
  })

/** The RFC's columns; a name that is the machine's own is in a column beside the machine. */
const usersTable = ({ userMetrics }: UsageReport): UsageTable => {
  const hasNames = userMetrics.some(({ displayName, identifier }) => displayName !== identifier)
  return {
    columns: columns(
      "User",
      ...(hasNames ? ["Machine ID"] : []),
      "Active since",
      "Last session",
      "Total time#",
      "Sessions#",
      "Avg duration#"
    ),
    rows: userMetrics.map((user) => [
      name(user.displayName),
      ...(hasNames ? [name(user.identifier)] : []),
      day(user.firstActive),
      moment(user.lastSeen),
      time(user.totalSessionTimeSeconds),
      number(user.totalSessionCount),
      time(user.averageSessionDurationSeconds)
    ])
  }
}

const targetsTable = ({ targetMetrics }: UsageReport): UsageTable => ({
  columns: columns("Target", "Namespace", "Total time#", "Sessions#", "Users#"),
  rows: targetMetrics.map((metric) => [
    name(metric.target),
    name(metric.namespace),
    time(metric.totalSessionTimeSeconds),
    number(metric.totalSessionCount),
    number(metric.uniqueUsers)
  ])
})

const userTargetsTable = ({ userMetrics, userTargetMetrics }: UsageReport): UsageTable => {
  const names = new Map(userMetrics.map(({ displayName, identifier }) => [identifier, displayName]))
  return {
    columns: columns("User", "Target", "Namespace", "Total time#", "Sessions#"),
    rows: userTargetMetrics.map((metric) => [
      name(names.get(metric.identifier) ?? metric.identifier),
      name(metric.target),
      name(metric.namespace),
      time(metric.totalSessionTimeSeconds),
      number(metric.totalSessionCount)
    ])
  }
}

const clusterSetsTable = ({ clusterSetMetrics }: UsageReport): UsageTable => ({
  columns: columns("Clusters", "Total time#", "Sessions#"),
  rows: clusterSetMetrics.map(({ clusters, ...metric }) => [
    clusters.length === 0 ? "one cluster alone" : name(clusters.join(", ")),
    time(metric.totalSessionTimeSeconds),
    number(metric.totalSessionCount)
  ])
})

const sinceFirst = ({ allTimeMetrics, liveMetrics }: UsageReport): ReadonlyArray<UsageFigure> => [
  {
    name: "Running now, people",
    value: counted(liveMetrics.userSessions),
    note: `at most ${counted(allTimeMetrics.maxConcurrentUserSessions)} at a time`
  },
  {
    name: "Running now, CI",
    value: counted(liveMetrics.ciSessions),
    note: `at most ${counted(allTimeMetrics.maxConcurrentCiSessions)} at a time`
  },
  {
    name: "Sessions",
    value: counted(allTimeMetrics.totalSessionCount),
    note: `of people, and ${counted(allTimeMetrics.totalCiSessionCount)} of CI`
  },
  { name: "Session time", value: longTime(allTimeMetrics.totalSessionTimeSeconds), note: "of people, all together" }
]

const inPeriod = ({ ciMetrics, generalMetrics, userMetrics }: UsageReport): ReadonlyArray<UsageFigure> => {
  const sessions = userMetrics.reduce((sum, user) => sum + user.totalSessionCount, 0)
  const seconds = userMetrics.reduce((sum, user) => sum + user.totalSessionTimeSeconds, 0)
  const average = ciMetrics.avgCiSessionDurationSeconds
  return [
    { name: "Active users", value: counted(generalMetrics.activeUsers), note: "who began a session" },
    {
      name: "Sessions of people",
      value: counted(sessions),
      note: sessions === 0 ? "" : `${span(seconds / sessions)} on average`
    },
    { name: "Session time", value: longTime(seconds), note: "of people" },
    {
      name: "Sessions of CI",
      value: counted(ciMetrics.totalCiSessions),
      note: average === null ? "" : `${span(average)} on average`
    },
    { name: "CI runs at a time", value: counted(ciMetrics.maxConcurrentCiSessions), note: "at most" }
  ]
}

const installationOf = ({ generalMetrics }: UsageReport): string => {
  const { chartVersion, clusterName, operatorVersion } = generalMetrics
  return cleanText(
    `${clusterName === null ? "" : `Cluster ${clusterName}, `}operator ${operatorVersion}, chart ${chartVersion}`,
    textLimits.message
  )
}

/** The content for what a look has found. `now`: epoch ms. */
export const usageContent = ({ clusters, health, report, trends }: SeenUsage, now: number): UsageContent => {
  const { allTimeMetrics, generalMetrics } = report
  const days = usageDays(trends, generalMetrics.reportPeriod, now)
  return {
    time: timeText(now),
    installation: installationOf(report),
    period: days.first === days.last ? days.first : `${days.first} to ${days.last}`,
    sinceFirst: sinceFirst(report),
    counts: { userSessions: allTimeMetrics.totalSessionCount, ciSessions: allTimeMetrics.totalCiSessionCount },
    inPeriod: inPeriod(report),
    activity: { time: activeUsers(report.userMetrics, "time"), count: activeUsers(report.userMetrics, "count") },
    days,
    users: usersTable(report),
    targets: targetsTable(report),
    userTargets: userTargetsTable(report),
    clusterSets: clusterSetsTable(report),
    health: usageHealth(health),
    clusters
  }
}
