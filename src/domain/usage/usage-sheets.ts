/** The report on use as tables, for spreadsheets. */

import type { UsageReport } from "./usage-report.ts"

type CellValue = string | number | null

/** A table with its head in the first row. */
export interface Sheet {
  readonly name: string
  readonly rows: ReadonlyArray<ReadonlyArray<CellValue>>
}

const general = ({ allTimeMetrics, ciMetrics, generalMetrics, liveMetrics }: UsageReport): Sheet => {
  const { clusters, reportPeriod, ...rest } = generalMetrics
  const parts = { ...rest, ...reportPeriod, clusters: clusters.join(", "), ...liveMetrics }
  const named = (prefix: string, metrics: Readonly<Record<string, CellValue>>) =>
    Object.entries(metrics).map(([name, value]) => [`${prefix}.${name}`, value])
  return {
    name: "General",
    rows: [
      ["Metric", "Value"],
      ...named("general", parts),
      ...named("allTime", { ...allTimeMetrics }),
      ...named("ci", { ...ciMetrics })
    ]
  }
}

const perUser = ({ userMetrics }: UsageReport): Sheet => ({
  name: "Users",
  rows: [
    [
      "identifier",
      "displayName",
      "firstActive",
      "lastSeen",
      "totalSessionCount",
      "totalSessionTimeSeconds",
      "averageDailySessions",
      "averageSessionDurationSeconds"
    ],
    ...userMetrics.map((user) => [
      user.identifier,
      user.displayName,
      user.firstActive,
      user.lastSeen,
      user.totalSessionCount,
      user.totalSessionTimeSeconds,
      user.averageDailySessions,
      user.averageSessionDurationSeconds
    ])
  ]
})

/** The sums, and the users. */
export const usageSheets = (report: UsageReport): readonly [general: Sheet, users: Sheet] => [
  general(report),
  perUser(report)
]

/** Users choose their names, and a spreadsheet takes a text that begins so for a formula. */
const isFormula = (text: string): boolean => /^[=+\-@\t\r]/u.test(text.replace(/^ +/u, ""))

const field = (value: CellValue): string => {
  if (value === null || typeof value === "number") return String(value ?? "")
  // Spreadsheets of many languages begin another cell at a semicolon, and take no heed of quotes around it.
  const text = value
    .split(";")
    .map((part) => (isFormula(part) ? `'${part}` : part))
    .join(";")
  return /[",\r\n]/u.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A table as comma-separated values (RFC 4180). */
export const csvOf = ({ rows }: Sheet): string => rows.map((row) => `${row.map(field).join(",")}\r\n`).join("")
