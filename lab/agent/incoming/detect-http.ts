/**
 * Decides by the first bytes of a connection whether it speaks HTTP. Waiting for the bytes is in
 * `detect-connection.ts`.
 */

/** The protocol of a connection, as far as its first bytes show. */
export type Detected = "http" | "other" | "more"

/** Longer request lines are taken for something other than HTTP. */
const maxRequestLine = 65_536

/**
 * Whether a connection begins with HTTP/1.x; `more` if there are too few bytes to tell. A request line counts as HTTP
 * only when it is complete. HTTP/2 is a connection like any other here.
 */
export const detectHttp = (bytes: Uint8Array): Detected => {
  const end = bytes.indexOf(0x0a)
  const line = new TextDecoder("latin1").decode(bytes.subarray(0, end < 0 ? bytes.length : end))
  // Leading empty lines are allowed before a request (RFC 9112 §2.2).
  if (end >= 0 && (line === "\r" || line === "")) return detectHttp(bytes.subarray(end + 1))
  if (line === "\r" || line === "") return "more"
  if (end >= 0) return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+ \S+ HTTP\/1\.[01]\r?$/.test(line) ? "http" : "other"
  if (line.length > maxRequestLine) return "other"
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}( \S*( [HTP/1.0\r]{0,9})?)?$/.test(line) ? "more" : "other"
}
