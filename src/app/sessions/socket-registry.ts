/**
 * Counts the client sockets of each session at this replica. Heartbeats and the ends of unused sessions follow from the
 * counts; they are decided elsewhere.
 */

import { Clock, Effect, type Scope } from "effect"
import { noSockets, type SocketPresence } from "../../domain/sessions/liveness.ts"

/** The sockets of all sessions at this replica; a connect request that is being held counts as a socket. */
export interface SocketRegistry {
  readonly presence: (session: string) => SocketPresence
  /** Counts one socket for as long as the scope lives. */
  readonly track: (session: string) => Effect.Effect<void, never, Scope.Scope>
  /** Forgets a session that is over. */
  readonly forget: (session: string) => void
  /** How many sessions have, or had, sockets. */
  readonly size: () => number
}

export const makeSocketRegistry = (changed: (session: string) => void): SocketRegistry => {
  const sessions = new Map<string, SocketPresence>()
  const presence = (session: string): SocketPresence => sessions.get(session) ?? noSockets
  const update = (session: string, change: number, now: number): void => {
    const open = presence(session).open + change
    sessions.set(session, { open, lastClosedAt: open === 0 ? now : undefined })
    changed(session)
  }
  const count = (session: string, change: number) =>
    Effect.map(Clock.currentTimeMillis, (now) => update(session, change, now))
  return {
    presence,
    track: (session) => Effect.acquireRelease(count(session, 1), () => count(session, -1)),
    forget: (session) => {
      if (presence(session).open === 0) sessions.delete(session)
    },
    size: () => sessions.size
  }
}
