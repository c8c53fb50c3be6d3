/**
 * A two-way stream of whole protocol messages, in plain callbacks: the message path runs no fiber and no promise per
 * message. Behind it is a client's WebSocket, the link to a member or an agent's TCP connection.
 */
export interface FrameChannel {
  /**
   * Queues one message. Never throws; on a closed channel it does nothing. The buffer must not be written to
   * afterwards.
   */
  readonly send: (bytes: Uint8Array) => void
  /** Bytes queued and not yet taken by the network. */
  readonly queuedBytes: () => number
  /**
   * Stops and restarts reading, so that the sender feels the brake. While paused the end of the channel may go
   * unnoticed.
   */
  readonly pause: () => void
  readonly resume: () => void
  /** Ends the channel: what is queued is still sent, `ended` is not called for it. */
  readonly close: () => void
  /** Starts delivery. Called once; what arrived before is delivered first. */
  readonly open: (handlers: FrameHandlers) => void
}

export interface FrameHandlers {
  readonly message: (bytes: Uint8Array) => void
  /** The other side is gone. Called at most once, never after `close`. */
  readonly ended: (reason: string) => void
  /** Everything queued was taken by the network. */
  readonly drained: () => void
  /** Something that is not a message came and was left out: a text frame, for example. */
  readonly ignored: (what: string) => void
}
