/**
 * When a token for an EKS cluster is made anew, for how long one is used, and by which clock it is dated. EKS takes a
 * token, a presigned request to STS, for 15 minutes from its date, and only while the AWS credentials last that signed
 * it.
 *
 * Not here: making tokens (adapters/aws), and failures of that (eks-failure.ts). Without another word times are epoch
 * ms of this operator's clock.
 */

import * as Result from "effect/Result"
import { spanText } from "./validity.ts"

const minute = 60_000
/** A token is used for so long, ms: a minute less than EKS takes it. */
const lifetime = 14 * minute
/** A token is made anew so long before its end at the latest, ms: after 10 minutes, unless its identity ends before. */
const notice = 4 * minute
/** The time over which the tokens of many clusters are spread, ms. */
const spread = minute
/** A token is made anew so long after it was made at the earliest, ms, even if the cluster refuses it. */
const earliest = 30_000
/** Clocks that differ by more are not made up for, ms. A request with such a date would be valid at another time. */
const mostSkew = 15 * minute
/** Longest pause between two tries to make a token, ms: several fit before the end of the last one. */
export const longestEksPause = minute

/** A token that was made, without the token itself. */
export interface MadeEksToken {
  readonly madeAt: number
  /** When its use ends. */
  readonly until: number
  /** Whether the cluster did not know its bearer. */
  readonly isRefused: boolean
}

/** The end of a token that is made now. `identityEnds`: the end of the AWS credentials, if they have one. */
export const eksTokenEnd = (now: number, identityEnds: number | undefined): number =>
  Math.min(now + lifetime, identityEnds ?? Infinity)

/** When the next token is made. `share`: from 0 up to 1, this cluster's place in the spread. */
export const eksRenewal = ({ isRefused, madeAt, until }: MadeEksToken, share: number, now: number): number => {
  // This clock was set back, so the age of the token is not known.
  if (madeAt > now) return now
  return Math.max(madeAt + earliest, isRefused ? now : until - notice - spread * share)
}

/**
 * The date of a token that is made now. `serverTime`: the time by the cluster's API server; without it this clock has
 * to be right. The failure is a clause.
 */
export const eksTokenDate = (now: number, serverTime: number | undefined): Result.Result<number, string> => {
  const skew = (serverTime ?? now) - now
  return Math.abs(skew) <= mostSkew
    ? Result.succeed(now + skew)
    : Result.fail(
        `the API server's clock is ${spanText(Math.abs(skew))} ${skew > 0 ? "ahead of" : "behind"} this operator's; ` +
          "set the clock of the operator's node"
      )
}
