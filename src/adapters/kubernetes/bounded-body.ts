/**
 * Reads the body of an answer up to a bound. The API server of a member is not trusted, and this process serves all
 * clusters. Watches are cut into lines in whole-lines.ts.
 */

import type { Readable } from "node:stream"
import type { LargeBodies } from "./large-bodies.ts"

const mebibyte = 1024 * 1024
/** Longest answer with one object, or line of a watch, in bytes. An API server stores no object of half the size. */
export const maxObject = 4 * mebibyte
/** Longest page of a list, in bytes. An API server gives each object that it stores on a page of its own, if asked. */
export const maxPage = 8 * mebibyte
/** Longest answer that waits for no other, in bytes. */
const maxSmall = 256 * 1024
/** Longest answer that is not a success, in bytes. */
export const maxRefusal = 256 * 1024

/** The error of an answer, or of a line of an answer, that is longer than a bound. */
export class TooLong extends Error {}

export const tooLong = (what: string, most: number): TooLong =>
  new TooLong(`${what} is longer than ${most / 1024} KiB; the rest was not read`)

/**
 * The whole body. Rejects, and ends the body's connection, when more than `most` bytes have come. A large one waits for
 * its turn among those of its server.
 */
export const readBody = async (body: Readable, most: number, large?: LargeBodies): Promise<Buffer> => {
  const chunks: Array<Buffer> = []
  let bytes = 0
  let leave: (() => void) | undefined
  try {
    // A loop that is left destroys the body, and with it the connection.
    for await (const chunk of body as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > most) throw tooLong("the answer", most)
      chunks.push(chunk)
      if (bytes > maxSmall) leave ??= await large?.enter()
    }
    return Buffer.concat(chunks, bytes)
  } finally {
    leave?.()
  }
}
