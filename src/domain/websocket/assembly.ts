/**
 * Puts messages together that come in fragments (RFC 6455 §5.4), within bounds. Binary ones are collected. Texts are
 * checked byte by byte and not kept, because they are not read.
 *
 * Not here: messages that are one frame, unless they are texts.
 */

import { Utf8Check } from "./utf8-check.ts"
import type { Violation } from "./violation.ts"

/** The most fragments of a message. An empty fragment costs its sender two bytes and no memory here. */
export const maxFragments = 128 * 1024

const noText: Violation = { code: 1007, text: "a text message is no UTF-8" }

export class Assembly {
  readonly #largest: number
  #kind: "none" | "text" | "binary" | "dropped" = "none"
  #utf8 = new Utf8Check()
  #bytes = new Uint8Array(0)
  #length = 0
  /** Bytes that were announced by the headers. */
  #announced = 0
  #fragments = 0

  /** `largest`: the most bytes of a message. */
  constructor(largest: number) {
    this.#largest = largest
  }

  /** Whether a message is begun and not finished. */
  get isOpen(): boolean {
    return this.#kind !== "none"
  }

  /** The memory that is held when `more` further bytes have come. */
  after(more: number): number {
    const needed = Math.min(this.#largest, this.#length + more)
    if (this.#kind !== "binary") return 0
    return needed <= this.#bytes.length ? this.#bytes.length : this.#sizeFor(needed)
  }

  /** Begins a message; a dropped one is counted and not kept. */
  begin(kind: "text" | "binary" | "dropped"): void {
    this.#kind = kind
    this.#utf8 = new Utf8Check()
  }

  /** Admits a fragment of `length` bytes, by its header. */
  announce(length: number): Violation | undefined {
    this.#announced += length
    this.#fragments++
    if (this.#announced > this.#largest) return tooLarge(this.#announced, this.#largest)
    if (this.#fragments <= maxFragments) return undefined
    return { code: 1008, text: `a message has more than ${maxFragments} fragments` }
  }

  /** Keeps nothing of the message that is open. */
  drop(): void {
    if (this.isOpen) this.#kind = "dropped"
    this.#bytes = new Uint8Array(0)
    this.#length = 0
  }

  /** Takes a part of the announced bytes, `bytes[from..until)`, and keeps no view of them. */
  take(bytes: Uint8Array, from: number, until: number): Violation | undefined {
    if (this.#kind === "dropped") return undefined
    if (this.#kind === "text") return this.#utf8.take(bytes, from, until) ? undefined : noText
    const needed = this.#length + until - from
    if (needed > this.#bytes.length) this.#grow(needed)
    this.#bytes.set(bytes.subarray(from, until), this.#length)
    this.#length = needed
    return undefined
  }

  /** Ends the message and gives its bytes; `undefined` for a text or a dropped one. */
  finish(): Uint8Array | Violation | undefined {
    const kind = this.#kind
    const bytes = this.#length === this.#bytes.length ? this.#bytes : this.#bytes.slice(0, this.#length)
    this.clear()
    if (kind === "binary") return bytes
    return kind === "dropped" || this.#utf8.isWhole ? undefined : noText
  }

  /** Gives the message up. */
  clear(): void {
    this.#kind = "none"
    this.#bytes = new Uint8Array(0)
    this.#length = 0
    this.#announced = 0
    this.#fragments = 0
  }

  #sizeFor(needed: number): number {
    return Math.min(this.#largest, Math.max(needed, this.#bytes.length * 2))
  }

  #grow(needed: number): void {
    const grown = new Uint8Array(this.#sizeFor(needed))
    grown.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = grown
  }
}

/** A message that is refused by its header, before any of it is kept. */
const tooLarge = (length: number, largest: number): Violation => ({
  code: 1009,
  text: `a message of at least ${length} bytes has exceeded the bound of ${largest}`
})
