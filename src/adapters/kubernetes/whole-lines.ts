import type { Readable } from "node:stream"
import { Cause, Effect, type Pull } from "effect"

const newline = 0x0a
/** A body that nobody asks for lines is read no further than this many bytes, unless a line is longer. */
const mostAhead = 1024 * 1024

/**
 * A body, cut after line ends: as many lines at a time as have come, of any length. A broken last line is dropped with
 * the connection. Fails with what the body fails with.
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
    const one = hasLine ? Effect.sync(take) : ended
    if (asked === undefined || one === undefined) return
    const tell = asked
    asked = undefined
    tell(one)
  }
  // Not at once: what else is on its way comes along then, and each turn costs more than a line does.
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
    if (!hasLine) return
    if (bytes > mostAhead) body.pause()
    answerSoon()
  })
  body.on("error", (error) => end(Effect.fail(error)))
  body.on("close", () => end(Cause.done()))
  return Effect.callback((resume) => {
    asked = resume
    if (hasLine || ended !== undefined) answerSoon()
  })
}
