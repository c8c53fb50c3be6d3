/**
 * The memory of sessions that ended for good: stopped by people or by a limit, or with a reason that the client was
 * told. The client of such a session may be away and ask for it again under the same id, also when its object is gone;
 * it must not get a new session then.
 *
 * Not here: where the memory is kept (app/kernel/stopped-ledger.ts), and the answer to the client.
 */

/**
 * How long a stopped session is remembered at least, in ms: as long as a real client may go on asking for it
 * (operator-api.md §2.4).
 */
export const stoppedFor = 900_000

/** The most sessions that are remembered; beyond, the oldest are forgotten. */
export const maxStopped = 2_000

/**
 * When each stopped session was seen to be stopped, by its object's name, oldest first. Times are of this process's
 * clock, epoch ms: a session that another process has stopped counts from when this one has read it.
 */
export type StoppedSessions = ReadonlyMap<string, number>

/** Whether a session was stopped lately. */
export const wasStopped = (stopped: StoppedSessions, session: string, now: number): boolean => {
  const at = stopped.get(session)
  return at !== undefined && now < at + stoppedFor
}

/** The next memory, and the sessions that it does not have any more. */
export interface Remembered {
  readonly stopped: StoppedSessions
  readonly forgotten: ReadonlyArray<string>
}

/** Adds sessions that are being stopped, and forgets those that were stopped long ago. */
export const rememberStopped = (before: StoppedSessions, sessions: ReadonlyArray<string>, now: number): Remembered => {
  const kept = [...before].filter(([session]) => wasStopped(before, session, now) && !sessions.includes(session))
  const all = [...kept, ...[...new Set(sessions)].map((session) => [session, now] as const)]
  const stopped = new Map(all.slice(-maxStopped))
  return { stopped, forgotten: [...before.keys()].filter((session) => !stopped.has(session)) }
}
