/**
 * How many credentials an operator renews at once: a burst, then so many per second. Members whose renewals are due
 * together, such as after their operator was away, would else all be asked in one second.
 *
 * Not here: when a renewal is due (token-renewal.ts), and waiting for its turn (app/fleet).
 */

/** Renewals that may begin at once. */
export const renewalBurst = 20
/** Time in which one more renewal may begin, in ms; 20 per second. */
export const renewalEvery = 50

/**
 * The turn of a renewal that is due now: when it may begin, and the time to give with the next one. Times are ms of a
 * clock that is never set. `before`: of the turn before; undefined for the first.
 */
export const renewalTurn = (
  before: number | undefined,
  now: number
): { readonly at: number; readonly next: number } => {
  // The time at which all turns that were given would have been used up at the steady rate.
  const next = Math.max(before ?? now, now) + renewalEvery
  return { at: Math.max(now, next - renewalBurst * renewalEvery), next }
}
