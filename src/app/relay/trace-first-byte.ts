/**
 * Traces the time from the moment at which a client is served until the first bytes go out to it. Only the first of
 * them is seen; after that, and without a trace, messages pass as if this did not exist.
 */

import { Deferred, Effect, type Scope } from "effect"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { CurrentTracing, traced } from "../kernel/tracing.ts"

/** A client that got nothing for so long, in ms, will be heard of otherwise; no span lasts as long as a session. */
const longestWait = 60_000

/** Calls `told` when the channel first sends, and takes itself away before. */
const onFirstSend = (channel: FrameChannel, told: () => void): void => {
  const { send } = channel
  const own = Object.getOwnPropertyDescriptor(channel, "send")
  Object.defineProperty(channel, "send", {
    configurable: true,
    value: (bytes: Uint8Array) => {
      if (own === undefined) Reflect.deleteProperty(channel, "send")
      else Object.defineProperty(channel, "send", own)
      told()
      send.call(channel, bytes)
    }
  })
}

/** Traces the first bytes to a client of a session in the background, until the scope ends. `within`: its connect. */
export const traceFirstByte = (
  client: FrameChannel,
  session: string,
  within: string | undefined
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(CurrentTracing, (tracing) => {
    if (tracing === undefined || within === undefined) return Effect.void
    const first = Deferred.makeUnsafe<void>()
    onFirstSend(client, () => Deferred.doneUnsafe(first, Effect.void))
    const wait = traced({ name: "first byte", within, attributes: { "braid.session": session } })(Deferred.await(first))
    return Effect.asVoid(Effect.forkScoped(Effect.timeoutOption(wait, longestWait)))
  })
