/**
 * How far a server's clock certainly differs from ours, decided from one request.
 *
 * Not here: from which skew on it matters (examine-cluster.ts).
 */

/** A server's `Date` header, and our clock before the request was sent and after the header came. Epoch ms. */
export interface ClockReading {
  readonly server: number
  readonly before: number
  readonly after: number
}

/** The header counts whole seconds: the server's clock was later by at most this, ms. */
const headerResolution = 999

/**
 * By how much the server's clock is certainly ahead (positive) or behind (negative), ms. It is 0 if the reading also
 * fits equal clocks, so that a slow network never looks like a skew.
 */
export const certainSkew = ({ after, before, server }: ClockReading): number => {
  const least = server - after
  const most = server + headerResolution - before
  if (least > 0) return least
  return most < 0 ? most : 0
}
