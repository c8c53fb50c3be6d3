/**
 * A row of bulk messages: each is as long as the one before it and has the same bytes in front of its payload. Nothing
 * else of a bulk message is looked at to route it (routing/learnt-routes.ts), so what was decided about the first of
 * them holds for all of them, as long as nothing else has happened. Asking this costs a few comparisons for each
 * message.
 *
 * Not here: what a bulk message looks like (bulk.ts), and when a row must end (adapters/stream/forwarding.ts).
 */

import { headLength } from "./bulk.ts"
import { varintTail } from "./reader.ts"

/** Four bytes as a number, the first byte lowest. Bytes behind the end are of no meaning, and 0. */
const wordAt = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)

export class BulkRow {
  /** Bytes of each message; 0: there is no row. */
  length = 0
  /** The bytes in front of the payload, of which the last word has a few only. */
  readonly #words = new Int32Array(headLength / 4)
  #last = 0
  #bitsOfLast = 0

  /** Begins with a bulk message of `length` bytes that begins with `head`; its tags and id have `prefix` bytes. */
  begin(head: Uint8Array, length: number, prefix: number): void {
    const front = prefix + 1 + varintTail(head[prefix] ?? 0)
    this.length = length
    this.#last = (front - 1) >> 2
    for (let index = 0; index <= this.#last; index++) this.#words[index] = wordAt(head, index * 4)
    this.#bitsOfLast = (-1 >>> ((-front & 3) * 8)) | 0
    this.#words[this.#last] = (this.#words[this.#last] ?? 0) & this.#bitsOfLast
  }

  end(): void {
    this.length = 0
  }

  /** Whether the message of `length` bytes at `at` goes on with the row. `key`: its mask, the first byte lowest. */
  goesOn(bytes: Uint8Array, at: number, length: number, key: number): boolean {
    if (length !== this.length || length === 0) return false
    const words = this.#words
    const last = this.#last
    for (let index = 0; index < last; index++) {
      if ((wordAt(bytes, at + index * 4) ^ key) !== words[index]) return false
    }
    return ((wordAt(bytes, at + last * 4) ^ key) & this.#bitsOfLast) === words[last]
  }
}
