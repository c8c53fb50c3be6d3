/**
 * The read that is being timed, if one is. The bytes of a read are handled in one go, so there is one at most. Its time
 * ends when the network has taken the bytes that another socket was given meanwhile, the first one if there are
 * several: answers and pongs to the sender itself were not passed on.
 *
 * Not here: which reads are timed (app/relay/added-latency.ts), and when bytes are taken (out-buffer.ts).
 */

import type { Duplex } from "node:stream"

let current: { readonly from: Duplex; readonly taken: () => void } | undefined

/** Handles bytes that came from a socket. `taken`: ends their time. */
export const timeRead = (from: Duplex, taken: () => void, handle: () => void): void => {
  current = { from, taken }
  try {
    handle()
  } finally {
    current = undefined
  }
}

/** Hands the end of the time over to a socket that is given bytes; `undefined` for most. */
export const takeTimedRead = (to: Duplex): (() => void) | undefined => {
  if (current === undefined || current.from === to) return undefined
  const { taken } = current
  current = undefined
  return taken
}
