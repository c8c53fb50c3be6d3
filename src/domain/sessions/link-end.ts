/**
 * Says why a session's link to a cluster has ended, for its user. The link may end while the cluster is well: the
 * session's part there has ended then.
 *
 * Not here: whether a cluster is lost (fleet/health.ts).
 */

/** Ends that say nothing of their cause: the other side has closed the link. */
const closed = /^(?:code (?:1000|1001|1005)|closed by the other side)$/u
/** Numbers are for programs. */
const numbered = /^code \d+$/u

/** `own`: the session's own reason for being without the cluster, if it has one already. */
export const linkEnd = (reason: string, own: string | undefined): string => {
  if (own !== undefined) return own
  if (closed.test(reason)) return "its part of the session has ended there, or is being started again"
  return numbered.test(reason) ? "the connection broke off" : reason
}
