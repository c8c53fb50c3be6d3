import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { judgeValidity, momentText, spanText } from "../../../../src/domain/fleet/credentials/validity.ts"

const hour = 3_600_000
const day = 24 * hour

describe("validity", () => {
  it.each([
    ["a year, begun today", 0, 365 * day, 0, "Valid"],
    ["a year, 31 days left", 0, 365 * day, 334 * day, "Valid"],
    ["a year, 29 days left", 0, 365 * day, 336 * day, "EndsSoon"],
    ["a day, 5 hours left", 0, day, 19 * hour, "Valid"],
    ["a day, 4 hours left", 0, day, 20 * hour, "EndsSoon"],
    ["without a beginning, 31 days left", undefined, 31 * day, 0, "Valid"],
    ["without a beginning, 29 days left", undefined, 29 * day, 0, "EndsSoon"],
    ["its last millisecond", 0, day, day - 1, "EndsSoon"],
    ["its end", 0, day, day, "Ended"],
    ["before its beginning", 10, day, 9, "NotYet"],
    ["for ever", 0, undefined, 1e15, "Valid"]
  ] as const)("%s", (_, from, until, now, verdict) => expect(judgeValidity({ from, until }, now)).toBe(verdict))

  it("passes through its verdicts in order as time goes by", () => {
    const order = ["NotYet", "Valid", "EndsSoon", "Ended"]
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.array(fc.nat()), (from, length, moments) => {
        const seen = moments
          .toSorted((a, b) => a - b)
          .map((now) => order.indexOf(judgeValidity({ from, until: from + length }, now)))
        expect(seen).toEqual(seen.toSorted((a, b) => a - b))
      })
    )
  })
})

describe("texts of times", () => {
  it.each([
    [-5, "0s"],
    [0, "0s"],
    [999, "0s"],
    [59_999, "59s"],
    [61_000, "1m1s"],
    [600_000, "10m"],
    [2 * hour + 5 * 60_000, "2h5m"],
    [2 * hour + 59_000, "2h"],
    [23 * hour + 59 * 60_000, "23h"],
    [9 * day + 23 * hour, "9d23h"],
    [3649.9 * day, "3649d"]
  ])("%d ms is %s", (span, text) => expect(spanText(span)).toBe(text))

  it("never says more than the span", () => {
    const sizes: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: hour, d: day }
    fc.assert(
      fc.property(fc.nat({ max: 1e13 }), (span) => {
        const said = [...spanText(span).matchAll(/(\d+)([smhd])/gu)].reduce(
          (sum, [, count, unit]) => sum + Number(count) * (sizes[unit ?? ""] ?? Number.NaN),
          0
        )
        expect(said).toBeLessThanOrEqual(span)
        expect(span - said).toBeLessThan(Math.max(1_000, span / 10))
      })
    )
  })

  it("is readable in any time zone, and never throws", () => {
    expect(momentText(Date.UTC(2026, 10, 22, 1, 42, 14))).toBe("2026-11-22 01:42 UTC")
    fc.assert(
      fc.property(fc.double(), (time) => {
        expect(momentText(time)).toMatch(/UTC$|^an unreadable time$/u)
      })
    )
  })
})
