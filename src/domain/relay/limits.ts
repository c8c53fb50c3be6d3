/**
 * The bounds on the cost of one client connection. Each bound is generous for a real client, and the router reports
 * when it is reached.
 */
export const limits = {
  /**
   * Bytes of the client's messages before the default is connected; each message counts `postponedMessageCost` more.
   */
  postponedBytes: 1024 * 1024,
  postponedMessageCost: 64,
  /** Pings, version switches or subscriptions that a member has not answered. A client pings every 30 s. */
  unanswered: 1024,
  /** Open incoming connections and requests of all members. */
  openIds: 65_536,
  /** Active port subscriptions, and the bytes kept to replay them. */
  subscriptions: 1024,
  subscriptionBytes: 4 * 1024 * 1024,
  /** Milliseconds until a member is asked again for a port that another session had there. */
  askAgainAfter: 30_000,
  /** Log lines that wait until the client is ready for them. A longer line than `postponedLogBytes` is dropped. */
  postponedLogs: 64,
  postponedLogBytes: 16 * 1024,
  /** Bodies of responses collected for members that cannot take them in pieces, bytes over all responses. */
  collectedBytes: 16 * 1024 * 1024,
  /** Bytes that a collected piece counts beside its content. */
  collectedPieceCost: 256,
  /** Kinds of warnings that are given once and remembered. Beyond this number, further kinds are not given at all. */
  warnings: 256
} as const
