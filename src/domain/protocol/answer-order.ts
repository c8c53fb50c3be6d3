/**
 * Keeps answers in the order of their requests. Clients match answers by position alone (wire.md §6), so the answer to
 * a request that went no further waits for those to the requests before it.
 */

/**
 * Max requests of one sort without an answer on a connection, and the bytes that are kept for them: far more than any
 * client asks at a time.
 */
const maxWaiting = 10_000
const maxKept = 4 * 1024 * 1024

type Waiting<N> =
  /** The request was passed on; `note` is what its answer will be needed with. */
  | { readonly _tag: "Asked"; readonly note: N; readonly size: number }
  | { readonly _tag: "Held"; readonly answer: Uint8Array }

export class AnswerOrder<N> {
  /** The oldest request stands at `#first`. */
  #waiting: Array<Waiting<N>> = []
  #first = 0
  /** Bytes of notes and of answers that wait. */
  #kept = 0

  /** Whether no further request is to be taken. */
  get isFull(): boolean {
    return this.#waiting.length - this.#first >= maxWaiting || this.#kept >= maxKept
  }

  /** A request was passed on. `size`: the bytes of the note. */
  asked(note: N, size = 0): void {
    this.#kept += size
    this.#waiting.push({ _tag: "Asked", note, size })
  }

  /** A request is answered here. The result is what can be sent at once: the answer, or nothing yet. */
  refused(answer: Uint8Array): ReadonlyArray<Uint8Array> {
    if (this.#waiting.length === this.#first) return [answer]
    this.#kept += answer.length
    this.#waiting.push({ _tag: "Held", answer })
    return []
  }

  /** The oldest request that was passed on is answered. `due`: what may be sent behind its answer. */
  answered(): { readonly note: N | undefined; readonly due: ReadonlyArray<Uint8Array> } {
    const oldest = this.#waiting[this.#first]
    if (oldest?._tag !== "Asked") return { note: undefined, due: [] }
    this.#first++
    this.#kept -= oldest.size
    const due: Array<Uint8Array> = []
    for (let next = this.#waiting[this.#first]; next?._tag === "Held"; next = this.#waiting[this.#first]) {
      due.push(next.answer)
      this.#kept -= next.answer.length
      this.#first++
    }
    if (this.#first * 2 > this.#waiting.length) {
      this.#waiting = this.#waiting.slice(this.#first)
      this.#first = 0
    }
    return { note: oldest.note, due }
  }
}
