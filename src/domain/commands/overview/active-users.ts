/**
 * How many users have used an operator lately, for `mirrord operator status`. A user counts once, however many sessions
 * and clusters there are.
 *
 * Not here: noticing users (app/operator/user-sightings.ts).
 */

const day = 86_400_000

/** How long a user counts at all, in ms. */
export const monthOfUsers = 30 * day

/** Users of the last day and of the last thirty days, as `status.statistics` has them (operator-api.md §3.4). */
export interface ActiveUsers {
  readonly dau: number
  readonly mau: number
}

/** `lastSeen`: when each user last had a session, epoch ms, by the user's id. */
export const activeUsers = (lastSeen: ReadonlyMap<string, number>, now: number): ActiveUsers => {
  const within = (span: number): number => [...lastSeen.values()].filter((at) => now - at < span).length
  return { dau: within(day), mau: within(monthOfUsers) }
}
