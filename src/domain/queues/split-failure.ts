/** Failures of a split's actions, and when each action is tried again. */

/** Why an action failed the last time. */
export interface SplitFailure {
  /** Epoch ms. */
  readonly at: number
  /** Whether it fails until an administrator acts, as for a missing right; others pass by themselves. */
  readonly isLasting: boolean
  /** As of an HTTP answer. */
  readonly code: number
  /** A sentence for users. */
  readonly message: string
}

/** Milliseconds until a failed action is tried again, and until one whose failure lasts. */
const [soon, late] = [10_000, 60_000]

/** When the action is tried again, in epoch ms. */
export const retryAt = ({ at, isLasting }: SplitFailure): number => at + (isLasting ? late : soon)
