import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { failed, ok, skipped, warning } from "../../../../src/domain/commands/doctor/finding.ts"
import {
  type DoctorReport,
  exitCodeOf,
  reportJson,
  reportLines
} from "../../../../src/domain/commands/doctor/report.ts"

const report: DoctorReport = {
  version: "0.1.0",
  seenFrom: "operator",
  findings: [],
  clusters: [
    { name: "primary", part: "own", isDefault: false, server: "https://p", findings: [ok("reach", "It answers.")] },
    {
      name: "cluster-a",
      part: "member",
      isDefault: true,
      server: "https://a",
      findings: [
        warning("clock", "Late.", "Set it."),
        failed("permissions", "One.", "Upgrade."),
        failed("permissions", "Two.", "Upgrade."),
        skipped("operator", "Not asked.")
      ]
    }
  ]
}

describe("a report", () => {
  it("is read from top to bottom, and a fix that is the same is told once", () => {
    expect(reportLines(report)).toEqual([
      "primary (the operator's own cluster)",
      "  ok    reach           It answers.",
      "",
      "cluster-a (member, default)",
      "  WARN  clock           Late.",
      "                  fix:  Set it.",
      "  FAIL  permissions     One.",
      "  FAIL  permissions     Two.",
      "                  fix:  Upgrade.",
      "  -     operator        Not asked.",
      "",
      "2 failures, 1 warning in 2 clusters."
    ])
  })

  it("is JSON with a verdict per cluster and over all", () => {
    expect(reportJson(report)).toMatchObject({
      version: "0.1.0",
      seenFrom: "operator",
      verdict: "failed",
      clusters: [
        { name: "primary", verdict: "ok" },
        { name: "cluster-a", verdict: "failed" }
      ]
    })
  })

  it("ends with 0 without a failure, 1 with one, 2 without a cluster", () => {
    const [primary, member] = report.clusters
    expect(exitCodeOf(report)).toBe(1)
    expect(exitCodeOf({ ...report, clusters: primary === undefined ? [] : [primary] })).toBe(0)
    expect(
      exitCodeOf({
        ...report,
        clusters: member === undefined ? [] : [{ ...member, findings: [warning("clock", "Late.", "Set it.")] }]
      })
    ).toBe(0)
    expect(exitCodeOf({ ...report, clusters: [], findings: [failed("configuration", "None.", "Give one.")] })).toBe(2)
  })

  it("says so when all is well", () =>
    expect(reportLines({ ...report, clusters: report.clusters.slice(0, 1) }).at(-1)).toBe("All is well in 1 cluster."))

  it("takes control characters off what servers say", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 0x2ff })), (codes) => {
        const text = String.fromCharCode(...codes)
        const lines = reportLines({ ...report, findings: [failed("operator", `It said ${text}`, text)] })
        expect(lines.filter((line) => /\p{Cc}/u.test(line))).toEqual([])
      })
    )
  })
})
