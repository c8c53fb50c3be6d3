/**
 * A client's channel that keeps bytes back while it is uncertain who leads. Understands no messages: the relay does.
 */

import type { FrameChannel } from "../../ports/frame-channel.ts"
import { passedOn } from "../kernel/guarded-channel.ts"
import type { Term } from "../kernel/term.ts"

/**
 * Wraps a client's channel for the time of a term. While another replica may already lead, the client's bytes are kept
 * back: its session may have gone on at the new leader, and bytes of an old connection must not come after those of a
 * newer one.
 */
export const channelWhileLeading = (term: Term, channel: FrameChannel): FrameChannel => {
  /** Whether the router has paused the channel, as it does to brake fast senders. */
  let isPaused = false
  /** Whether one side has ended the channel, or the term is over: nothing is passed any more. */
  let isFinished = false
  /** The calls that pass what was kept back, the oldest first. */
  const keptBack: Array<() => void> = []
  /** Whether something that was kept back is being passed: what comes meanwhile must not overtake the rest. */
  let isPassing = false
  let stop = (): void => {}
  const finish = (): void => {
    isFinished = true
    keptBack.length = 0
    stop()
  }
  const mayPass = (): boolean => !isFinished && term.isCertain()
  const mayPassAtOnce = (): boolean => keptBack.length === 0 && !isPassing && mayPass()
  return {
    ...passedOn(channel),
    send: channel.send,
    pause: () => {
      isPaused = true
      channel.pause()
    },
    resume: () => {
      isPaused = false
      if (term.isCertain()) channel.resume()
    },
    close: () => {
      finish()
      channel.close()
    },
    open: (handlers) => {
      const tell = (): void => {
        if (term.isOver()) return finish()
        isPassing = true
        while (keptBack.length > 0 && mayPass()) keptBack.shift()?.()
        isPassing = false
        if (mayPass() && !isPaused) channel.resume()
      }
      const pass = (say: () => void): void => {
        if (isFinished || term.isOver()) return
        if (mayPassAtOnce()) return say()
        keptBack.push(say)
        channel.pause()
      }
      stop = term.listen(tell)
      channel.open({
        ...handlers,
        routeOf: (head, length) => (mayPassAtOnce() ? handlers.routeOf?.(head, length) : undefined),
        message: (bytes) => pass(() => handlers.message(bytes)),
        ignored: (what) => pass(() => handlers.ignored(what)),
        ended: (reason) => {
          finish()
          handlers.ended(reason)
        }
      })
    }
  }
}
