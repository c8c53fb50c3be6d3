/**
 * Cuts the body of an answer into whole lines as they arrive, for watches. Does not parse them.
 */

import type { Readable } from "node:stream"
import { Cause, Effect, type Pull } from "effect"
import { maxObject, tooLong } from "./bounded-body.ts"

const newline = 0x0a
/** How many bytes are read ahead of the reader, unless a line is longer. */
const maxAhead = 1024 * 1024

/**
 * Cuts a body after line ends: gives as many lines at a time as have come. A broken last line is dropped with the
 * connection. Fails as the body fails, and when a line is longer than an object can be.
 */
export const wholeLines = (body: Readable): Pull.Pull<Buffer, unknown> => {
  let chunks: Array<Buffer> = []
  let bytes = 0
  let hasLine = false
  let ended: Effect.Effect<never, unknown> | undefined
  let asked: ((answer: Effect.Effect<Buffer, unknown>) => void) | undefined
  let answers = false

  const take = (): Buffer => {
    const all = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
    const end = all.lastIndexOf(newline) + 1
    chunks = end < all.length ? [all.subarray(end)] : []
    bytes = all.length - end
    hasLine = false
    if (body.isPaused()) body.resume()
    return all.subarray(0, end)
  }
  const answer = (): void => {
    answers = false
    const next = hasLine ? Effect.sync(take) : ended
    if (asked === undefined || next === undefined) return
    const tell = asked
    asked = undefined
    tell(next)
  }
  // Delayed to the next turn of the event loop: bytes on their way come along then, and a turn costs more than a line.
  const answerSoon = (): void => {
    if (answers || asked === undefined) return
    answers = true
    setImmediate(answer)
  }
  const end = (how: Effect.Effect<never, unknown>): void => {
    ended ??= how
    answerSoon()
  }
  body.on("data", (chunk: Uint8Array) => {
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    chunks.push(piece)
    bytes += piece.length
    hasLine ||= piece.includes(newline)
    if (!hasLine && bytes > maxObject) return void body.destroy(tooLong("a line of the watch", maxObject))
    if (!hasLine) return
    if (bytes > maxAhead) body.pause()
    answerSoon()
  })
  body.on("error", (error) => end(Effect.fail(error)))
  body.on("close", () => end(Cause.done()))
  return Effect.callback((resume) => {
    asked = resume
    if (hasLine || ended !== undefined) answerSoon()
  })
}
