/**
 * The lines of a body, as many at a time as have come; empty ones are left out. A broken last line is dropped with the connection, and a line
 * may be of any length.
 */
export const textLines = async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<ReadonlyArray<string>> {
  const decoder = new TextDecoder()
  /** Pieces of a line that has no end yet: joined once, however many chunks it takes. */
  let pieces: Array<string> = []
  for await (const chunk of body) {
    const text = decoder.decode(chunk, { stream: true })
    const lines = text.split("\n")
    const unfinished = lines.pop() ?? ""
    if (lines.length > 0) {
      lines[0] = pieces.join("") + (lines[0] ?? "")
      pieces = []
      const full = lines.filter((line) => line.trim() !== "")
      if (full.length > 0) yield full
    }
    if (unfinished !== "") pieces.push(unfinished)
  }
}
