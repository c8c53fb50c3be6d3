/**
 * The connection of `mirrord diagnose latency`: each Ping gets its Pong, and nothing else is served. There is no
 * session behind it and no agent, so every replica can answer.
 */

import { Effect } from "effect"
import { clientMessage } from "../../domain/protocol/client-message.ts"
import { daemonMessage } from "../../domain/protocol/daemon-message.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"

/** How long such a connection may last, in ms. The client pings a hundred times, one after the other. */
const longest = 300_000
/** Bytes of answers that may wait for a client that does not read them. */
const maxQueued = 64 * 1024

const pong = daemonMessage.encode({ _tag: "Pong" })
const notServed = daemonMessage.encode({
  _tag: "Close",
  value: "This connection answers pings only; a session has to be started under the URL of its target."
})

const isPing = (bytes: Uint8Array): boolean => {
  const message = clientMessage.decode(bytes)
  return message._tag === "Decoded" && message.value._tag === "Ping"
}

/** Answers pings until the client leaves, sends something else, or has had its time. The channel stays open. */
export const answerPings = (client: FrameChannel): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const end = (): void => resume(Effect.void)
    client.open({
      message: (bytes) => {
        if (isPing(bytes)) {
          client.send(pong)
          if (client.queuedBytes() > maxQueued) client.pause()
        } else {
          client.send(notServed)
          end()
        }
      },
      ended: end,
      drained: () => client.resume(),
      ignored: () => {}
    })
  }).pipe(Effect.timeoutOption(longest), Effect.asVoid)
