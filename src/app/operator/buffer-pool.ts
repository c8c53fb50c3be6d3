/**
 * Makes the pool small from which Node takes small buffers. A part of it keeps the whole piece of 64 KiB in memory, and
 * Node holds such parts as long as a TLS connection lives, so that each connection would hold a piece of its own.
 *
 * Not here: the buffers of the message path (adapters/stream/out-buffer.ts), which are not taken from the pool.
 */

/** Bytes of a piece. Buffers of half its size and more are not taken from the pool. */
const poolPiece = 1024

export const makePoolSmall = (): void => {
  Buffer.poolSize = poolPiece
}
