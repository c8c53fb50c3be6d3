/**
 * The port for connections that carry whole protocol messages, in plain callbacks: the message path runs no fiber and
 * no promise per message. Knows no message: a frame is bytes.
 */

/**
 * A two-way stream of whole protocol messages: a client's WebSocket, the link to a member, or an agent's TCP
 * connection.
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
  /** Ends the channel. Queued messages are still sent, and `ended` is not called. */
  readonly close: () => void
  /** Starts delivery. Called once; messages that arrived earlier are delivered first. */
  readonly open: (handlers: FrameHandlers) => void
}

export interface FrameHandlers {
  readonly message: (bytes: Uint8Array) => void
  /** The other side is gone. Called at most once, never after `close`. */
  readonly ended: (reason: string) => void
  /** Everything queued was taken by the network. */
  readonly drained: () => void
  /** Something other than a message came, such as a text frame, and was left out. */
  readonly ignored: (what: string) => void
}
