/** Splits a body of one JSON value per line, as watches answer. A broken last line is dropped with the connection. */
export const jsonLines = async function* (body: AsyncIterable<Uint8Array>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder()
  let unfinished = ""
  for await (const chunk of body) {
    const lines = (unfinished + decoder.decode(chunk, { stream: true })).split("\n")
    unfinished = lines.pop() ?? ""
    for (const line of lines) {
      if (line.trim() !== "") yield JSON.parse(line) as unknown
    }
  }
}
