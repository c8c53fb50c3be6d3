/**
 * The state that the connections of one session share: the holders of its ports, and the order in which clients came.
 * The rules for ports are decided in `port-locks.ts`.
 */

import { Effect, type Scope } from "effect"
import {
  type ConnectionName,
  noLocks,
  type PortLocks,
  type StolenPort,
  stolenPorts
} from "../../domain/relay/port-locks.ts"

/** A client's connection as the other connections of its session see it. */
export interface LockHolder {
  /** Whether its client has been silent for so long that another connection may take its ports. */
  readonly mayBeReplaced: () => boolean
  /** Ends the connection: another connection has taken its ports. */
  readonly replaced: () => void
  /** Ends the connection if its client seems to be gone; called when another connection has come. */
  readonly check: () => void
}

/**
 * The program and the machine that a client says it is. Two connections with the same identity may be one client that
 * reconnected.
 */
export type ClientIdentity = string & { readonly ClientIdentity: unique symbol }
export const clientIdentity = (name: string | undefined, hostname: string | undefined): ClientIdentity =>
  JSON.stringify([name, hostname]) as ClientIdentity

/** The shared state of a session's connections: the holders of ports (wire.md §8.22), and the order of arrivals. */
export interface SessionLocks {
  current: PortLocks
  /** Clients that connect or are connected, in the order in which they came; a client counts from its request on. */
  readonly arrivals: Set<{ readonly identity: ClientIdentity }>
  /** The connections that are open. */
  readonly holders: Map<ConnectionName, LockHolder>
  /** How much longer than usual a client may be silent that has pinged once, as it may ping more rarely (`isGone`). */
  readonly patience: number
  /** Notes that such a client was given up. If it comes again it is given twice the time. */
  readonly gaveUp: () => void
}

export const makeSessionLocks = (patience = 1, gaveUp = (): void => {}): SessionLocks => ({
  current: noLocks,
  arrivals: new Set(),
  holders: new Map(),
  patience,
  gaveUp
})

/** The most sessions of which it is remembered that their client was given up; beyond, the oldest are forgotten. */
const maxGivenUp = 1_000

/**
 * Records a client for as long as the scope lives. The result tells whether the same client seems to have come again
 * since.
 */
export const arrive = (
  { arrivals }: SessionLocks,
  identity: ClientIdentity
): Effect.Effect<() => boolean, never, Scope.Scope> => {
  const self = { identity }
  const hasYounger = (): boolean => {
    let isAfter = false
    for (const arrival of arrivals) {
      if (isAfter && arrival.identity === identity) return true
      isAfter ||= arrival === self
    }
    return false
  }
  return Effect.acquireRelease(
    Effect.sync(() => {
      arrivals.add(self)
      return hasYounger
    }),
    () => Effect.sync(() => arrivals.delete(self))
  )
}

/** The locks of every session that has a connection. A session's last connection takes them with it. */
export interface SessionLockTable {
  readonly use: (session: string) => Effect.Effect<SessionLocks, never, Scope.Scope>
  /** The ports that a session's connections hold, in order. */
  readonly ports: (session: string) => ReadonlyArray<StolenPort>
  /** How many sessions have locks. */
  readonly size: () => number
}

export const makeSessionLockTable = (): SessionLockTable => {
  const sessions = new Map<string, { readonly locks: SessionLocks; users: number }>()
  /** How much patience a session's next client gets; a session's last connection does not take it along. */
  const patience = new Map<string, number>()
  const locksOf = (session: string): SessionLocks => {
    const now = patience.get(session) ?? 1
    return makeSessionLocks(now, () => {
      patience.delete(session)
      patience.set(session, 2 * now)
      const [oldest] = patience.keys()
      if (patience.size > maxGivenUp && oldest !== undefined) patience.delete(oldest)
    })
  }
  return {
    size: () => sessions.size,
    ports: (session) => stolenPorts(sessions.get(session)?.locks.current ?? noLocks),
    use: (session) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const entry = sessions.get(session) ?? { locks: locksOf(session), users: 0 }
          entry.users++
          sessions.set(session, entry)
          return entry.locks
        }),
        () =>
          Effect.sync(() => {
            const entry = sessions.get(session)
            if (entry !== undefined && --entry.users === 0) sessions.delete(session)
          })
      )
  }
}
