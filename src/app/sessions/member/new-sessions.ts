/**
 * Users' own sessions that this process has made and into which no client has been let yet: the last of their clients
 * that is refused takes such a session along, since no other comes to it.
 *
 * Not here: ending it (member-sessions.ts), and the sockets by which sessions live (sessions/socket-registry.ts): a
 * request counts here from its beginning, and makes no session one that a client was connected to.
 */

import { Effect, type Scope } from "effect"

/** The clients that connect to one session or are connected. */
export interface SessionClients {
  count: number
  /** Whether this process has made the session, and no client has been let in since. */
  isNew: boolean
}

export interface NewSessions {
  /** Counts a client for as long as the scope lives. */
  readonly arrive: (session: string) => Effect.Effect<SessionClients, never, Scope.Scope>
  /** How many sessions have clients. */
  readonly size: () => number
}

export const makeNewSessions = (): NewSessions => {
  const sessions = new Map<string, SessionClients>()
  return {
    size: () => sessions.size,
    arrive: (session) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const clients = sessions.get(session) ?? { count: 0, isNew: false }
          clients.count++
          sessions.set(session, clients)
          return clients
        }),
        (clients) =>
          Effect.sync(() => {
            if (--clients.count === 0) sessions.delete(session)
          })
      )
  }
}
