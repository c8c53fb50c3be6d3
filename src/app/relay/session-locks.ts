import { Effect, type Scope } from "effect"
import { type ConnectionName, noLocks, type PortLocks } from "../../domain/routing/port-locks.ts"

/** A client connection as the others of its session see it. */
export interface LockHolder {
  /** Whether its client is silent for so long that another connection may take its ports. */
  readonly mayBeReplaced: () => boolean
  /** Ends it; another one has taken its ports. */
  readonly replaced: () => void
  /** Ends it if its client is gone, as far as anybody can tell; another one has come. */
  readonly check: () => void
}

/**
 * Which program on which machine connects, as far as it says so: of two such clients the later one may be the earlier
 * one that comes back.
 */
export type ClientIdentity = string & { readonly ClientIdentity: unique symbol }
export const clientIdentity = (name: string | undefined, hostname: string | undefined): ClientIdentity =>
  JSON.stringify([name, hostname]) as ClientIdentity

/** What connections of a session share: who holds which port (wire.md §8.22), and who came after whom. */
export interface SessionLocks {
  current: PortLocks
  /** Clients that connect or are connected, in the order in which they came; the later counts from its request on. */
  readonly arrivals: Set<{ readonly identity: ClientIdentity }>
  /** The connections that are open. */
  readonly holders: Map<ConnectionName, LockHolder>
}

export const makeSessionLocks = (): SessionLocks => ({ current: noLocks, arrivals: new Set(), holders: new Map() })

/**
 * Takes note of a client for as long as the scope lives. Gives whether the same client, as far as anybody can tell, has
 * come again since.
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
