/**
 * Decides when a session ends for want of a client, from its heartbeat and from this replica's sockets.
 *
 * Not here: writing heartbeats (heartbeat.ts), and whether a connected client still lives (client-pulse.ts).
 */

/** The client's sockets of one session at this replica. A connect request that is being held counts as a socket. */
export interface SocketPresence {
  readonly open: number
  /** When the last one closed, epoch ms; only meaningful while none is open. */
  readonly lastClosedAt: number | undefined
}

export const noSockets: SocketPresence = { open: 0, lastClosedAt: undefined }

/**
 * Milliseconds after its start in which a leader concludes nothing from a client's silence: while an API server answers
 * 503, the real client pauses up to 131 s between two tries.
 */
export const leaderGrace = 150_000

/** Seconds without a client after which a session is inactive: two heartbeats, and longer than a client's reconnect. */
const inactiveSecs = 20

/** The facts from which the end of a session is decided. All times are epoch ms. */
export interface LivenessObservation {
  readonly createdAt: number
  /**
   * The heartbeat: `status.connectedTimestamp`, or better, when this process saw it change (clocks of hosts differ).
   */
  readonly heartbeatAt: number | undefined
  /** When this leader became able to write heartbeats. */
  readonly leaderSince: number
  readonly sockets: SocketPresence
}

/**
 * Milliseconds after `since`, when an operator began to serve, in which silence says nothing about a client. Only an
 * older session whose client has not been here since can be in the real client's long pause.
 */
export const graceAfterStart = (createdAt: number, since: number, { lastClosedAt }: SocketPresence): number =>
  createdAt < since && lastClosedAt === undefined ? leaderGrace : 0

/**
 * The moment from which a session's TTL runs: the latest of its heartbeat, its last socket, its creation and, where it
 * applies, this leader's start + {@link leaderGrace}.
 */
const aliveUntil = ({ createdAt, heartbeatAt, leaderSince, sockets }: LivenessObservation): number =>
  Math.max(
    createdAt,
    heartbeatAt ?? createdAt,
    sockets.lastClosedAt ?? createdAt,
    leaderSince + graceAfterStart(createdAt, leaderSince, sockets)
  )

/** When the session ends for want of a client; `undefined` while a socket is open here. */
export const expiresAt = (observed: LivenessObservation, sessionTtlSecs: number): number | undefined =>
  observed.sockets.open > 0 ? undefined : aliveUntil(observed) + sessionTtlSecs * 1000

/**
 * Whether a session has no client, and none that is just coming back. After a change of leaders this is not known for
 * {@link leaderGrace}.
 */
export const isInactive = (observed: LivenessObservation, now: number): boolean => {
  const since = expiresAt(observed, inactiveSecs)
  return since !== undefined && now >= since
}
