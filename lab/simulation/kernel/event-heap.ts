/**
 * A binary heap of events in virtual time, earliest first. Cancelling is left to the kernel: a cancelled entry stays
 * until its time and does nothing then.
 */

/** An entry of the heap. */
export interface HeapEntry {
  /** Virtual ms. */
  readonly time: number
  /** Order of scheduling, which decides between entries of the same time. */
  readonly order: number
}

const before = (a: HeapEntry, b: HeapEntry): boolean => a.time < b.time || (a.time === b.time && a.order < b.order)

/** A heap with the earliest entry first. */
export class EventHeap<Entry extends HeapEntry> {
  readonly #entries: Array<Entry> = []

  get size(): number {
    return this.#entries.length
  }

  peek(): Entry | undefined {
    return this.#entries[0]
  }

  push(entry: Entry): void {
    const entries = this.#entries
    let at = entries.length
    entries.push(entry)
    while (at > 0) {
      const up = (at - 1) >> 1
      const above = entries[up]
      if (above === undefined || !before(entry, above)) break
      entries[at] = above
      at = up
    }
    entries[at] = entry
  }

  pop(): Entry | undefined {
    const entries = this.#entries
    const first = entries[0]
    const last = entries.pop()
    if (last === undefined || entries.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      let next = entries[child]
      if (next === undefined) break
      const other = entries[child + 1]
      if (other !== undefined && before(other, next)) {
        next = other
        child++
      }
      if (!before(next, last)) break
      entries[at] = next
      at = child
    }
    entries[at] = last
    return first
  }
}
