import { describe, expect, it } from "vitest"
import { usageHealth } from "../../../../src/domain/commands/ui/usage-health.ts"
import { someHealth } from "./usages.ts"

const names = (count: number) => ["a", ...Array.from({ length: count - 1 }, (_, index) => `b${index}`)]

/** The same report over so many days, of which the last three have something. */
const longReport = (days: number, clusters: number) => {
  const { clusters: metrics, reportPeriod } = someHealth(names(clusters))
  const from = new Date(Date.UTC(2026, 10, 30 - days)).toISOString()
  return { clusters: metrics, reportPeriod: { ...reportPeriod, from } }
}

describe("the health of clusters on the page", () => {
  it("is a strip of days and the outages of each cluster", () => {
    const { box, clusters, days, states } = usageHealth(someHealth())
    expect(days).toEqual(["2026-11-27", "2026-11-28", "2026-11-29"])
    expect(box).toEqual([30, 100])
    expect(clusters.map(({ last, outages, share }) => [share, outages, last])).toEqual([
      ["100 %", "none", ""],
      ["98.85 %", "2, 40m, longest 30m", "2026-11-29 11:30 until now: it does not answer (Lost)"]
    ])
    expect(states[1]).toEqual(["ready", "not ready 10m"])
    // An outage of minutes is seen, and no bar of one kind has the place of the other's.
    expect(clusters[1]?.notReady).toBe("M11 0h8v20h-8zM21 0h8v20h-8z")
    expect(clusters[1]?.ready).toBe("M1 31.3h8v68.8h-8zM11 25.5h8v74.5h-8zM21 28.1h8v71.9h-8z")
  })

  it("says unknown where nothing is known, and marks it", () => {
    const report = longReport(5, 1)
    const { clusters, states } = usageHealth(report)
    expect(states.map(([state]) => state)).toEqual(["unknown", "unknown", "ready, unknown 2h", "ready", "ready"])
    expect(clusters[0]?.unknown).toBe("M1 46h8v8h-8zM11 46h8v8h-8z")
    const [metric] = report.clusters
    const none = { count: 0, totalMillis: 0, maxMillis: 0, last: null }
    const empty = { ...(metric ?? expect.fail("no cluster")), readyShare: null, outages: none, days: [] }
    expect(usageHealth({ ...report, clusters: [empty] }).clusters[0]).toMatchObject({
      share: "unknown",
      outages: "unknown",
      ready: ""
    })
  })

  it.each([
    [92, 1, 92, "2026-11-29"],
    [93, 1, 47, "2026-11-29"],
    [3_650, 1, 92, "2026-11-20 to 2026-11-29"],
    [92, 100, 19, "2026-11-28 to 2026-11-29"]
  ])("has few columns of %i days for %i clusters: %i", (count, clusters, columns, last) => {
    const { days, states } = usageHealth(longReport(count, clusters))
    expect([days.length, states.length, days.at(-1)]).toEqual([columns, columns, last])
  })

  it("has no characters of others that turn a text round", () => {
    expect(usageHealth(someHealth(["a\u202Eb"])).clusters[0]?.name).toBe("a\uFFFDb")
  })
})
