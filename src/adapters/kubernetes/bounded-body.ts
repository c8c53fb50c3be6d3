/**
 * Reads the body of an answer up to a bound. The API server of a member may be anybody's, and this process serves all
 * clusters. Watches are cut into lines in whole-lines.ts.
 */

import type { Readable } from "node:stream"

const mebibyte = 1024 * 1024
/** Longest answer with one object, or line of a watch, in bytes. An API server stores no object of half the size. */
export const largestObject = 4 * mebibyte
/** Longest list, in bytes: some 10,000 pods. */
export const largestList = 64 * mebibyte
/** Longest answer that is not a success, in bytes. */
export const largestRefusal = 256 * 1024

/** The error of an answer, or of a line of an answer, that is longer than `most` bytes. */
export const tooLong = (what: string, most: number): Error =>
  new Error(`${what} is longer than ${most / 1024} KiB; the rest was not read`)

/** The whole body. Rejects, and ends the body's connection, when more than `most` bytes have come. */
export const readBody = async (body: Readable, most: number): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  // A loop that is left destroys the body, and with it the connection.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > most) throw tooLong("the answer", most)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes)
}
