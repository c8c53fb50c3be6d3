/** The most active users of a period, for its bars and its ring. */

import { cleanText, textLimits } from "../../clean-text.ts"
import { spanText } from "../../fleet/credentials/validity.ts"
import type { UserMetric } from "../../usage/usage-report.ts"

/** A user with a bar and a piece of the ring of their own, or all others together. */
export interface ActiveUser {
  readonly name: string
  /** The time or the count. */
  readonly amount: string
  /** Such as `12.5 %`, of all users of the period. */
  readonly share: string
  /** Length of the bar, in percent of the longest; others have none, since theirs would hide all differences. */
  readonly length: number
  /** The piece of the ring in percent of it: its begin and its size. */
  readonly begin: number
  readonly size: number
  readonly isOthers: boolean
}

/** By what users are compared. */
export type ActivityMeasure = "time" | "count"

/** Users with a bar of their own: as many as there are colours to tell apart. */
const maxUsers = 8

const percent = (share: number): string => `${(Math.round(share * 1000) / 10).toFixed(1)} %`

const amountText = (measure: ActivityMeasure, amount: number): string =>
  measure === "time" ? spanText(1_000 * amount) : amount.toLocaleString("en-US")

/** The most active users first, and last all others together. */
export const activeUsers = (users: ReadonlyArray<UserMetric>, measure: ActivityMeasure): ReadonlyArray<ActiveUser> => {
  const amountOf = (user: UserMetric): number =>
    measure === "time" ? user.totalSessionTimeSeconds : user.totalSessionCount
  const sorted = users.toSorted((a, b) => amountOf(b) - amountOf(a))
  const all = sorted.reduce((sum, user) => sum + amountOf(user), 0)
  const named = sorted
    .slice(0, maxUsers)
    .map((user) => ({ name: user.displayName, amount: amountOf(user), isOthers: false }))
  const rest = sorted.slice(maxUsers)
  const others = rest.reduce((sum, user) => sum + amountOf(user), 0)
  const parts = [
    ...named,
    ...(rest.length === 0 ? [] : [{ name: `${rest.length} others`, amount: others, isOthers: true }])
  ]
  const max = Math.max(1, ...named.map(({ amount }) => amount))
  let begin = 0
  return parts.map(({ amount, isOthers, name }) => {
    const share = all === 0 ? 0 : amount / all
    const at = begin
    begin += 100 * share
    return {
      name: cleanText(name, textLimits.name),
      amount: amountText(measure, amount),
      share: percent(share),
      length: isOthers ? 0 : (100 * amount) / max,
      begin: at,
      size: 100 * share,
      isOthers
    }
  })
}
