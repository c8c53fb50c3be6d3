/**
 * A client's channel that keeps bytes back while it is uncertain who leads. Understands no messages: the relay does.
 */

import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { Term } from "../kernel/term.ts"

/**
 * Wraps a client's channel for the time of a term. While another replica may already lead, the client's bytes are kept
 * back: its session may have gone on at the new leader, and bytes of an old connection must not come after those of a
 * newer one.
 */
export const channelWhileLeading = (term: Term, channel: FrameChannel): FrameChannel => {
  /** Whether the router has paused the channel, as it does to brake fast senders. */
  let isPaused = false
  let stop = (): void => {}
  return {
    send: channel.send,
    queuedBytes: channel.queuedBytes,
    pause: () => {
      isPaused = true
      channel.pause()
    },
    resume: () => {
      isPaused = false
      if (term.isCertain()) channel.resume()
    },
    close: () => {
      stop()
      channel.close()
    },
    open: (handlers) => {
      const keptBack: Array<() => void> = []
      const tell = (): void => {
        if (term.isOver()) {
          keptBack.length = 0
          return stop()
        }
        if (!term.isCertain()) return
        for (const say of keptBack.splice(0)) say()
        if (!isPaused) channel.resume()
      }
      const pass = (say: () => void): void => {
        if (term.isOver()) return
        if (keptBack.length === 0 && term.isCertain()) return say()
        keptBack.push(say)
        channel.pause()
      }
      stop = term.listen(tell)
      channel.open({
        drained: handlers.drained,
        message: (bytes) => pass(() => handlers.message(bytes)),
        ignored: (what) => pass(() => handlers.ignored(what)),
        ended: (reason) => {
          stop()
          keptBack.length = 0
          handlers.ended(reason)
        }
      })
    }
  }
}
