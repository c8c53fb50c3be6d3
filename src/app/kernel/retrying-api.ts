/**
 * Repeats calls that a client waits for while their failures may pass. Not for controllers, which repeat their calls
 * themselves (controller.ts).
 */

import { Clock, Effect, Random, Result } from "effect"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"

/** How long a call is repeated, in ms. One failed call must not refuse a client; a refusal comes within 10 s. */
const retryFor = 8_000
/** Pause between two tries, in ms, before jitter; it doubles up to `maxPause`. */
const firstPause = 250
const maxPause = 2_000

/**
 * Repeats an attempt while its failures may pass by themselves, for 8 s or `forMs`, and never sooner than a server asks
 * for. Fails with the last failure.
 */
export const retrying = Effect.fnUntraced(function* <
  A,
  E extends { readonly message: string; readonly retryAfterMs?: number },
  R
>(attempt: Effect.Effect<A, E, R>, mayPass: (error: E) => boolean, forMs = retryFor): Effect.fn.Return<A, E, R> {
  const until = (yield* Clock.currentTimeMillis) + forMs
  for (let pause = firstPause; ; pause = Math.min(maxPause, 2 * pause)) {
    const result = yield* Effect.result(attempt)
    if (Result.isSuccess(result)) return result.success
    const error = result.failure
    const wait = Math.max(pause * (yield* Random.nextBetween(0.8, 1.2)), error.retryAfterMs ?? 0)
    if (!mayPass(error) || (yield* Clock.currentTimeMillis) + wait > until) return yield* Effect.fail(error)
    yield* Effect.sleep(wait)
  }
})

/**
 * Whether a failure may pass: the server was away, busy or confused, or a token is being replaced. A refusal of the
 * request itself would come again.
 */
const mayPass = ({ code, reason }: KubeError): boolean => {
  switch (reason) {
    case "Unreachable":
    case "TooManyRequests":
    case "Unauthorized":
      return true
    case "Other":
      return code === undefined || code >= 500
    case "NotFound":
    case "AlreadyExists":
    case "Conflict":
    case "Gone":
    case "Forbidden":
    case "Invalid":
    // The call has waited already, for as long as a user can wait (leadership/while-leading.ts).
    case "NotLeading":
      return false
  }
}

/**
 * Whether the failure of a read or a create may pass. A conflict may: an object that is only read, or does not exist
 * yet, cannot have been changed by others, so they were in the server's own way, such as at a quota.
 */
const mayPassUnchanged = (error: KubeError): boolean => error.reason === "Conflict" || mayPass(error)

/** A read that a client waits for, repeated for `forMs`. */
export const retryingRead = <A>(read: Effect.Effect<A, KubeError>, forMs: number): Effect.Effect<A, KubeError> =>
  retrying(read, mayPassUnchanged, forMs)

/**
 * An API for calls that a client waits for: calls are repeated as {@link retrying} does, watches are not. A call whose
 * answer was lost may have been carried out, so a repeated create may find `AlreadyExists`, and a repeated delete
 * `NotFound`.
 */
export const retryingApi = (api: KubeApi): KubeApi => ({
  cluster: api.cluster,
  watch: api.watch,
  get: (...call) => retrying(api.get(...call), mayPassUnchanged),
  list: (...call) => retrying(api.list(...call), mayPassUnchanged),
  create: (...call) => retrying(api.create(...call), mayPassUnchanged),
  mergePatch: (...call) => retrying(api.mergePatch(...call), mayPass),
  update: (...call) => retrying(api.update(...call), mayPass),
  delete: (...call) => retrying(api.delete(...call), mayPass)
})
