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
  /**
   * Lets the other side's network know at once that what it sent has come, though no message answers it. A client whose
   * socket collects small writes (Nagle's algorithm) sends the next one only then, and a network that has nothing to
   * send says so 40 ms later.
   */
  readonly acknowledge?: () => void
  /** Bytes queued and not yet taken by the network. */
  readonly queuedBytes: () => number
  /**
   * Stops and restarts reading, so that the sender feels the brake. While paused the end of the channel may go
   * unnoticed.
   */
  readonly pause: () => void
  readonly resume: () => void
  /**
   * Whether the channel, though not paused, does not read now because the next message needs memory that others have.
   * The silence of the other side means nothing then. The channel ends if that lasts too long.
   */
  readonly waitsForRoom?: () => boolean
  /**
   * Ends the channel; `ended` is not called. Nothing that comes is kept any more. Queued messages are still sent, for
   * as long as the other side goes on taking them, but no longer than some minutes: a queue must not stay for ever.
   */
  readonly close: () => void
  /** Starts delivery. Called once; messages that arrived earlier are delivered first. */
  readonly open: (handlers: FrameHandlers) => void
  /**
   * The channel of the socket itself, if this channel is a guard around it. Messages that are routed bypass the guard.
   */
  readonly direct?: FrameChannel
}

/** The route of a message. Valid until the next message is routed or delivered, or the read ends. */
export interface FrameRoute {
  /** The channel that gets the message: the channel of a socket itself, never a guard. */
  readonly to: FrameChannel
  /** Where the message's connection id stands, in bytes from its beginning, and how many bytes it has. */
  readonly idAt: number
  readonly idLength: number
  /** The id to write in its place, as it stands on the wire; `undefined` if the message passes unchanged. */
  readonly id: Uint8Array | undefined
}

/** A sum of messages. */
export interface Tally {
  messages: number
  bytes: number
}

export interface FrameHandlers {
  readonly message: (bytes: Uint8Array) => void
  /** A part of a message came, and not its end: the other side is not silent. */
  readonly part?: () => void
  /** The other side is gone. Called at most once, never after `close`. */
  readonly ended: (reason: string) => void
  /** Everything queued was taken by the network. */
  readonly drained: () => void
  /** Something other than a message came, such as a text frame, and was left out. */
  readonly ignored: (what: string) => void
  /**
   * Judges a whole message of `length` bytes by its head, the first `headLength` bytes (domain/protocol/bulk.ts). The
   * reader of the message carries a route out, in the order of all messages. `undefined` if the message is for
   * {@link message}. Both are called in the order in which messages come. A route may also be used for the messages
   * behind, until the end of the read, as long as each is as long and has the same bytes in front of its payload.
   */
  readonly routeOf?: (head: Uint8Array, length: number) => FrameRoute | undefined
  /** The messages that pass, and so are not delivered, are added to it. */
  readonly tally?: Tally
  /**
   * Asked before each read whether it is timed. The answer for one that is timed is called when the network has taken
   * the messages that went on to another channel, the first one if they went to several; never if none went on.
   */
  readonly timeRead?: () => (() => void) | undefined
  /** The messages of one read are handled, and at least one of them was routed. */
  readonly passed?: () => void
}

/** The message with the route's id in place of its own. */
export const withRouteId = (bytes: Uint8Array, { id, idAt, idLength }: FrameRoute): Uint8Array => {
  if (id === undefined) return bytes
  const changed = new Uint8Array(bytes.length - idLength + id.length)
  changed.set(bytes.subarray(0, idAt))
  changed.set(id, idAt)
  changed.set(bytes.subarray(idAt + idLength), idAt + id.length)
  return changed
}

/** Adds a message of `length` bytes. */
export const addTo = (tally: Tally | undefined, length: number): void => {
  if (tally === undefined) return
  tally.messages++
  tally.bytes += length
}

/** Delivers a message that is a read of its own, as channels do that do not carry messages in place. */
export const deliver = (handlers: FrameHandlers, bytes: Uint8Array): void => {
  const route = handlers.routeOf?.(bytes, bytes.length)
  if (route === undefined) return handlers.message(bytes)
  addTo(handlers.tally, bytes.length)
  route.to.send(withRouteId(bytes, route))
  handlers.passed?.()
}
