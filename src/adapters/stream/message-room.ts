/**
 * Shares the memory for unfinished messages among all connections of the process. Small messages take no share. A
 * connection whose message may not grow waits for room in the order of asking.
 *
 * Not here: the rule (domain/protocol/message-room.ts), and what a channel does while it waits (socket-channel.ts).
 */

import { mayGrow } from "../../domain/protocol/message-room.ts"

/** Part of the room that a connection's unfinished message has. */
export interface Share {
  /** Bytes that the message holds, or may hold after the next read. */
  held: number
  /** The growth that was asked for by the last {@link MessageRoom.take}. */
  wanted: number
  most: number
  /** There is room now; the share holds what was wanted. */
  readonly granted: () => void
}

export class MessageRoom {
  readonly size: number
  #taken = 0
  readonly #waiting = new Set<Share>()

  /** `size` in bytes: at least the largest message. */
  constructor(size: number) {
    this.size = size
  }

  /** Bytes of all shares. */
  get taken(): number {
    return this.#taken
  }

  /** Whether a message waits for room. */
  get isWanted(): boolean {
    return this.#waiting.size > 0
  }

  isWaiting(share: Share): boolean {
    return this.#waiting.has(share)
  }

  /** Makes the share `wanted` bytes, of at most `most` later. `false`: it waits, and holds what it held. */
  take(share: Share, wanted: number, most: number): boolean {
    share.wanted = wanted
    share.most = most
    if (wanted > share.held && !mayGrow(this.size, this.size - this.#taken, share)) {
      this.#waiting.add(share)
      return false
    }
    const isLess = wanted < share.held
    this.#waiting.delete(share)
    this.#set(share)
    if (isLess) this.#serve()
    return true
  }

  /** Gives the share back. */
  leave(share: Share): void {
    this.take(share, 0, 0)
  }

  #set(share: Share): void {
    this.#taken += share.wanted - share.held
    share.held = share.wanted
  }

  #serve(): void {
    for (const share of this.#waiting) {
      if (!mayGrow(this.size, this.size - this.#taken, share)) continue
      this.#waiting.delete(share)
      this.#set(share)
      share.granted()
    }
  }
}
