/** The client's sockets of one session at this replica. A connect request that is being held counts as a socket. */
export interface SocketPresence {
  readonly open: number
  /** When the last one closed, epoch ms; only meaningful while none is open. */
  readonly lastClosedAt: number | undefined
}

export const noSockets: SocketPresence = { open: 0, lastClosedAt: undefined }

/**
 * While an API server answers 503 the real client pauses up to 131 s between two tries: so long after its start a
 * leader cannot conclude from silence that a session's client is gone. Milliseconds.
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
 * How long after `since`, when an operator began to serve, silence says nothing about a client, in ms: only a session
 * that is older, and whose client has not been here since, can be in the real client's long pause.
 */
export const graceAfterStart = (createdAt: number, since: number, { lastClosedAt }: SocketPresence): number =>
  createdAt < since && lastClosedAt === undefined ? leaderGrace : 0

/**
 * From when a session's TTL runs: the latest of heartbeat, last socket, creation, and where it applies this leader's
 * start + 150 s.
 */
const aliveUntil = ({ createdAt, heartbeatAt, leaderSince, sockets }: LivenessObservation): number =>
  Math.max(
    createdAt,
    heartbeatAt ?? createdAt,
    sockets.lastClosedAt ?? createdAt,
    leaderSince + graceAfterStart(createdAt, leaderSince, sockets)
  )

/** When the session ends for want of a client, or nothing while a socket is open here. */
export const expiresAt = (observed: LivenessObservation, sessionTtlSecs: number): number | undefined =>
  observed.sockets.open > 0 ? undefined : aliveUntil(observed) + sessionTtlSecs * 1000
