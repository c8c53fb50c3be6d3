import { type Finding, type FindingStatus, verdictOf } from "./finding.ts"

/** What was found in one cluster. */
export interface ClusterReport {
  readonly name: string
  readonly part: "own" | "member"
  readonly isDefault: boolean
  readonly server: string
  readonly findings: ReadonlyArray<Finding>
}

/** What `braid doctor` tells; docs/operations.md describes its JSON. */
export interface DoctorReport {
  /** Of braid, not of an operator. */
  readonly version: string
  /** Whose eyes saw it: those of the operator, or those of a user with a kubeconfig. */
  readonly seenFrom: "operator" | "kubeconfig"
  /** What concerns no single cluster. */
  readonly findings: ReadonlyArray<Finding>
  readonly clusters: ReadonlyArray<ClusterReport>
}

const all = ({ clusters, findings }: DoctorReport): ReadonlyArray<Finding> => [
  ...findings,
  ...clusters.flatMap((cluster) => cluster.findings)
]

/**
 * The code of the process: 0 without a failure, warnings or not; 1 with one; 2 when there was no cluster to look at.
 */
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

/** Control characters of a server's words must not reach a terminal. */
const printable = (text: string): string => text.replaceAll(/\p{Cc}+/gu, " ")

/** A fix that the next finding repeats is told after that one. */
const linesOf = (findings: ReadonlyArray<Finding>): ReadonlyArray<string> =>
  findings.flatMap(({ check, fix, message, status }, index) => [
    `  ${marks[status].padEnd(4)}  ${check.padEnd(widestCheck)}  ${printable(message)}`,
    ...(fix === undefined || findings[index + 1]?.fix === fix
      ? []
      : [`${" ".repeat(8)}${"fix:".padStart(widestCheck)}  ${printable(fix)}`])
  ])

const count = (number: number, one: string, many: string): string => `${number} ${number === 1 ? one : many}`

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

/** The report for a person, worst news last, where a terminal shows them. */
export const reportLines = (report: DoctorReport): ReadonlyArray<string> => [
  ...linesOf(report.findings),
  ...report.clusters.flatMap(({ findings, isDefault, name, part }) => [
    `${name} (${part === "own" ? "the operator's own cluster" : "member"}${isDefault ? ", default" : ""})`,
    ...linesOf(findings),
    ""
  ]),
  summary(report)
]
