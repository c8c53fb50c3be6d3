import { deliver, type FrameChannel, type FrameHandlers } from "../../src/ports/frame-channel.ts"

/** A {@link FrameChannel} whose other end is the test. */
export interface FakeChannel extends FrameChannel {
  readonly sent: Array<Uint8Array>
  /** How often what came was acknowledged. */
  readonly acknowledged: () => number
  readonly isClosed: () => boolean
  readonly isPaused: () => boolean
  /** Something arrives. */
  readonly receive: (bytes: Uint8Array) => void
  /** How many of the messages that arrived were judged by their head to pass. */
  readonly passed: () => number
  /** A part of a message arrives, and not its end. */
  readonly receivePart: () => void
  /** A read begins: gives what is called when its messages were taken, if the read is timed. */
  readonly timeRead: NonNullable<FrameHandlers["timeRead"]>
  /** Sets whether the channel waits for room. */
  readonly waitForRoom: (doesWait: boolean) => void
  /** The other side is gone. */
  readonly end: (reason: string) => void
  /** Sets how much waits in the queue; at 0 the channel says that it is drained. */
  readonly queue: (bytes: number) => void
}

export const fakeChannel = (): FakeChannel => {
  const sent: Array<Uint8Array> = []
  let handlers: FrameHandlers | undefined
  let [acknowledged, closed, doesWaitForRoom, paused, queued, passed] = [0, false, false, false, 0, 0]
  return {
    sent,
    send: (bytes) => void sent.push(bytes),
    acknowledge: () => void acknowledged++,
    acknowledged: () => acknowledged,
    queuedBytes: () => queued,
    pause: () => {
      paused = true
    },
    resume: () => {
      paused = false
    },
    close: () => {
      closed = true
    },
    open: (given) => {
      handlers = {
        ...given,
        passed: () => {
          passed++
          given.passed?.()
        }
      }
    },
    passed: () => passed,
    isClosed: () => closed,
    isPaused: () => paused,
    receive: (bytes) => {
      if (handlers !== undefined) deliver(handlers, bytes)
    },
    receivePart: () => handlers?.part?.(),
    timeRead: () => handlers?.timeRead?.(),
    waitsForRoom: () => doesWaitForRoom,
    waitForRoom: (doesWait) => {
      doesWaitForRoom = doesWait
    },
    end: (reason) => handlers?.ended(reason),
    queue: (bytes) => {
      queued = bytes
      if (bytes === 0) handlers?.drained()
    }
  }
}
