/**
 * The times of leader election, with client-go's names and defaults, and which times cannot work together.
 *
 * Not here: the decisions that use them (lease.ts).
 */

/** The times of a Lease, ms. */
export interface LeaseTimes {
  /** How long others wait after they last saw the holder renew. */
  readonly leaseDuration: number
  /** A leader that could not renew for this long stops writing. The rest of the duration is for writes on their way. */
  readonly renewDeadline: number
  /** Time between two attempts to renew or to acquire. */
  readonly retryPeriod: number
}

/** As in client-go and controller-runtime. */
export const defaultLeaseTimes: LeaseTimes = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 }

/** Why these times cannot work together, as client-go would refuse them; undefined if they can. */
export const leaseTimesProblem = ({ leaseDuration, renewDeadline, retryPeriod }: LeaseTimes): string | undefined => {
  if (retryPeriod <= 0) return `the retry period is ${retryPeriod / 1000} s; it must be longer than nothing`
  if (renewDeadline <= retryPeriod * retryJitter) {
    return (
      `the renew deadline is ${renewDeadline / 1000} s; it must be more than ${retryJitter} times the retry period ` +
      `of ${retryPeriod / 1000} s`
    )
  }
  return leaseDuration <= renewDeadline
    ? `the lease duration is ${leaseDuration / 1000} s; it must be longer than the renew deadline of ` +
        `${renewDeadline / 1000} s`
    : undefined
}

/** Longest time between two attempts of a standby, in retry periods: chance keeps standbys from trying all at once. */
export const retryJitter = 1.2
