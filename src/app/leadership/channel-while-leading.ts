/**
 * A client's channel that keeps bytes back while nobody knows who leads. Their meaning is the relay's.
 */

import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { Term } from "../kernel/term.ts"

/**
 * A client's channel for as long as a term lasts. While nobody knows whether somebody else leads by now, what the
 * client says is kept back: its session may have gone on at the new leader, and bytes of an old connection must not
 * come after those of a newer one.
 */
export const channelWhileLeading = (term: Term, channel: FrameChannel): FrameChannel => {
  /** By the router, which brakes fast senders. */
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
      const held: Array<() => void> = []
      const tell = (): void => {
        if (term.isOver()) {
          held.length = 0
          return stop()
        }
        if (!term.isCertain()) return
        for (const say of held.splice(0)) say()
        if (!isPaused) channel.resume()
      }
      const pass = (say: () => void): void => {
        if (term.isOver()) return
        if (held.length === 0 && term.isCertain()) return say()
        held.push(say)
        channel.pause()
      }
      stop = term.listen(tell)
      channel.open({
        drained: handlers.drained,
        message: (bytes) => pass(() => handlers.message(bytes)),
        ignored: (what) => pass(() => handlers.ignored(what)),
        ended: (reason) => {
          stop()
          held.length = 0
          handlers.ended(reason)
        }
      })
    }
  }
}
