/** The report on trends: what happened on each day of UTC, without the days on which nothing did. */

import { lasted, isOfMachine, type UsageRecord } from "./usage-record.ts"
import { userOf } from "./usage-report.ts"

const dayMillis = 86_400_000

/** A day's name, such as `2026-11-29`. */
const dayName = (day: number): string => new Date(day * dayMillis).toISOString().slice(0, 10)

interface Day {
  sessions: number
  millis: number
  ciSessions: number
  newUsers: number
  readonly users: Set<string>
}

/** The answer of `reports/usage/trends`. */
export interface UsageTrends {
  readonly dailySessions: ReadonlyArray<{
    readonly date: string
    readonly count: number
    readonly totalDurationSeconds: number
  }>
  readonly dailyActiveUsers: ReadonlyArray<{ readonly date: string; readonly count: number }>
  readonly dailyCiSessions: ReadonlyArray<{ readonly date: string; readonly count: number }>
  readonly userAdoption: ReadonlyArray<{
    readonly date: string
    readonly newUsers: number
    readonly cumulativeUsers: number
  }>
}

/** Adds sessions up to trends. Takes all records in the order of their starts, because users may be older. */
export class TrendSums {
  readonly #now: number
  readonly #firstDay: number
  readonly #days = new Map<number, Day>()
  readonly #known = new Set<string>()
  #before = 0

  /** `days`: how many days, of which today is the last. */
  constructor(days: number, now: number) {
    this.#now = now
    this.#firstDay = Math.floor(now / dayMillis) - days + 1
  }

  readonly add = (record: UsageRecord): void => {
    const number = Math.floor(record.startedAt / dayMillis)
    const user = userOf(record, "machine_id")
    const isNew = !isOfMachine(record) && !this.#known.has(user)
    if (isNew) this.#known.add(user)
    if (number < this.#firstDay) {
      if (isNew) this.#before++
      return
    }
    const empty = { sessions: 0, millis: 0, ciSessions: 0, newUsers: 0, users: new Set<string>() }
    const day = this.#days.get(number) ?? empty
    this.#days.set(number, day)
    if (isOfMachine(record)) {
      day.ciSessions++
      return
    }
    day.sessions++
    day.millis += lasted(record, this.#now)
    day.users.add(user)
    if (isNew) day.newUsers++
  }

  readonly trends = (): UsageTrends => {
    const days = [...this.#days].map(([day, sums]) => ({ date: dayName(day), ...sums }))
    let cumulativeUsers = this.#before
    return {
      dailySessions: days
        .filter(({ sessions }) => sessions > 0)
        .map(({ date, millis, sessions }) => ({
          date,
          count: sessions,
          totalDurationSeconds: Math.round(millis / 1000)
        })),
      dailyActiveUsers: days
        .filter(({ users }) => users.size > 0)
        .map(({ date, users }) => ({ date, count: users.size })),
      dailyCiSessions: days
        .filter(({ ciSessions }) => ciSessions > 0)
        .map(({ ciSessions, date }) => ({ date, count: ciSessions })),
      userAdoption: days
        .filter(({ newUsers }) => newUsers > 0)
        .map(({ date, newUsers }) => {
          cumulativeUsers += newUsers
          return { date, newUsers, cumulativeUsers }
        })
    }
  }
}
