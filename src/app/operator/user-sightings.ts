/**
 * Remembers which users have had sessions lately, for the statistics of `mirrord operator status`. The memory begins
 * with the sessions that exist when this process begins to lead; what was before is not known. The counting is in
 * `domain/overview/active-users.ts`.
 */

import { type ActiveUsers, activeUsers, monthOfUsers } from "../../domain/overview/active-users.ts"

/** The most users that are remembered; beyond, those who were seen longest ago are forgotten. */
const mostUsers = 10_000

export class UserSightings {
  /** When each user was last seen, epoch ms, by the user's id; the latest come last. */
  readonly #lastSeen = new Map<string, number>()

  /** Records a user who has a session now. */
  saw(userId: string, now: number): void {
    this.#lastSeen.delete(userId)
    this.#lastSeen.set(userId, now)
    for (const [oldest, at] of this.#lastSeen) {
      if (this.#lastSeen.size <= mostUsers && now - at < monthOfUsers) break
      this.#lastSeen.delete(oldest)
    }
  }

  /** How many users there were lately. */
  count(now: number): ActiveUsers {
    return activeUsers(this.#lastSeen, now)
  }
}
