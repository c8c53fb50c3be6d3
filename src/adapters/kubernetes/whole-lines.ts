import { setImmediate } from "node:timers/promises"

const newline = 0x0a

/** A body, cut after line ends: as many lines at a time as have come, of any length. A broken last line is dropped with the connection. */
export const wholeLines = async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  /** Of a line that has no end yet: joined once, however many chunks it takes. */
  let pieces: Array<Buffer> = []
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const end = bytes.lastIndexOf(newline) + 1
    const lines = bytes.subarray(0, end)
    const rest = bytes.subarray(end)
    if (end > 0) {
      const whole = pieces.length === 0 ? lines : Buffer.concat([...pieces, lines])
      pieces = []
      yield whole
    }
    if (rest.length > 0) pieces.push(rest)
    // What else is on its way comes at once then: each turn costs more than an event does.
    await setImmediate()
  }
}
