/**
 * Decides when a replica writes a session's heartbeat, from which its successor learns when a client was last
 * connected.
 *
 * Not here: the end of a session without heartbeats (liveness.ts).
 */

import type { SocketPresence } from "./liveness.ts"

/** Milliseconds between two heartbeats of a session (one status write each, failures.md §4.11). */
export const heartbeatInterval = 10_000

/** Milliseconds for which heartbeats go on after the last socket closed: a client that reconnects is not missed. */
const heartbeatTail = 15_000

/**
 * When a session's last heartbeat was, epoch ms; `undefined` if the first is due. A session that is only starting
 * counts from its creation: a write in front of its first steps would hold them up, and a successor knows its creation
 * too.
 */
export const lastHeartbeat = (
  lastWrittenAt: number | undefined,
  { createdSeenAt, isStarting }: { readonly createdSeenAt: number; readonly isStarting: boolean }
): number | undefined => lastWrittenAt ?? (isStarting ? createdSeenAt : undefined)

/** Whether a heartbeat is due now, and when to ask again, epoch ms; `undefined` if not before a socket opens. */
export interface HeartbeatDecision {
  readonly write: boolean
  readonly nextAt: number | undefined
}

/**
 * Decides about one session's heartbeat at this replica. `lastWrittenAt`: when this replica last wrote one. After a
 * clock jumped back a heartbeat is due at once; otherwise the session would be silent until the clock catches up.
 */
export const heartbeat = (
  sockets: SocketPresence,
  lastWrittenAt: number | undefined,
  now: number
): HeartbeatDecision => {
  const tailEnd = sockets.lastClosedAt === undefined ? undefined : sockets.lastClosedAt + heartbeatTail
  const active = sockets.open > 0 || (tailEnd !== undefined && now <= tailEnd)
  if (!active) return { write: false, nextAt: undefined }
  const write = lastWrittenAt === undefined || lastWrittenAt > now || now - lastWrittenAt >= heartbeatInterval
  const next = (write ? now : lastWrittenAt) + heartbeatInterval
  return { write, nextAt: sockets.open > 0 || (tailEnd !== undefined && next <= tailEnd) ? next : undefined }
}
