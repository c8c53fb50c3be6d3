import { describe, expect, it } from "vitest"
import { usageLines, usageReportIn } from "../../../../src/domain/commands/overview/usage-table.ts"
import { UsageSums } from "../../../../src/domain/usage/usage-report.ts"
import { record } from "../../usage/some-records.ts"

const minutes = 60_000
const estimate = { userMinutes: 15, ciMinutes: 15 }
const reportOf = (...records: ReadonlyArray<ReturnType<typeof record>>) => {
  const sums = new UsageSums({ format: "json", primaryKey: "machine_id", from: undefined, to: undefined }, 90 * minutes)
  records.forEach(sums.add)
  return sums.report({ operatorVersion: "1", chartVersion: "1", clusterName: null, clusters: [] })
}

describe("the report on use for a person", () => {
  it("has the sums and a line for each user", () => {
    const report = reportOf(
      record({ id: "1", startedAt: 0, stoppedAt: 80 * minutes }),
      record({ id: "2", kind: "ci", startedAt: 5, stoppedAt: 6 }),
      record({ id: "3", startedAt: 60 * minutes, stoppedAt: undefined })
    )
    expect(usageLines(report, estimate)).toEqual(
      [
        "Period             1970-01-01T00:00:00.000Z to 1970-01-01T01:30:00.000Z",
        "Users              1",
        "Sessions of CI     1, at most 1 at a time",
        "Running now        1 of people, 0 of CI",
        "Since the first    2 of people in 1h50m, 1 of CI",
        "At most at a time  2 of people, 1 of CI",
        "Time saved         0.8 h in about 10 and 10 sessions, at 15 and 15 min for each session",
        "",
        "USER          SINCE        LAST         SESSIONS   TIME    AVERAGE",
        "jane@laptop   1970-01-01   1970-01-01   2          1h50m   55m"
      ].map((line) => line.replace(/^(.{17}) {2}/u, "$1   "))
    )
  })

  it("says that there is no user", () => {
    expect(usageLines(reportOf(), estimate).at(-1)).toBe("No user has begun a session in this period.")
  })

  it("knows a report from another answer", () => {
    const report = reportOf()
    expect(usageReportIn(JSON.parse(JSON.stringify(report)))).toEqual(report)
    for (const other of [undefined, {}, { kind: "Status" }, { ...report, userMetrics: {} }])
      expect(usageReportIn(other)).toBeUndefined()
  })
})
