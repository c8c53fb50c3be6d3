/**
 * The headers of requests and answers that pass through a tunnel. A request of a person passes the cell and the
 * outpost, one of the primary the outpost alone. As whom a request is made, neither the person nor the primary may say:
 * the member's operator writes that itself.
 *
 * Not here: what it writes (impersonation.ts, adapters/kubernetes/serve-lanes.ts).
 */

/** Headers of one connection, which do not pass on (RFC 9110 §7.6.1). */
const ofConnection = ["connection", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade"]

/** The prefix of headers that a cell writes for an outpost. */
export const tunnelPrefix = "braid-"

/** Headers that only this side may send, and those that end here. */
const ours: ReadonlySet<string> = new Set([...ofConnection, "authorization", "host", "expect", "trailer"])
const ourPrefixes = ["impersonate-", "x-remote-", "proxy-", tunnelPrefix]

/** Headers as Node gives and takes them: names and values in turn. */
export type RawHeaders = ReadonlyArray<string>

/** The same, name by name. */
export const pairsOf = (raw: RawHeaders): Array<[name: string, value: string]> =>
  raw.flatMap((name, at): Array<[string, string]> => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""]] : []))

/** Names that the header `Connection` adds to those of one connection. */
const namedByConnection = (raw: RawHeaders): ReadonlySet<string> =>
  new Set(
    pairsOf(raw)
      .filter(([name]) => name.toLowerCase() === "connection")
      .flatMap(([, value]) => value.split(",").map((part) => part.trim().toLowerCase()))
  )

const without = (raw: RawHeaders, isDropped: (name: string) => boolean): Array<string> => {
  const named = namedByConnection(raw)
  return pairsOf(raw).flatMap(([name, value]) => {
    const lower = name.toLowerCase()
    return named.has(lower) || isDropped(lower) ? [] : [name, value]
  })
}

/** The headers of a request that pass on to the next hop. */
export const passedOn = (raw: RawHeaders): Array<string> =>
  without(raw, (name) => ours.has(name) || ourPrefixes.some((prefix) => name.startsWith(prefix)))

/** The headers of an answer that pass back to the hop before. */
export const passedBack = (raw: RawHeaders): Array<string> => without(raw, (name) => ofConnection.includes(name))
