/**
 * Remembers which users have had sessions lately, for the statistics of `mirrord operator status`. The counting is in
 * `domain/commands/overview/active-users.ts`; user-memory.ts keeps the memory beyond this process and its time as
 * leader.
 */

import { type ActiveUsers, activeUsers, monthOfUsers } from "../../domain/commands/overview/active-users.ts"

/** The most users that are remembered; beyond, those who were seen longest ago are forgotten. */
const maxUsers = 10_000

export class UserSightings {
  /** When each user was last seen, epoch ms, by the user's hash, before `recall` by id; the latest come last. */
  #lastSeen = new Map<string, number>()
  #hash: (userId: string) => string = (userId) => userId

  /** Records a user who has a session now. */
  saw(userId: string, now: number): void {
    const user = this.#hash(userId)
    this.#lastSeen.delete(user)
    this.#lastSeen.set(user, now)
    this.#forget(now)
  }

  /** Adds the sightings of earlier processes, which know users by their hashes. */
  recall(earlier: ReadonlyMap<string, number>, hash: (userId: string) => string, now: number): void {
    this.#hash = hash
    const own = this.#lastSeen
    this.#lastSeen = new Map(earlier)
    for (const [userId, at] of own) this.saw(userId, at)
    this.#forget(now)
  }

  /** How many users there were lately. */
  count(now: number): ActiveUsers {
    return activeUsers(this.#lastSeen, now)
  }

  /** When each user was last seen, of those who count. */
  lately(now: number): ReadonlyMap<string, number> {
    this.#forget(now)
    return this.#lastSeen
  }

  #forget(now: number): void {
    for (const [oldest, at] of this.#lastSeen) {
      if (this.#lastSeen.size <= maxUsers && now - at < monthOfUsers) break
      this.#lastSeen.delete(oldest)
    }
  }
}
