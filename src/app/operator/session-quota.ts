/**
 * Counts the sessions and connections of users, and refuses what is beyond the bounds. The objects of sessions are
 * counted, so a new leader counts as its predecessor did; requests under way count for sessions that have no object
 * yet. The rules are in `domain/sessions/session-bounds.ts`.
 */

import { Effect, type Scope } from "effect"
import { type AskedConnection, boundProblem, type SessionBounds } from "../../domain/sessions/session-bounds.ts"
import { type ApiError, forbidden } from "../api/status.ts"
import type { ServedSession } from "../services/sessions.ts"

export interface SessionQuota {
  /**
   * Counts a connection for as long as the scope lives; fails if it is beyond a bound. Connections of another
   * certificate are counted apart: another user who knows the session's id cannot use up its connections.
   */
  readonly take: (asked: AskedConnection, userId: string) => Effect.Effect<void, ApiError, Scope.Scope>
  /** How many sessions of users have connections. */
  readonly size: () => number
}

/** `sessions`: all sessions of users that exist. */
export const makeSessionQuota = (bounds: SessionBounds, sessions: () => ReadonlyArray<ServedSession>): SessionQuota => {
  /** Open and held connections, by session and certificate. */
  const held = new Map<string, AskedConnection & { connections: number }>()
  const usersOf = (): ReadonlyMap<string, string> =>
    new Map([
      ...[...held.values()].map(({ session, user }) => [session, user] as const),
      ...sessions().map(({ metadata, owner }) => [metadata.name, owner.k8sUsername] as const)
    ])
  // Nothing comes between the look and the count, so requests at the same moment do not count each other out.
  const take = (asked: AskedConnection, key: string): Effect.Effect<void, ApiError> =>
    Effect.suspend(() => {
      const known = held.get(key)
      const problem = boundProblem(bounds, asked, { users: usersOf(), connections: known?.connections ?? 0 })
      if (problem !== undefined) return Effect.fail(forbidden(problem))
      const entry = known ?? { ...asked, connections: 0 }
      entry.connections++
      held.set(key, entry)
      return Effect.void
    })
  const giveBack = (key: string): void => {
    const entry = held.get(key)
    if (entry !== undefined && --entry.connections === 0) held.delete(key)
  }
  return {
    take: (asked, userId) => {
      const key = `${asked.session} ${userId}`
      return Effect.acquireRelease(take(asked, key), () => Effect.sync(() => giveBack(key)))
    },
    size: () => held.size
  }
}
