/**
 * The memory of users in the form in which it outlives the operator: for each day the users who were seen last on it,
 * each with the hour. Users are hashes there, so the memory holds no names, and each is in it once.
 *
 * Not here: the counting (active-users.ts), and where the memory is kept (app/operator/user-memory.ts).
 */

import { monthOfUsers } from "./active-users.ts"

const [hour, day] = [3_600_000, 86_400_000]

/** The hours of a day, as one letter each. */
const hours = "abcdefghijklmnopqrstuvwx"

/** A user, as {@link userHash} names them, and the letter of the hour. */
const entryForm = /^([0-9a-f]{12})([a-x])$/u
const dayForm = /^\d{4}-\d\d-\d\d$/u

/** The days and their users: keys and values of a ConfigMap. */
export type RememberedUsers = Readonly<Record<string, string>>

/** The hash of a user. `salt`: of this installation alone, so that hashes of two installations cannot be compared. */
export const userHash = (sha256Hex: (text: string) => string, salt: string, userId: string): string =>
  sha256Hex(`${salt} ${userId}`).slice(0, 12)

/** `lastSeen`: when each user was last seen, epoch ms, by the user's hash. */
export const rememberUsers = (lastSeen: ReadonlyMap<string, number>): RememberedUsers => {
  const days = new Map<string, Array<string>>()
  for (const [user, at] of lastSeen) {
    const date = new Date(at).toISOString().slice(0, 10)
    const users = days.get(date) ?? []
    users.push(`${user}${hours.charAt(Math.floor((at % day) / hour))}`)
    days.set(date, users)
  }
  return Object.fromEntries([...days].map(([date, users]) => [date, users.toSorted().join(" ")]))
}

/**
 * When each remembered user was last seen, the latest last: at the end of the hour, but never later than now. Leaves
 * out entries that cannot be read, or are older than a month.
 */
export const recallUsers = (remembered: Readonly<Record<string, unknown>>, now: number): Map<string, number> => {
  const seen = new Map<string, number>()
  for (const [date, users] of Object.entries(remembered)) {
    const begin = dayForm.test(date) ? Date.parse(date) : Number.NaN
    if (Number.isNaN(begin) || typeof users !== "string") continue
    for (const [, user = "", letter = ""] of users.split(" ").flatMap((entry) => [entryForm.exec(entry) ?? []])) {
      const at = Math.min(now, begin + (hours.indexOf(letter) + 1) * hour - 1)
      if (user !== "" && now - at < monthOfUsers) seen.set(user, Math.max(at, seen.get(user) ?? 0))
    }
  }
  return new Map([...seen].toSorted(([, a], [, b]) => a - b))
}

/** The entries to write so that the second memory becomes the first; `null` removes a day. */
export const changedDays = (
  wanted: RememberedUsers,
  stored: Readonly<Record<string, unknown>>
): Readonly<Record<string, string | null>> => {
  const gone = Object.keys(stored).filter((date) => dayForm.test(date) && wanted[date] === undefined)
  const changed = Object.entries(wanted).filter(([date, users]) => stored[date] !== users)
  return Object.fromEntries([...gone.map((date) => [date, null] as const), ...changed])
}
