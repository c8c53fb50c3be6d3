/** How many sessions ran at the same time, at most. */

/** A stretch of time in epoch ms: from its start on, up to its end and without it. */
export interface Period {
  readonly from: number
  readonly to: number
}

/** A stretch of time whose sessions were counted before. */
export interface CountedSpan extends Period {
  /** The most sessions at one moment of it, without those that ran through all of it. */
  readonly peak: number
  /** The ends of the sessions that began in it and ended after it. */
  readonly later: ReadonlyArray<number>
}

/** The ends of running sessions as a binary heap, the first end on top. */
class Ends {
  readonly #heap: Array<number> = []

  get size(): number {
    return this.#heap.length
  }

  get first(): number {
    return this.#heap[0] ?? Infinity
  }

  push(end: number): void {
    const heap = this.#heap
    let at = heap.length
    for (; at > 0; at = (at - 1) >> 1) {
      const parent = heap[(at - 1) >> 1] ?? end
      if (parent <= end) break
      heap[at] = parent
    }
    heap[at] = end
  }

  pop(): void {
    const heap = this.#heap
    const last = heap.pop()
    if (last === undefined || heap.length === 0) return
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      if (left >= heap.length) break
      const child = (heap[left + 1] ?? Infinity) < (heap[left] ?? Infinity) ? left + 1 : left
      const value = heap[child] ?? Infinity
      if (value >= last) break
      heap[at] = value
      at = child
    }
    heap[at] = last
  }
}

/**
 * Takes sessions in the order of their starts. A session counts within the window that it overlaps; at one moment ends
 * come before starts, and a session without any length does not count. Its memory is that of the peak.
 */
export class Concurrency {
  readonly #window: Period
  readonly #ends = new Ends()
  #peak = 0

  constructor(window: Period = { from: -Infinity, to: Infinity }) {
    this.#window = window
  }

  /** The most sessions at one moment. */
  get peak(): number {
    return this.#peak
  }

  /** `to`: for a running session, now. */
  readonly add = ({ from, to }: Period): void => {
    const [start, end] = [Math.max(from, this.#window.from), Math.min(to, this.#window.to)]
    if (start >= end) return
    while (this.#ends.first <= start) this.#ends.pop()
    this.#ends.push(end)
    this.#peak = Math.max(this.#peak, this.#ends.size)
  }
  /** Takes all sessions that began in a span, which is within the window or outside of it. */
  readonly addSpan = ({ from, later, peak, to }: CountedSpan): void => {
    if (from >= this.#window.from && to <= this.#window.to) {
      // Those that end within the span are in its peak; the others run through all of it.
      while (this.#ends.first < to) this.#ends.pop()
      this.#peak = Math.max(this.#peak, this.#ends.size + peak)
    }
    for (const end of later) this.add({ from: to, to: end })
  }
}
