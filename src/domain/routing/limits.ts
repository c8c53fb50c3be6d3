/**
 * What one client connection may cost. Each bound is generous for a real client, and reaching it is reported, never
 * silent.
 */
export const limits = {
  /** What the client said before the default was connected, bytes; each message counts `postponedMessageCost` more. */
  postponedBytes: 1024 * 1024,
  postponedMessageCost: 64,
  /** Pings, version switches or subscriptions that one member has not answered. A client pings every 30 s. */
  unanswered: 1024,
  /** Open incoming connections and requests of all members. */
  openIds: 65_536,
  /** Active port subscriptions, and the bytes kept to replay them. */
  subscriptions: 1024,
  subscriptionBytes: 4 * 1024 * 1024,
  /** Milliseconds after which a member is asked again for a port that somebody else had there. */
  askAgainAfter: 30_000,
  /** Log lines that wait for the client to be ready for them; longer ones do not wait. */
  postponedLogs: 64,
  postponedLogBytes: 16 * 1024,
  /** Bodies of responses collected for members that cannot take them in pieces, bytes over all responses. */
  collectedBytes: 16 * 1024 * 1024,
  /** What one collected piece counts for besides its bytes. */
  collectedPieceCost: 256,
  /** Kinds of warnings that have been given once; beyond it warnings of this sort are left out. */
  warnings: 256
} as const
