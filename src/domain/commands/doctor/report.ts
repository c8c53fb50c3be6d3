/**
 * The report of `braid doctor`, as lines for a person and as JSON for a program, and its exit code.
 *
 * Not here: the findings themselves.
 */

import { cleanText } from "../../clean-text.ts"
import { type Finding, type FindingStatus, verdictOf } from "./finding.ts"

/** The findings of one cluster. */
export interface ClusterReport {
  readonly name: string
  readonly part: "own" | "member"
  readonly isDefault: boolean
  readonly server: string
  readonly findings: ReadonlyArray<Finding>
}

/** The whole report; docs/operating/commands.md describes its JSON. */
export interface DoctorReport {
  /** The version of this program, not of an operator. */
  readonly version: string
  /** Whether the operator itself examined the clusters, or a person with a kubeconfig. */
  readonly seenFrom: "operator" | "kubeconfig"
  /** Findings that concern no single cluster. */
  readonly findings: ReadonlyArray<Finding>
  readonly clusters: ReadonlyArray<ClusterReport>
}

const all = ({ clusters, findings }: DoctorReport): ReadonlyArray<Finding> => [
  ...findings,
  ...clusters.flatMap((cluster) => cluster.findings)
]

/** The exit code: 0 without a failure, even with warnings; 1 with a failure; 2 if no cluster could be examined. */
export const exitCodeOf = (report: DoctorReport): number => {
  if (verdictOf(all(report)) !== "failed") return 0
  return report.clusters.length === 0 ? 2 : 1
}

/** The report for a program. */
export const reportJson = (report: DoctorReport): object => ({
  version: report.version,
  seenFrom: report.seenFrom,
  verdict: verdictOf(all(report)),
  findings: report.findings,
  clusters: report.clusters.map(({ findings, ...cluster }) => ({ ...cluster, verdict: verdictOf(findings), findings }))
})

const marks: Readonly<Record<FindingStatus, string>> = { ok: "ok", warning: "WARN", failed: "FAIL", skipped: "-" }
const widestCheck = "authentication".length
/** Longest message or fix on a line, in UTF-16 code units; the JSON has all of it. */
const maxText = 4_096

/** A server's words must not reach a terminal as they are. */
const printable = (text: string): string => cleanText(text, maxText)

/** One line for each finding, and one for its fix. Of the same fix twice in a row only the last is printed. */
export const findingLines = (findings: ReadonlyArray<Finding>): ReadonlyArray<string> =>
  findings.flatMap(({ check, fix, message, status }, index) => [
    `  ${marks[status].padEnd(4)}  ${check.padEnd(widestCheck)}  ${printable(message)}`,
    ...(fix === undefined || findings[index + 1]?.fix === fix
      ? []
      : [`${" ".repeat(8)}${"fix:".padStart(widestCheck)}  ${printable(fix)}`])
  ])

const count = (number: number, singular: string, plural: string): string =>
  `${number} ${number === 1 ? singular : plural}`

const summary = (report: DoctorReport): string => {
  const failures = all(report).filter(({ status }) => status === "failed").length
  const warnings = all(report).filter(({ status }) => status === "warning").length
  if (failures === 0 && warnings === 0) return `All is well in ${count(report.clusters.length, "cluster", "clusters")}.`
  const parts = [
    ...(failures === 0 ? [] : [count(failures, "failure", "failures")]),
    ...(warnings === 0 ? [] : [count(warnings, "warning", "warnings")])
  ]
  return `${parts.join(", ")} in ${count(report.clusters.length, "cluster", "clusters")}.`
}

/** The report for a person. The summary comes last, where a terminal shows it. */
export const reportLines = (report: DoctorReport): ReadonlyArray<string> => [
  ...findingLines(report.findings),
  ...report.clusters.flatMap(({ findings, isDefault, name, part }) => [
    `${name} (${part === "own" ? "the operator's own cluster" : "member"}${isDefault ? ", default" : ""})`,
    ...findingLines(findings),
    ""
  ]),
  summary(report)
]
