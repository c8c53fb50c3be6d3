/** The content of the usage page, from made-up records. */

import { describe, expect, it } from "vitest"
import { activeUsers } from "../../../../src/domain/commands/ui/usage-activity.ts"
import { longTime } from "../../../../src/domain/commands/ui/usage-page.ts"
import { periodOf, tableView, type UsageRow } from "../../../../src/domain/commands/ui/usage-tools.ts"
import { usageDays } from "../../../../src/domain/commands/ui/usage-trend.ts"
import { now } from "./pages.ts"
import { aUsagePage, hour, use } from "./usages.ts"

const contentOf = (...given: Parameters<typeof aUsagePage>) =>
  aUsagePage(...given).content ?? expect.fail("there is no content")
const values = (figures: ReadonlyArray<{ readonly name: string; readonly value: string; readonly note: string }>) =>
  figures.map(({ name, note, value }) => `${name}: ${value} ${note}`)

describe("the usage page", () => {
  it("has the sums since the first session and those of the period", () => {
    const content = contentOf(undefined, { from: now - 30 * hour })
    expect(values(content.sinceFirst)).toEqual([
      "Running now, people: 1 at most 1 at a time",
      "Running now, CI: 0 at most 1 at a time",
      "Sessions: 3 of people, and 1 of CI",
      "Session time: 9 hours of people, all together"
    ])
    expect(values(content.inPeriod)).toEqual([
      "Active users: 2 who began a session",
      "Sessions of people: 2 4h on average",
      "Session time: 8 hours of people",
      "Sessions of CI: 1 1h on average",
      "CI runs at a time: 1 at most"
    ])
    expect(content.counts).toEqual({ userSessions: 3, ciSessions: 1 })
    expect(content.installation).toBe("Cluster main, operator 1.2.3, chart 1.2.3")
    expect(content.period).toBe("2026-11-28 to 2026-11-29")
  })

  it("has a table of users, targets, both, and sets of clusters", () => {
    const { clusterSets, targets, userTargets, users } = contentOf()
    expect(users.columns.map(({ name }) => name)).toEqual([
      "User",
      "Machine ID",
      "Active since",
      "Last session",
      "Total time",
      "Sessions",
      "Avg duration"
    ])
    const bob = ["bob@laptop", "key-bob", "2026-11-28", "2026-11-28 16:00", ["6h", 21_600], ["1", 1], ["6h", 21_600]]
    expect(users.rows[0]).toEqual(bob)
    expect(targets.rows).toEqual([
      ["deployment/web", "shop", ["3h", 10_800], ["2", 2], ["1", 1]],
      ["deployment/api", "shop", ["6h", 21_600], ["1", 1], ["1", 1]]
    ])
    expect(userTargets.rows[0]?.slice(0, 2)).toEqual(["ann@laptop", "deployment/web"])
    expect(clusterSets.rows.map(([name]) => name).toSorted()).toEqual(["a, b", "a, b, c", "one cluster alone"])
    expect(contentOf(undefined, { primaryKey: "username" }).users.columns[1]?.name).toBe("Active since")
  })

  it("has no characters of others that turn a text round", () => {
    expect(contentOf([use("a\u202Eb", 1)]).users.rows[0]?.[0]).toBe("a\uFFFDb@laptop")
  })

  it.each([
    [0, "0 seconds"],
    [61, "1 minute 1 second"],
    [86_400 * 7, "1 week"],
    [86_400 * 400, "1 year 1 month"],
    [31_536_000 + 60, "1 year"]
  ])("tells %i seconds in the two largest units", (seconds, text) => expect(longTime(seconds)).toBe(text))
})

describe("the most active users", () => {
  const metrics = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      ...{ identifier: `${i}`, displayName: `user ${i}`, firstActive: "", lastSeen: "" },
      ...{ averageDailySessions: 1, averageSessionDurationSeconds: 1 },
      totalSessionCount: count - i,
      totalSessionTimeSeconds: i
    }))

  it("are eight with their shares, and all others", () => {
    const users = activeUsers(metrics(10), "count")
    expect(users.map(({ name }) => name)).toEqual([...Array.from({ length: 8 }, (_, i) => `user ${i}`), "2 others"])
    expect(users[0]).toMatchObject({ amount: "10", share: "18.2 %", length: 100, begin: 0 })
    expect(users.at(-1)).toMatchObject({ amount: "3", share: "5.5 %", length: 0, isOthers: true })
    expect(users.reduce((sum, { size }) => sum + size, 0)).toBeCloseTo(100)
    expect(activeUsers(metrics(10), "time")[0]).toMatchObject({ name: "user 9", amount: "9s" })
  })

  it("have no share of nothing", () => {
    expect(activeUsers(metrics(1), "time")).toMatchObject([{ share: "0.0 %", length: 0, size: 0 }])
    expect(activeUsers([], "time")).toEqual([])
  })
})

