/**
 * Joins two connections, so that the bytes of each go to the other, unread, and each half ends by itself.
 *
 * Not here: what was said on them before.
 */

import type { Duplex } from "node:stream"

const follow = (from: Duplex, to: Duplex): void => {
  // Fewer listeners than those of `pipeline`, which warns of a leak when a socket has two.
  from.pipe(to)
  from.once("close", () => {
    // Bytes that came before a proper end still leave on the other side.
    if (from.readableEnded && !to.writableFinished) to.once("finish", () => to.destroy())
    else to.destroy()
  })
}

/** Ends both when one of them is broken. Both have listeners for errors. */
export const joinStreams = (one: Duplex, other: Duplex): void => {
  follow(one, other)
  follow(other, one)
}
