/** A server's `Date` header, and the own clock before the request was sent and after the header came. Epoch ms. */
export interface ClockReading {
  readonly server: number
  readonly before: number
  readonly after: number
}

/** The header counts whole seconds: the server's clock was up to this much later, ms. */
const headerResolution = 999

/**
 * By how much the server's clock is certainly ahead (positive) or behind (negative), ms; 0 where the reading also fits
 * equal clocks. A slow network thus never makes a skew.
 */
export const certainSkew = ({ after, before, server }: ClockReading): number => {
  const least = server - after
  const most = server + headerResolution - before
  if (least > 0) return least
  return most < 0 ? most : 0
}
