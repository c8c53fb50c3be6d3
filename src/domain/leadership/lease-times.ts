/** When what happens around a Lease, in ms; the words are client-go's. */
export interface LeaseTimes {
  /** So long others leave a holder alone after they have last seen it renew. */
  readonly leaseDuration: number
  /**
   * A leader that could not renew for so long writes nothing more. The rest of the duration is for writes that are on
   * their way.
   */
  readonly renewDeadline: number
  /** Between two attempts to renew or to acquire. */
  readonly retryPeriod: number
}

/** As in client-go and controller-runtime. */
export const usualLeaseTimes: LeaseTimes = { leaseDuration: 15_000, renewDeadline: 10_000, retryPeriod: 2_000 }

/** Why these times cannot be, as client-go would refuse them; nothing if they can. */
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

/** Replicas that stand by try at most so many times the retry period apart, so that they do not all try at once. */
export const retryJitter = 1.2
