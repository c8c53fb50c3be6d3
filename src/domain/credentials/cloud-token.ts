/**
 * When a token for a cluster of a cloud is made anew.
 *
 * Not here: how long one is used (eks-token.ts, and Entra's answer), and making tokens (adapters). Times are epoch ms
 * of this operator's clock.
 */

const minute = 60_000
/** A token is made anew so long before its end at the latest: ms, and as a part of its lifetime; the longer counts. */
const notice = { least: 4 * minute, part: 0.2 }
/** The time over which the tokens of many clusters are spread, in the same way. */
const spread = { least: minute, part: 0.05 }
/** A token is made anew so long after it was made at the earliest, ms, even if the cluster refuses it. */
const earliest = 30_000
/** Longest pause between two tries to make a token, ms: several fit before the end of the last one. */
export const longestCloudPause = minute

/** A token that was made, without the token itself. */
export interface MadeCloudToken {
  readonly madeAt: number
  /** When its use ends. */
  readonly until: number
  /** Whether the cluster did not know its bearer. */
  readonly isRefused: boolean
}

/** When the next token is made. `share`: from 0 up to 1, this cluster's place in the spread. */
export const cloudRenewal = ({ isRefused, madeAt, until }: MadeCloudToken, share: number, now: number): number => {
  // This clock was set back, so the age of the token is not known.
  if (madeAt > now) return now
  const longer = ({ least, part }: typeof notice): number => Math.max(least, (until - madeAt) * part)
  return Math.max(madeAt + earliest, isRefused ? now : until - longer(notice) - longer(spread) * share)
}
