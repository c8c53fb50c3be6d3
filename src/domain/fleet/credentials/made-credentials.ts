/**
 * When credentials that stand in no Secret are made anew: tokens for clusters of a cloud, and what plugins give.
 *
 * Not here: how long they are used (eks-token.ts, Entra's answer, exec-credential.ts), and making them. Times are epoch
 * ms of this operator's clock.
 */

const minute = 60_000
/**
 * Credentials are made anew so long before their end at the latest: ms, and as a part of its lifetime; the longer
 * counts.
 */
const notice = { least: 4 * minute, part: 0.2 }
/** The time over which those of many clusters are spread, in the same way. */
const spread = { least: minute, part: 0.05 }
/** They are made anew so long after they were made at the earliest, ms, even if the cluster refuses them. */
const earliest = 30_000
/** Longest pause between two tries to make them, ms: several fit before the end of the last ones. */
export const longestMakingPause = minute

/** Credentials that were made, without the credentials themselves. */
export interface MadeCredentials {
  readonly madeAt: number
  /** When their use ends; Infinity: when the cluster refuses them. */
  readonly until: number
  /** Whether the cluster did not know their bearer. */
  readonly isRefused: boolean
}

/** When the next ones are made. `share`: from 0 up to 1, this cluster's place in the spread. */
export const madeRenewal = ({ isRefused, madeAt, until }: MadeCredentials, share: number, now: number): number => {
  // This clock was set back, so the age of the credentials is not known.
  if (madeAt > now) return now
  if (until === Infinity && !isRefused) return Infinity
  const longer = ({ least, part }: typeof notice): number => Math.max(least, (until - madeAt) * part)
  return Math.max(madeAt + earliest, isRefused ? now : until - longer(notice) - longer(spread) * share)
}
