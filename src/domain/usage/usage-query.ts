/**
 * The parameters of the reports on use. Each refusal names the parameter, what was found and what would be right.
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { dayMillis } from "./usage-spans.ts"

export const reportFormats = ["json", "xlsx", "csv", "debug"] as const
export type ReportFormat = (typeof reportFormats)[number]

/** The keys by which sessions are added up to users. */
export const primaryKeys = ["machine_id", "username", "client_username", "client_hostname"] as const
export type PrimaryKey = (typeof primaryKeys)[number]

/** A report that is asked for. */
export interface UsageQuery {
  readonly format: ReportFormat
  readonly primaryKey: PrimaryKey
  /** Epoch ms; `undefined`: since the first session. */
  readonly from: number | undefined
  /** Epoch ms, not in the period itself; `undefined`: up to now. */
  readonly to: number | undefined
}

const healthFormats = ["json", "xlsx", "csv"] as const

/** A report on the health of clusters that is asked for; its period is as in {@link UsageQuery}. */
export interface HealthQuery extends Pick<UsageQuery, "from" | "to"> {
  readonly format: (typeof healthFormats)[number]
}

type Read<A> = Result.Result<A, string>

const bareDate = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/u
/** Not `24:00:00`, which `Date` would move to the next day. */
const dateTime =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})?$/u

/** Epoch ms; `undefined` for a day that does not exist, which `Date` would move to another one. */
const timeIn = (text: string): number | undefined => {
  const zoned = bareDate.test(text) || /([Zz]|[+-][0-9]{2}:[0-9]{2})$/u.test(text) ? text : `${text}Z`
  const day = Date.parse(`${text.slice(0, 10)}T00:00:00Z`)
  const time = Date.parse(zoned.toUpperCase().replace(" ", "T"))
  const isReal = !Number.isNaN(day) && new Date(day).toISOString().startsWith(text.slice(0, 10))
  return isReal && !Number.isNaN(time) ? time : undefined
}

const readTime = (name: string, text: string | null, bareDay: number): Read<number | undefined> => {
  if (text === null || text === "") return Result.succeed(undefined)
  // A plus sign of a URL is a blank.
  const whole = /[0-9] [0-9]{2}:[0-9]{2}$/u.test(text) ? text.replace(/ ([0-9]{2}:[0-9]{2})$/u, "+$1") : text
  const time = bareDate.test(whole) || dateTime.test(whole) ? timeIn(whole) : undefined
  if (time === undefined)
    return Result.fail(
      `${name}: found ${quoted(text)}; it must be a date or a date with a time, such as 2026-11-01 or ` +
        "2026-11-01T08:00:00Z."
    )
  return Result.succeed(bareDate.test(whole) ? time + bareDay : time)
}

const readWord = <Word extends string>(
  name: string,
  text: string | null,
  words: ReadonlyArray<Word>,
  otherwise: Word | undefined
): Read<Word> => {
  const word = text === null || text === "" ? otherwise : words.find((one) => one === text)
  if (word !== undefined) return Result.succeed(word)
  const found = text === null || text === "" ? "nothing" : quoted(text)
  return Result.fail(`${name}: found ${found}; it must be one of ${words.join(", ")}.`)
}

const knowsOnly = (search: URLSearchParams, names: ReadonlyArray<string>): Read<undefined> => {
  // API servers may add a `timeout`.
  const other = [...search.keys()].find((name) => name !== "timeout" && !names.includes(name))
  if (other !== undefined)
    return Result.fail(`${quoted(other)} is no parameter of this report; it has ${names.join(", ")}.`)
  const twice = names.find((name) => search.getAll(name).length > 1)
  return twice === undefined ? Result.succeed(undefined) : Result.fail(`${twice}: found twice; give it once.`)
}

const inOrder = <Query extends Pick<UsageQuery, "from" | "to">>(
  query: Query,
  search: URLSearchParams,
  now: number
): Read<Query> => {
  const { from, to } = query
  if (from === undefined || (to === undefined ? from <= now : from < to)) return Result.succeed(query)
  const found = `from: found ${quoted(search.get("from") ?? "")}`
  return Result.fail(
    to === undefined
      ? `${found}; without to it must not be after now, which is ${new Date(now).toISOString()}.`
      : `${found}; it must be before to, which is ${quoted(search.get("to") ?? "")}.`
  )
}

/**
 * The parameters of the report on use. A date without a time is the whole day, and a time without a zone is of UTC.
 * `now`: epoch ms, where a period without an end ends.
 */
export const readUsageQuery = (search: URLSearchParams, now: number): Read<UsageQuery> =>
  knowsOnly(search, ["format", "from", "to", "primary_key"]).pipe(
    Result.flatMap(() =>
      Result.all({
        format: readWord("format", search.get("format"), reportFormats, undefined),
        from: readTime("from", search.get("from"), 0),
        to: readTime("to", search.get("to"), dayMillis),
        primaryKey: readWord("primary_key", search.get("primary_key"), primaryKeys, "machine_id")
      })
    ),
    Result.flatMap((query) => inOrder(query, search, now))
  )

/** The parameters of the report on the health of clusters, which are read as those of the report on use. */
export const readHealthQuery = (search: URLSearchParams, now: number): Read<HealthQuery> =>
  knowsOnly(search, ["format", "from", "to"]).pipe(
    Result.flatMap(() =>
      Result.all({
        format: readWord("format", search.get("format"), healthFormats, undefined),
        from: readTime("from", search.get("from"), 0),
        to: readTime("to", search.get("to"), dayMillis)
      })
    ),
    Result.flatMap((query) => inOrder(query, search, now))
  )

/** Days of a report on trends, by default and at most. */
const trendDays = { default: 30, max: 3_650 }
export const maxTrendDays = trendDays.max

/** The parameter of the report on trends: for how many days, ending today. */
export const readTrendDays = (search: URLSearchParams): Read<number> =>
  Result.flatMap(knowsOnly(search, ["days"]), () => {
    const text = search.get("days") ?? ""
    if (text === "") return Result.succeed(trendDays.default)
    const days = /^[0-9]{1,9}$/u.test(text) ? Number(text) : 0
    return days >= 1
      ? Result.succeed(Math.min(days, trendDays.max))
      : Result.fail(`days: found ${quoted(text)}; it must be a whole number from 1 to ${trendDays.max}.`)
  })
