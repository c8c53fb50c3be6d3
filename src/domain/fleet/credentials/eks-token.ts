/**
 * For how long a token for an EKS cluster is used, and by which clock it is dated. EKS takes a token, a presigned
 * request to STS, for 15 minutes from its date, and only while the AWS credentials last that signed it.
 *
 * Not here: when the next is made (made-credentials.ts), making tokens (adapters/aws), and failures of that
 * (eks-failure.ts). Without another word times are epoch ms of this operator's clock.
 */

import * as Result from "effect/Result"
import { spanText } from "./validity.ts"

const minute = 60_000
/** A token is used for so long, ms: a minute less than EKS takes it. */
const lifetime = 14 * minute
/** Clocks that differ by more are not made up for, ms. A request with such a date would be valid at another time. */
const maxSkew = 15 * minute

/** The end of a token that is made now. `identityEnds`: the end of the AWS credentials, if they have one. */
export const eksTokenEnd = (now: number, identityEnds: number | undefined): number =>
  Math.min(now + lifetime, identityEnds ?? Infinity)

/**
 * The date of a token that is made now. `serverTime`: the time by the cluster's API server; without it this clock has
 * to be right. The failure is a clause.
 */
export const eksTokenDate = (now: number, serverTime: number | undefined): Result.Result<number, string> => {
  const skew = (serverTime ?? now) - now
  return Math.abs(skew) <= maxSkew
    ? Result.succeed(now + skew)
    : Result.fail(
        `the API server's clock is ${spanText(Math.abs(skew))} ${skew > 0 ? "ahead of" : "behind"} this operator's; ` +
          "set the clock of the operator's node"
      )
}
