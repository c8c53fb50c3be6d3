/**
 * Reads the lists of OpenTelemetry's variables, such as `OTEL_EXPORTER_OTLP_HEADERS`: `key=value` pairs with commas
 * between them, values percent-encoded (W3C Baggage, without properties).
 *
 * Not here: what the pairs are for.
 */

/** The most pairs of a list; a collector needs a few. */
const maxPairs = 64

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return undefined
  }
}

/** A character that no header and no attribute holds: it would end the line. */
const isPlain = (text: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/u.test(text)

/** The pairs of a list; `undefined` if it is none. */
export const keyValueList = (text: string): Readonly<Record<string, string>> | undefined => {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "")
  const found: Record<string, string> = {}
  for (const pair of pairs) {
    const at = pair.indexOf("=")
    const key = pair.slice(0, Math.max(at, 0)).trim()
    const value = decoded(pair.slice(at + 1))
    if (at < 1 || !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u.test(key) || value === undefined || !isPlain(value))
      return undefined
    found[key] = value
  }
  return pairs.length > maxPairs ? undefined : found
}
