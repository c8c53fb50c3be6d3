/** The trends of a period day by day, as charts: each is one path, so that ten years draw as quickly as a week. */

import { maxTrendDays } from "../../usage/usage-query.ts"
import { dayMillis, dayName, dayNumber } from "../../usage/usage-spans.ts"
import type { UsageTrends } from "../../usage/usage-trends.ts"

/** Width of a day and height of the highest value in a path. */
const [dayWidth, height] = [10, 100]
/** Min height of a day on which something happened. */
const minHeight = 1.5

/** A chart over the days of a period. */
export interface UsageTrend {
  readonly name: string
  /** The chart in a sentence, for who does not see it. */
  readonly summary: string
  /** A value for each day. */
  readonly values: ReadonlyArray<number>
  readonly max: number
  /** The bars as the path of an SVG element; empty without any. */
  readonly path: string
  /** Width and height of the path. */
  readonly box: readonly [width: number, height: number]
}

export interface UsageDays {
  /** The first and the last day, such as `2026-11-01`. */
  readonly first: string
  readonly last: string
  readonly trends: ReadonlyArray<UsageTrend>
}

const dayOf = (time: string): number => dayNumber(Date.parse(time))

/** Bars beside each other, from below; of many days without gaps. */
const bars = (values: ReadonlyArray<number>, max: number): string => {
  const gap = values.length > 100 ? 0 : dayWidth / 5
  return values
    .map((value, index) => {
      if (value === 0) return ""
      const high = Math.max(minHeight, (height * value) / max)
      return `M${index * dayWidth + gap / 2} ${height}v-${+high.toFixed(1)}h${dayWidth - gap}V${height}z`
    })
    .join("")
}

const counted = (count: number): string => count.toLocaleString("en-US")

const highest = (values: ReadonlyArray<number>): number => values.reduce((high, value) => Math.max(high, value), 0)

type Daily = ReadonlyArray<{ readonly date: string; readonly count: number }>

/** The trends between two days, both of which are in it. `period`: as the report on use has it. */
export const usageDays = (
  { dailyActiveUsers, dailyCiSessions, dailySessions, userAdoption, usersBefore }: UsageTrends,
  period: { readonly from: string; readonly to: string },
  now: number
): UsageDays => {
  // The period ends before its end.
  const end = Math.floor((Math.min(Date.parse(period.to), now + 1) - 1) / dayMillis)
  const first = Math.max(dayOf(period.from), end - maxTrendDays + 1)
  const days = Array.from({ length: Math.max(1, end - first + 1) }, (_, index) => dayName(first + index))
  const [from = "", last = from] = [days[0], days.at(-1)]
  const daily = (series: Daily): ReadonlyArray<number> => {
    const byDay = new Map(series.map(({ count, date }) => [date, count]))
    return days.map((day) => byDay.get(day) ?? 0)
  }
  const trend = (name: string, values: ReadonlyArray<number>, summary: string): UsageTrend => {
    const max = highest(values)
    return { name, summary, values, max, path: bars(values, max), box: [days.length * dayWidth, height] }
  }
  const peakOf = (values: ReadonlyArray<number>): string => {
    const max = highest(values)
    return max === 0 ? "none" : `at most ${counted(max)} on ${days[values.indexOf(max)] ?? from}`
  }
  const inAll = (values: ReadonlyArray<number>): string =>
    `${counted(values.reduce((sum, value) => sum + value, 0))} in all, ${peakOf(values)}`
  const sessions = daily(dailySessions)
  const users = daily(dailyActiveUsers)
  const ciSessions = daily(dailyCiSessions)
  const adoption = adopted(userAdoption, usersBefore, days)
  return {
    first: from,
    last,
    trends: [
      trend("Sessions of people", sessions, inAll(sessions)),
      trend("Active users", users, peakOf(users)),
      trend("Sessions of CI", ciSessions, inAll(ciSessions)),
      trend("Users since the first session", adoption, `${counted(adoption.at(-1) ?? 0)} at the end`)
    ]
  }
}

/** How many users there have been up to each day. The report has the days on which there were new ones. */
const adopted = (
  adoption: UsageTrends["userAdoption"],
  before: number,
  days: ReadonlyArray<string>
): ReadonlyArray<number> => {
  // Days before the period count as well.
  let users = before
  let next = 0
  return days.map((day) => {
    for (; (adoption[next]?.date ?? "~") <= day; next++) users = adoption[next]?.cumulativeUsers ?? users
    return users
  })
}
