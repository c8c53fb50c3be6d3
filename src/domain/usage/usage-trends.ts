/** The report on trends: what happened on each day of UTC, without the days on which nothing did. */

import type { Period } from "./concurrency.ts"
import type { SpanSums } from "./span-sums.ts"
import { lasted, isOfMachine, type UsageRecord } from "./usage-record.ts"
import { userOf } from "./usage-report.ts"
import { dayName, dayNumber } from "./usage-spans.ts"

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
  /** How many users there were before the first day. */
  readonly usersBefore: number
  readonly userAdoption: ReadonlyArray<{
    readonly date: string
    readonly newUsers: number
    readonly cumulativeUsers: number
  }>
}

/** Adds sessions up to trends. Takes all records and spans in the order of their starts, because users may be older. */
export class TrendSums {
  readonly #now: number
  readonly #firstDay: number
  readonly #days = new Map<number, Day>()
  readonly #known = new Set<string>()
  #before = 0

  /** `days`: how many days, of which today is the last. */
  constructor(days: number, now: number) {
    this.#now = now
    this.#firstDay = dayNumber(now) - days + 1
  }

  readonly add = (record: UsageRecord): void => {
    const isMachine = isOfMachine(record)
    this.#addTo(dayNumber(record.startedAt), {
      sessions: isMachine ? 0 : 1,
      millis: isMachine ? 0 : lasted(record, this.#now),
      ciSessions: isMachine ? 1 : 0,
      users: isMachine ? [] : [userOf(record, "machine_id")]
    })
  }

  /** Takes all sessions that began in a span. */
  readonly addSums = (_span: Period, { days, users }: SpanSums): void => {
    for (const { day, ...sums } of days)
      this.#addTo(day, { ...sums, users: sums.users.flatMap((user) => users[user]?.machineId ?? []) })
  }

  #addTo(number: number, more: Omit<Day, "newUsers" | "users"> & { readonly users: ReadonlyArray<string> }): void {
    const newUsers = more.users.filter((user) => !this.#known.has(user) && this.#known.add(user)).length
    if (number < this.#firstDay) {
      this.#before += newUsers
      return
    }
    const empty = { sessions: 0, millis: 0, ciSessions: 0, newUsers: 0, users: new Set<string>() }
    const day = this.#days.get(number) ?? empty
    this.#days.set(number, day)
    day.sessions += more.sessions
    day.millis += more.millis
    day.ciSessions += more.ciSessions
    day.newUsers += newUsers
    for (const user of more.users) day.users.add(user)
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
      usersBefore: this.#before,
      userAdoption: days
        .filter(({ newUsers }) => newUsers > 0)
        .map(({ date, newUsers }) => {
          cumulativeUsers += newUsers
          return { date, newUsers, cumulativeUsers }
        })
    }
  }
}
