/** The refusal of a split, which lasts until an administrator or the user acts. Other failures pass by themselves. */

import { Data, Effect, Result } from "effect"

export class SplitRefused extends Data.TaggedError("SplitRefused")<{
  /** As of an HTTP answer. */
  readonly code: 400 | 403 | 404 | 500
  /** A sentence. */
  readonly why: string
  /** Set if the workload is configured to have no queue of SQS, which is no mistake where `mirrord up` asks. */
  readonly isUnconfigured?: true
}> {}

/** The value of a result whose failure is a sentence about a mistake. */
export const orRefuse = <A>(result: Result.Result<A, string>): Effect.Effect<A, SplitRefused> =>
  Effect.fromResult(Result.mapError(result, (why) => new SplitRefused({ code: 400, why })))
