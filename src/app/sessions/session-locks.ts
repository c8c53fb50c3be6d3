import { Effect, type Scope } from "effect"
import { type ConnectionName, noLocks, type PortLocks } from "../../domain/routing/port-locks.ts"

/** A client connection as the others of its session see it. */
export interface LockHolder {
  /** Whether its client is silent for so long that another connection may take its ports. */
  readonly mayBeReplaced: () => boolean
  /** Ends it; another one has taken its ports. */
  readonly replaced: () => void
}

/** The one piece of state that connections of a session share: who holds which port (wire-protocol §8.3 no. 22). */
export interface SessionLocks {
  current: PortLocks
  /** The connections that are open. */
  readonly holders: Map<ConnectionName, LockHolder>
}

export const makeSessionLocks = (): SessionLocks => ({ current: noLocks, holders: new Map() })

/** Locks of every session that has a connection; they go with its last one, which held them. */
export interface SessionLockTable {
  readonly use: (session: string) => Effect.Effect<SessionLocks, never, Scope.Scope>
  /** How many sessions have locks. */
  readonly size: () => number
}

export const makeSessionLockTable = (): SessionLockTable => {
  const sessions = new Map<string, { readonly locks: SessionLocks; users: number }>()
  return {
    size: () => sessions.size,
    use: (session) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const entry = sessions.get(session) ?? { locks: makeSessionLocks(), users: 0 }
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
