import { setImmediate } from "node:timers/promises"

const newline = 0x0a

/**
 * The lines of a body, as many at a time as have come; empty ones are left out. A broken last line is dropped with the connection, and a line
 * may be of any length.
 */
export const byteLines = async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<ReadonlyArray<Buffer>> {
  /** Pieces of a line that has no end yet: joined once, however many chunks it takes. */
  let pieces: Array<Buffer> = []
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const lines: Array<Buffer> = []
    let start = 0
    for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, start)) {
      const line = bytes.subarray(start, end)
      lines.push(pieces.length === 0 ? line : Buffer.concat([...pieces, line]))
      pieces = []
      start = end + 1
    }
    if (start < bytes.length) pieces.push(bytes.subarray(start))
    const full = lines.filter((line) => line.some((byte) => byte > 0x20))
    if (full.length > 0) yield full
    // What else is on its way comes at once then: each turn costs more than an event does.
    await setImmediate()
  }
}