describe("the days", () => {
  const trends = {
    dailySessions: [{ date: "2026-11-27", count: 4, totalDurationSeconds: 0 }],
    dailyActiveUsers: [{ date: "2026-11-29", count: 2 }],
    dailyCiSessions: [{ date: "2026-11-20", count: 9 }],
    userAdoption: [{ date: "2026-11-28", newUsers: 2, cumulativeUsers: 5 }],
    usersBefore: 3
  }
  const days = (from: string, to: string) => usageDays(trends, { from, to }, now)

  it("are all of the period, also those on which nothing happened", () => {
    const found = days("2026-11-26T00:00:00Z", "2026-11-30T00:00:00Z")
    expect([found.first, found.last]).toEqual(["2026-11-26", "2026-11-29"])
    expect(found.trends.map(({ summary, values: each }) => [each, summary])).toEqual([
      [[0, 4, 0, 0], "4 in all, at most 4 on 2026-11-27"],
      [[0, 0, 0, 2], "at most 2 on 2026-11-29"],
      [[0, 0, 0, 0], "0 in all, none"],
      [[3, 3, 5, 5], "5 at the end"]
    ])
    expect(found.trends[0]?.path).toBe("M11 100v-100h8V100z")
    const { trends: quiet } = usageDays({ ...trends, userAdoption: [] }, { from: found.first, to: found.last }, now)
    expect(quiet.at(-1)?.values).toEqual([3, 3, 3])
  })

  it("end before the end of the period, and not after today", () => {
    expect(days("2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z")).toMatchObject({ last: "2026-11-20" })
    expect(days("2026-11-20T00:00:00Z", "2027-11-21T00:00:00Z")).toMatchObject({ last: "2026-11-29" })
    expect(days("1970-01-01T00:00:00Z", "2026-11-29T00:00:00Z").trends[0]?.values).toHaveLength(3_650)
  })
})

describe("a table", () => {
  const rows: ReadonlyArray<UsageRow> = Array.from({ length: 45 }, (_, i) => [`user ${i}`, [`${i}h`, i]])
  const look = { words: [], column: 1, isDescending: true, page: 0 }
  const first = (given: Partial<Parameters<typeof tableView>[1]>, all = rows) =>
    tableView(all, { ...look, ...given }).rows[0]?.[0]

  it("is sorted by numbers as numbers and by texts without their case", () => {
    expect(first({})).toBe("user 44")
    expect(first({ column: 0 })).toBe("user 9")
    expect(first({ column: 0, isDescending: false }, [["b"], ["A"]])).toBe("A")
    expect(first({ column: -1, isDescending: false })).toBe("user 0")
  })

  it("has pages of twenty, of which there is always one", () => {
    expect(tableView(rows, { ...look, page: 9 })).toMatchObject({ page: 2, pages: 3, rows: { length: 5 } })
    expect(tableView([], look)).toEqual({ rows: [], found: 0, page: 0, pages: 1 })
  })

  it("has the rows with all words", () => {
    expect(tableView(rows, { ...look, words: ["user", "44h"] })).toMatchObject({ found: 1, rows: [rows[44]] })
  })
})

describe("a period", () => {
  it.each([
    ["month", "2026-03-01", ""],
    ["last-month", "2026-02-01", "2026-02-28"],
    ["7-days", "2026-02-23", ""],
    ["30-days", "2026-01-31", ""],
    ["90-days", "2025-12-02", ""],
    ["year", "2026-01-01", ""],
    ["all", "", ""]
  ] as const)("by the name %s is from %s to %s", (name, from, to) =>
    expect(periodOf(name, Date.UTC(2026, 2, 1, 23, 59))).toEqual({ from, to })
  )
})
