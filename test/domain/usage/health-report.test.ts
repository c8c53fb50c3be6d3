import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { healthSheets } from "../../../src/domain/usage/health-report.ts"
import type { HealthSpan } from "../../../src/domain/usage/health-spans.ts"
import { readHealthQuery } from "../../../src/domain/usage/usage-query.ts"
import { reportOf } from "./some-health.ts"

const hour = 3_600_000
const begin = Date.UTC(2026, 10, 25)
const now = begin + 100 * hour

/** A span in hours from the beginning. */
const span = (from: number, to: number, reason = "", more: Partial<HealthSpan> = {}): HealthSpan => ({
  cluster: "a",
  unready: reason === "" ? undefined : { reason, message: `${reason} it is` },
  from: begin + from * hour,
  lastSeen: begin + to * hour,
  to: begin + to * hour,
  ...more
})

const report = (spans: ReadonlyArray<HealthSpan>, from?: number, to?: number) =>
  reportOf(
    spans,
    {
      from: from === undefined ? undefined : begin + from * hour,
      to: to === undefined ? undefined : begin + to * hour
    },
    now
  )
const metricOf = (spans: ReadonlyArray<HealthSpan>, from?: number, to?: number) =>
  report([...spans, span(-100, -99)], from ?? 0, to).clusters[0] ?? expect.fail("no cluster")

const someSpans = fc.array(
  fc.record({
    from: fc.integer({ min: -30, max: 120 }),
    length: fc.integer({ min: 0, max: 40 }),
    isReady: fc.boolean()
  }),
  { maxLength: 12 }
)

describe("the report on the health of clusters", () => {
  it("has each hour of the period once, as the first span with it says", () => {
    fc.assert(
      fc.property(someSpans, fc.nat(50), fc.integer({ min: 1, max: 80 }), (given, from, length) => {
        const spans = given
          .toSorted((a, b) => a.from - b.from)
          .map((one) => span(one.from, one.from + one.length, one.isReady ? "" : "Lost"))
        const metric = metricOf(spans, from, from + length)
        const hours = Array.from({ length: Math.min(100, from + length) - from }, (_, index) => {
          const at = begin + (from + index) * hour
          const found = spans.find((one) => one.from <= at && at < one.lastSeen)
          if (found === undefined) return "unknown"
          return found.unready === undefined ? "ready" : "not ready"
        })
        const count = (state: string, all = hours) => all.filter((each) => each === state).length * hour
        expect(metric).toMatchObject({
          readyMillis: count("ready"),
          notReadyMillis: count("not ready"),
          unknownMillis: count("unknown"),
          knownMillis: count("ready") + count("not ready")
        })
        expect(metric.readyShare === 1).toBe(count("ready") > 0 && count("not ready") === 0)
        expect(metric.readyShare === null).toBe(metric.knownMillis === 0)
        expect(metric.outages.totalMillis).toBe(metric.notReadyMillis)
        for (let day = 0; day < 6; day++) {
          const ofDay = hours.filter((_, index) => Math.floor((from + index) / 24) === day)
          const date = new Date(begin + day * 24 * hour).toISOString().slice(0, 10)
          const times = {
            readyMillis: count("ready", ofDay),
            notReadyMillis: count("not ready", ofDay),
            unknownMillis: count("unknown", ofDay)
          }
          const isKnown = times.readyMillis + times.notReadyMillis > 0
          expect(metric.days.find((one) => one.date === date)).toEqual(isKnown ? { date, ...times } : undefined)
        }
      })
    )
  })

  it("counts an outage once over a restart of the operator, and not over a time that is unknown", () => {
    const minutes = 1 / 60
    const { outages } = metricOf([
      span(0, 1, "Lost"),
      span(1 + 4 * minutes, 2, "RightMissing"),
      span(2, 3),
      span(3, 4, "Lost"),
      span(4 + 6 * minutes, 5, "CredentialsRefused", { to: undefined })
    ])
    expect([outages.count, outages.maxMillis]).toEqual([3, hour + 56 * 60_000])
    expect(outages.last).toEqual({
      from: "2026-11-25T04:06:00.000Z",
      to: null,
      reason: "CredentialsRefused",
      message: "CredentialsRefused it is"
    })
    expect(metricOf([span(0, 1, "Lost"), span(1, 2)]).outages.last?.to).toBe("2026-11-25T01:00:00.000Z")
  })

  it("begins with the first span and ends now, unless it is asked otherwise, and has ten years at most", () => {
    expect(report([span(3, 4), span(90, 100.5)]).reportPeriod).toEqual({
      from: "2026-11-25T03:00:00.000Z",
      to: "2026-11-29T04:00:00.000Z"
    })
    expect(report([span(3, 4)], -1_000_000).reportPeriod.from).toBe("2016-12-02T00:00:00.000Z")
    expect(metricOf([])).toMatchObject({
      readyShare: null,
      knownMillis: 0,
      outages: { count: 0, last: null },
      days: []
    })
  })

  it("is a table of clusters and one of days", () => {
    const [clusters, days] = healthSheets(report([span(0, 3), span(3, 4, "Lost")]))
    expect(clusters.rows[1]).toEqual([
      ...["a", 0.75, 4 * hour, 3 * hour, hour, 96 * hour, 1, hour, hour],
      ...["2026-11-25T03:00:00.000Z", "2026-11-25T04:00:00.000Z", "Lost", "Lost it is"]
    ])
    expect(days.rows[1]).toEqual(["a", "2026-11-25", 3 * hour, hour, 20 * hour])
  })

  it.each([
    ["format=json&from=2026-11-28", { format: "json", from: Date.UTC(2026, 10, 28), to: undefined }],
    ["format=debug", 'format: found "debug"; it must be one of json, xlsx, csv.'],
    ["format=csv&primary_key=username", '"primary_key" is no parameter of this report; it has format, from, to.'],
    ["format=csv&from=2027-01-01", expect.stringContaining("must not be after now")]
  ])("by the parameters %s", (search, expected) => {
    const read = readHealthQuery(new URLSearchParams(search), now)
    expect(read._tag === "Success" ? read.success : read.failure).toEqual(expected)
  })
})
