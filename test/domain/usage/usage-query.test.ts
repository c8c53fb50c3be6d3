import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { readTrendDays, readUsageQuery } from "../../../src/domain/usage/usage-query.ts"

const now = Date.parse("2026-11-29T09:00:00Z")
const query = (text: string) => Result.getOrThrow(readUsageQuery(new URLSearchParams(text), now))
const refusal = (text: string) => Result.merge(readUsageQuery(new URLSearchParams(text), now))

describe("the parameters of a report", () => {
  it("are the whole time and machines, unless they say otherwise", () => {
    expect(query("format=json")).toEqual({
      format: "json",
      primaryKey: "machine_id",
      from: undefined,
      to: undefined
    })
  })

  it("have half-open periods: a date covers its day, and a time without a zone is of UTC", () => {
    expect(query("format=json&from=2026-11-01&to=2026-11-30")).toMatchObject({
      from: Date.parse("2026-11-01T00:00:00Z"),
      to: Date.parse("2026-12-01T00:00:00Z")
    })
    expect(query("format=csv&from=2026-11-01T08:00:00&to=2026-11-01T09:00:00+00:30")).toMatchObject({
      from: Date.parse("2026-11-01T08:00:00Z"),
      to: Date.parse("2026-11-01T08:30:00Z")
    })
  })

  it("may end in the future, and begin there too if they say where they end", () => {
    expect(query("format=json&from=2026-11-30&to=2026-11-30").from).toBe(Date.parse("2026-11-30T00:00:00Z"))
    expect(query("format=json&from=2026-11-29T09:00:00Z").from).toBe(now)
  })

  it.each([
    ["from=2026-11-01", "format: found nothing; it must be one of json, xlsx, csv, debug."],
    ["format=pdf", 'format: found "pdf"; it must be one of json, xlsx, csv, debug.'],
    [
      "format=json&primary_key=name",
      'primary_key: found "name"; it must be one of machine_id, username, client_username, client_hostname.'
    ],
    [
      "format=json&from=2026-02-30",
      'from: found "2026-02-30"; it must be a date or a date with a time, such as 2026-11-01 or 2026-11-01T08:00:00Z.'
    ],
    [
      "format=json&from=2026-11-02&to=2026-11-01T08:00:00Z",
      'from: found "2026-11-02"; it must be before to, which is "2026-11-01T08:00:00Z".'
    ],
    [
      "format=json&to=2026-11-01T24:00:00Z",
      'to: found "2026-11-01T24:00:00Z"; it must be a date or a date with a time, such as 2026-11-01 or ' +
        "2026-11-01T08:00:00Z."
    ],
    [
      "format=json&from=2026-11-30",
      'from: found "2026-11-30"; without to it must not be after now, which is 2026-11-29T09:00:00.000Z.'
    ],
    ["format=json&form=x", '"form" is no parameter of this report; it has format, from, to, primary_key.'],
    ["format=json&format=csv", "format: found twice; give it once."]
  ])("are refused with what is wrong: %s", (text, sentence) => {
    expect(refusal(text)).toBe(sentence)
  })

  it("of trends are days, of which ten years are the most", () => {
    const days = (text: string) => Result.merge(readTrendDays(new URLSearchParams(text)))
    expect([days(""), days("days=7"), days("days=99999")]).toEqual([30, 7, 3_650])
    expect(days("days=-1")).toBe('days: found "-1"; it must be a whole number from 1 to 3650.')
  })
})
