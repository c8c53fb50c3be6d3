import { deliver, type FrameChannel, type FrameHandlers } from "../../src/ports/frame-channel.ts"

interface End extends FrameChannel {
  handlers: FrameHandlers | undefined
  over: boolean
  readonly waiting: Array<Uint8Array>
}

/** Two ends of one connection in this process; a message is delivered in the next microtask, in order. */
export const channelPair = (): readonly [FrameChannel, FrameChannel] => {
  const make = (other: () => End): End => {
    const end: End = {
      handlers: undefined,
      over: false,
      waiting: [],
      send: (bytes) => {
        if (end.over) return
        queueMicrotask(() => {
          const peer = other()
          if (peer.over) return
          if (peer.handlers === undefined) peer.waiting.push(bytes)
          else deliver(peer.handlers, bytes)
        })
      },
      queuedBytes: () => 0,
      pause: () => {},
      resume: () => {},
      close: () => {
        if (end.over) return
        end.over = true
        queueMicrotask(() => {
          const peer = other()
          if (peer.over) return
          peer.over = true
          peer.handlers?.ended("closed by the other side")
        })
      },
      open: (handlers) => {
        end.handlers = handlers
        for (const bytes of end.waiting.splice(0)) deliver(handlers, bytes)
      }
    }
    return end
  }
  const left: End = make(() => right)
  const right: End = make(() => left)
  return [left, right]
}
