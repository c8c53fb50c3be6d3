/** Compares what readers of queues were to read with what they read. */

/** The bodies of messages, by the name of their reader. */
export type ReadBy = ReadonlyMap<string, ReadonlyArray<string>>

const some = (what: string, bodies: ReadonlyArray<string>): ReadonlyArray<string> =>
  bodies.length === 0 ? [] : [`${what} ${bodies.length} (${bodies.slice(0, 3).join(", ")}${bodies[3] ? ", …" : ""})`]

/** A sentence for each reader that has not read each of its messages once, and no other. */
export const readDifferences = (wanted: ReadBy, read: ReadBy): ReadonlyArray<string> =>
  [...wanted].flatMap(([reader, own]) => {
    const [bodies, seen] = [read.get(reader) ?? [], new Set<string>()]
    const again = bodies.filter((body) => seen.size === seen.add(body).size)
    const wantedOnes = new Set(own)
    const found = [
      ...some(
        "lacks",
        own.filter((body) => !seen.has(body))
      ),
      ...some("has more than once", again),
      ...some(
        "has of others",
        [...seen].filter((body) => !wantedOnes.has(body))
      )
    ]
    return found.length === 0 ? [] : [`${reader} ${found.join(", ")}`]
  })
