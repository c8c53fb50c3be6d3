import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { ClusterState } from "../../../../src/domain/fleet/health.ts"
import {
  type ClusterReport,
  readReport,
  reportNews,
  reportText
} from "../../../../src/domain/fleet/sharding/cluster-report.ts"

const time = fc.integer({ min: 0, max: 2_000_000_000_000 })
const text = fc.string()
const lastCheck = fc.record({ askedAt: time, checkedAt: time })
const notEngaged = fc.record({ _tag: fc.constant("NotEngaged" as const), since: time, message: text })
const state: fc.Arbitrary<ClusterState> = fc.oneof(
  fc.record({
    _tag: fc.constant("Connecting" as const),
    reason: fc.oneof(notEngaged, fc.record({ _tag: fc.constant("NotChecked" as const), failedChecks: fc.nat(3) }))
  }),
  fc.record({
    _tag: fc.constant("Connected" as const),
    lastCheck,
    operator: fc.record(
      {
        _tag: fc.constant("Connected" as const),
        operatorVersion: text,
        fingerprint: fc.option(text, { nil: undefined }),
        parametersInHeader: fc.boolean(),
        branchFeatures: fc.array(text)
      },
      { requiredKeys: ["_tag", "operatorVersion", "fingerprint", "parametersInHeader"] }
    ),
    failedChecks: fc.nat(3)
  }),
  fc.record({
    _tag: fc.constant("Lost" as const),
    reason: fc.oneof(
      notEngaged,
      fc.record({ _tag: fc.constant("Refused" as const), since: time, message: text }),
      fc.record({
        _tag: fc.constant("ChecksFailed" as const),
        lastCheck,
        failedChecks: fc.nat(3),
        message: text,
        lacksRight: fc.boolean()
      })
    )
  })
)
const report: fc.Arbitrary<ClusterReport> = fc.record(
  { server: text, state, since: time, isUsable: fc.boolean(), unreadableSince: time },
  { requiredKeys: ["server", "state", "since", "isUsable"] }
)

describe("the report of a cluster", () => {
  it("is read as it was written where clocks agree", () =>
    fc.assert(
      fc.property(report, time, (written, now) => {
        expect(readReport(reportText(written, now), now)).toEqual(written)
      })
    ))

  it("has its times moved to the reader's clock", () => {
    const lost: ClusterReport = {
      server: "https://a",
      state: { _tag: "Lost", reason: { _tag: "NotEngaged", since: 900, message: "no credentials" } },
      since: 900,
      isUsable: false,
      unreadableSince: 950
    }
    expect(readReport(reportText(lost, 1_000), 51_000)).toEqual({
      ...lost,
      state: { _tag: "Lost", reason: { _tag: "NotEngaged", since: 50_900, message: "no credentials" } },
      since: 50_900,
      unreadableSince: 50_950
    })
  })

  it("is nothing for other texts", () => {
    for (const other of ["", "{}", "null", "[1]", '{"at":1}']) expect(readReport(other, 0)).toBeUndefined()
  })

  it("has no news in the time of a check", () => {
    const at = (checkedAt: number): ClusterReport => ({
      server: "https://a",
      state: {
        _tag: "Connected",
        lastCheck: { askedAt: checkedAt, checkedAt },
        operator: { _tag: "Connected", operatorVersion: "1", fingerprint: undefined, parametersInHeader: true },
        failedChecks: 0
      },
      since: 1,
      isUsable: true
    })
    expect(reportNews(at(2))).toBe(reportNews(at(3)))
    expect(reportNews(at(2))).not.toBe(reportNews({ ...at(2), isUsable: false }))
  })
})
