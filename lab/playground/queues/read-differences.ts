/** Compares what readers of queues were to read with what they read. */

/** The bodies of messages, by the name of their reader. */
export type ReadBy = ReadonlyMap<string, ReadonlyArray<string>>

export interface ReadDifferences {
  /** How many of its own messages each reader has read. */
  readonly own: Readonly<Record<string, number>>
  /** How many messages their readers have not read yet. */
  readonly lacking: number
  /** How often messages came again, as those of a standard queue may: to another reader after a session's end. */
  readonly again: number
  /** A sentence for each reader that has messages which their own reader has not. */
  readonly strange: ReadonlyArray<string>
}

export const readDifferences = (wanted: ReadBy, read: ReadBy): ReadDifferences => {
  const bodies = (reader: string): ReadonlyArray<string> => read.get(reader) ?? []
  const found = [...wanted].map(
    ([reader, all]) => [reader, new Set(all).intersection(new Set(bodies(reader)))] as const
  )
  const owned = new Set(found.flatMap(([, own]) => [...own]))
  const foreign = [...wanted.keys()].map(
    (reader) => [reader, bodies(reader).filter((body) => !owned.has(body))] as const
  )
  const sum = (lists: Iterable<ReadonlyArray<string>>): number =>
    [...lists].reduce((all, { length }) => all + length, 0)
  const strangeCount = sum(foreign.map(([, others]) => others))
  return {
    own: Object.fromEntries(found.map(([reader, { size }]) => [reader, size])),
    lacking: sum(wanted.values()) - owned.size,
    again: sum([...wanted.keys()].map(bodies)) - owned.size - strangeCount,
    strange: foreign.flatMap(([reader, others]) => {
      const some = others.slice(0, 3).join(", ") + (others[3] === undefined ? "" : ", …")
      return others.length === 0 ? [] : [`${reader} has of others ${others.length} (${some})`]
    })
  }
}
