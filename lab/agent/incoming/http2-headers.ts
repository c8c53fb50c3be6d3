/** Headers in the forms in which Node's HTTP/2 takes and gives them. */

import type { OutgoingHttpHeaders } from "node:http2"
import { type HeaderPairs, pairs } from "./http-answer.ts"

/** Raw headers without the pseudo headers. */
export const withoutPseudo = (raw: ReadonlyArray<string>): ReadonlyArray<string> =>
  pairs(raw)
    .filter(([name]) => !name.startsWith(":"))
    .flat()

/** Headers that say something about a connection, which HTTP/2 forbids (RFC 9113 §8.2.2). */
const ofConnection: ReadonlySet<string> = new Set([
  "connection",
  "http2-settings",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade"
])

/** The headers of a message, those of the connection left out. */
export const outgoingHeaders = (headers: HeaderPairs): OutgoingHttpHeaders => {
  const grouped = new Map<string, Array<string>>()
  for (const [given, value] of headers) {
    const name = given.toLowerCase()
    if (ofConnection.has(name)) continue
    const values = grouped.get(name)
    if (values === undefined) grouped.set(name, [value])
    else values.push(value)
  }
  return Object.fromEntries([...grouped].map(([name, values]) => [name, values.length > 1 ? values : values[0]]))
}
