/** The client's sockets of one session at this replica. A connect request that is being held counts as a socket. */
export interface SocketPresence {
  readonly open: number
  /** When the last one closed, epoch ms; only meaningful while none is open. */
  readonly lastClosedAt: number | undefined
}

export const noSockets: SocketPresence = { open: 0, lastClosedAt: undefined }

/**
 * While an API server answers 503 the real client pauses up to 131 s between two tries (issue "a session", §4): so
 * long after its start a leader cannot conclude from silence that a session's client is gone. Milliseconds.
 */
export const leaderGrace = 150_000

/** What the end of a session is decided from. All times are epoch ms. */
export interface LivenessObservation {
  readonly createdAt: number
  /**
   * The heartbeat: `status.connectedTimestamp`, or better, when this process saw it change (clocks of hosts differ).
   */
  readonly heartbeatAt: number | undefined
  /** When this leader began to be able to write heartbeats. */
  readonly leaderSince: number
  readonly sockets: SocketPresence
}

/**
 * From when a session's TTL runs: the latest of heartbeat, creation, and this leader's start + 150 s. The last applies
 * to sessions that are older than the leader: only they can have lived through time in which no operator could write.
 */
export const aliveUntilNow = (observed: LivenessObservation): number =>
  Math.max(
    observed.createdAt,
    observed.heartbeatAt ?? observed.createdAt,
    observed.sockets.lastClosedAt ?? observed.createdAt,
    observed.createdAt < observed.leaderSince ? observed.leaderSince + leaderGrace : observed.createdAt
  )

/** When the session ends for want of a client, or nothing while a socket is open here. */
export const expiresAt = (observed: LivenessObservation, sessionTtlSecs: number): number | undefined =>
  observed.sockets.open > 0 ? undefined : aliveUntilNow(observed) + sessionTtlSecs * 1000
