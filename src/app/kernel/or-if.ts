/**
 * The answer of an API server that is no failure to its caller, such as that an object to delete is gone.
 */

import { Effect } from "effect"
import type { KubeError, KubeErrorReason } from "../../ports/kube-api.ts"

/** Runs `then` instead if the call was refused for this reason. */
export const orIf =
  <B>(reason: KubeErrorReason, then: Effect.Effect<B, KubeError>) =>
  <A>(call: Effect.Effect<A, KubeError>): Effect.Effect<A | B, KubeError> =>
    call.pipe(Effect.catch((error) => (error.reason === reason ? then : Effect.fail(error))))
