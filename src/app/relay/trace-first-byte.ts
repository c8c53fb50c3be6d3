/**
 * Traces the time from the moment at which a client is served until the first bytes go out to it. Only the first of
 * them count; without a trace there is no filter.
 */

import { Deferred, Effect, type Scope } from "effect"
import { type MessageFilter, pass } from "../../domain/protocol/message-filter.ts"
import { CurrentTracing, traced } from "../kernel/tracing.ts"

/** A client that got nothing for so long, in ms, will be heard of otherwise; no span lasts as long as a session. */
const maxWait = 60_000

/**
 * Traces the first bytes to a client of a session in the background, until the scope ends. The filter hears them;
 * `undefined` if there is no trace. `within`: the client's connect.
 */
export const traceFirstByte = Effect.fnUntraced(function* (
  session: string,
  within: string | undefined
): Effect.fn.Return<MessageFilter | undefined, never, Scope.Scope> {
  const tracing = yield* CurrentTracing
  if (tracing === undefined || within === undefined) return undefined
  const first = Deferred.makeUnsafe<void>()
  const wait = traced({ name: "first byte", within, attributes: { "braid.session": session } })(Deferred.await(first))
  yield* Effect.forkScoped(Effect.timeoutOption(wait, maxWait))
  return {
    toClient: {
      rows: "every",
      hear: () => {
        Deferred.doneUnsafe(first, Effect.void)
        return pass
      }
    }
  }
})
