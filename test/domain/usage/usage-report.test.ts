import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Concurrency, type Period } from "../../../src/domain/usage/concurrency.ts"
import type { UsageQuery } from "../../../src/domain/usage/usage-query.ts"
import type { UsageRecord } from "../../../src/domain/usage/usage-record.ts"
import { type UsageReport, UsageSums } from "../../../src/domain/usage/usage-report.ts"
import { TrendSums } from "../../../src/domain/usage/usage-trends.ts"
import { record, someRecords } from "./some-records.ts"

const installation = { operatorVersion: "1.0.0", chartVersion: "1.0.0", clusterName: "main", clusters: ["a", "b"] }
const always: UsageQuery = { format: "json", primaryKey: "machine_id", from: undefined, to: undefined }

const reportOf = (records: ReadonlyArray<UsageRecord>, query: Partial<UsageQuery> = {}, now = 100_000): UsageReport => {
  const sums = new UsageSums({ ...always, ...query }, now)
  records.forEach(sums.add)
  return sums.report(installation)
}

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((all, one) => all + one, 0)

describe("the most sessions at one time", () => {
  it("is what the moments of all starts say", () => {
    const span = fc.record({ from: fc.nat(30), length: fc.nat(12) })
    const window = fc.record({ from: fc.nat(20), length: fc.nat(25) })
    fc.assert(
      fc.property(fc.array(span), window, (spans, { from, length }) => {
        const sorted = spans
          .map((one): Period => ({ from: one.from, to: one.from + one.length }))
          .toSorted((a, b) => a.from - b.from)
        const counted = new Concurrency({ from, to: from + length })
        sorted.forEach(counted.add)
        const runningAt = (time: number): number => sorted.filter((one) => one.from <= time && time < one.to).length
        const moments = Array.from({ length }, (_, at) => runningAt(from + at))
        expect(counted.peak).toBe(Math.max(0, ...moments))
      })
    )
  })

  it("takes an end before a start at the same time", () => {
    const counted = new Concurrency()
    counted.add({ from: 0, to: 5 })
    counted.add({ from: 5, to: 9 })
    expect(counted.peak).toBe(1)
  })
})

describe("the report on use", () => {
  it("counts people apart from machines, and a session in the period in which it began", () => {
    const report = reportOf(
      [
        record({ id: "1", startedAt: 0, stoppedAt: 60_000 }),
        record({ id: "2", kind: "ci", startedAt: 5_000, stoppedAt: 25_000 }),
        record({ id: "3", kind: "ci", startedAt: 10_000 }),
        record({ id: "4", kind: "preview", startedAt: 20_000, stoppedAt: 30_000 }),
        record({ id: "5", startedAt: 20_000, lastSeenAt: 90_000, clusters: ["a", "b"] })
      ],
      { from: 10_000, to: 30_000 }
    )
    expect(report.allTimeMetrics).toEqual({
      totalSessionCount: 2,
      totalSessionTimeSeconds: 140,
      totalCiSessionCount: 3,
      maxConcurrentUserSessions: 2,
      maxConcurrentCiSessions: 3
    })
    expect(report.ciMetrics).toEqual({
      currentRunningSessions: 1,
      maxConcurrentCiSessions: 3,
      totalCiSessions: 2,
      avgCiSessionDurationSeconds: 50
    })
    expect(report.liveMetrics).toEqual({ userSessions: 1, ciSessions: 1 })
    expect(report.generalMetrics).toMatchObject({
      totalLicenses: null,
      tier: "Enterprise",
      operatorVersion: "1.0.0",
      activeUsers: 1,
      reportPeriod: { from: "1970-01-01T00:00:10.000Z", to: "1970-01-01T00:00:30.000Z" },
      lastOperatorEvent: "1970-01-01T00:01:30.000Z"
    })
    expect(report.userMetrics).toEqual([
      {
        identifier: "key-1",
        displayName: "jane@laptop",
        firstActive: "1970-01-01T00:00:00.000Z",
        lastSeen: "1970-01-01T00:01:30.000Z",
        totalSessionCount: 1,
        totalSessionTimeSeconds: 80,
        averageDailySessions: 1,
        averageSessionDurationSeconds: 80
      }
    ])
    expect(report.clusterSetMetrics).toEqual([
      { clusters: ["a", "b"], totalSessionCount: 1, totalSessionTimeSeconds: 80 }
    ])
  })

  it("has no session, no mean and no last event while nothing is recorded", () => {
    const { ciMetrics, generalMetrics, userMetrics } = reportOf([])
    expect(ciMetrics.avgCiSessionDurationSeconds).toBeNull()
    expect(generalMetrics.lastOperatorEvent).toBeNull()
    expect(userMetrics).toEqual([])
  })

  it("adds users up by the key that was asked for", () => {
    const records = [
      record({ id: "1", machineId: "key-1", kubernetesUser: "jane" }),
      record({ id: "2", machineId: "key-2", kubernetesUser: "jane", clientHost: "desktop" })
    ]
    const users = (primaryKey: UsageQuery["primaryKey"]) =>
      reportOf(records, { primaryKey }).userMetrics.map(({ identifier }) => identifier)
    expect(users("machine_id")).toEqual(["key-1", "key-2"])
    expect(users("username")).toEqual(["jane"])
    expect(users("client_hostname")).toEqual(["laptop", "desktop"])
  })

  it("is the same in parts: two periods in a row have the sessions of both", () => {
    fc.assert(
      fc.property(someRecords(50_000), fc.nat(50_000), (records, middle) => {
        const whole = reportOf(records)
        const parts = [reportOf(records, { to: middle }), reportOf(records, { from: middle })]
        const sessions = ({ userMetrics }: UsageReport) => sum(userMetrics.map((user) => user.totalSessionCount))
        expect(sum(parts.map(sessions))).toBe(whole.allTimeMetrics.totalSessionCount)
        expect(sum(parts.map(({ ciMetrics }) => ciMetrics.totalCiSessions))).toBe(
          whole.allTimeMetrics.totalCiSessionCount
        )
        for (const rows of [whole.targetMetrics, whole.userTargetMetrics, whole.clusterSetMetrics])
          expect(sum(rows.map((row) => row.totalSessionCount))).toBe(sessions(whole))
      })
    )
  })
})

describe("the report on trends", () => {
  const day = 86_400_000

  it("has the days on which something happened, and users who were there before", () => {
    const sums = new TrendSums(3, 10 * day)
    const records = [
      record({ id: "1", machineId: "key-1", startedAt: 2 * day, stoppedAt: 2 * day + 1_000 }),
      record({ id: "2", machineId: "key-1", startedAt: 8 * day, stoppedAt: 8 * day + 2_000 }),
      record({ id: "3", machineId: "key-2", startedAt: 10 * day - 1, stoppedAt: 10 * day }),
      record({ id: "4", kind: "ci", startedAt: 10 * day, stoppedAt: 10 * day })
    ]
    records.forEach(sums.add)
    expect(sums.trends()).toEqual({
      dailySessions: [
        { date: "1970-01-09", count: 1, totalDurationSeconds: 2 },
        { date: "1970-01-10", count: 1, totalDurationSeconds: 0 }
      ],
      dailyActiveUsers: [
        { date: "1970-01-09", count: 1 },
        { date: "1970-01-10", count: 1 }
      ],
      dailyCiSessions: [{ date: "1970-01-11", count: 1 }],
      usersBefore: 1,
      userAdoption: [{ date: "1970-01-10", newUsers: 1, cumulativeUsers: 2 }]
    })
  })
})
