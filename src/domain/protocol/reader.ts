/**
 * The primitives of bincode, read from the front of a buffer (wire.md §2).
 *
 * Not here: the parts of a message, which shapes describe (shape.ts).
 */

import { endOfBuffer, Failure } from "./outcome.ts"

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** The widest varint marker that an integer type accepts (wire.md §2.2). */
export const marker = { u16: 0xfb, u32: 0xfc, u64: 0xfd, u128: 0xfe } as const
export type Marker = (typeof marker)[keyof typeof marker]

/**
 * Max items of a message, in all its lists, sets, maps and header maps together (wire.md §2.6). An item may have a
 * single byte, so the limit of a message's bytes alone would let one message stop the operator for seconds.
 */
export const maxItems = 262_144

/** The failure of a message whose items up to `at` are `items`, too many. */
export const tooManyItems = (items: number, at: number): Failure =>
  new Failure("TooLarge", at, `a message of at least ${items} items; at most ${maxItems} are taken`)

/** Bytes that follow a varint marker. */
export const varintTail = (first: number): number => {
  if (first < 0xfb) return 0
  if (first === 0xfb) return 2
  if (first === 0xfc) return 4
  return first === 0xfd ? 8 : 16
}

/**
 * Reads bincode primitives from the front of a buffer. Throws {@link Failure}; `endOfBuffer` when bytes are missing.
 */
export class Reader {
  readonly bytes: Uint8Array
  offset: number
  depth = 0
  #items = 0
  readonly #view: DataView

  constructor(bytes: Uint8Array, offset = 0) {
    this.bytes = bytes
    this.offset = offset
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  fail(message: string, offset = this.offset): never {
    throw new Failure("InvalidValue", offset, message)
  }

  /** Moves over `length` bytes and returns where they start. */
  take(length: number): number {
    const start = this.offset
    if (length > this.bytes.length - start) throw endOfBuffer
    this.offset = start + length
    return start
  }

  u8(): number {
    return this.#view.getUint8(this.take(1))
  }

  bool(what: string): boolean {
    const value = this.u8()
    if (value > 1) this.fail(`${what} must be 0 or 1, found ${value}`, this.offset - 1)
    return value === 1
  }

  #first(widest: Marker): number {
    const first = this.u8()
    if (first > widest) {
      this.offset -= 1
      this.fail(`integer marker 0x${first.toString(16)} is wider than the type allows (0x${widest.toString(16)})`)
    }
    return first
  }

  /** A varint of at most 32 bits. Overlong forms are accepted. */
  varint32(widest: typeof marker.u16 | typeof marker.u32): number {
    const first = this.#first(widest)
    if (first < 0xfb) return first
    return first === 0xfb ? this.#view.getUint16(this.take(2), true) : this.#view.getUint32(this.take(4), true)
  }

  varint64(): bigint {
    const first = this.#first(marker.u64)
    if (first < 0xfb) return BigInt(first)
    if (first === 0xfb) return BigInt(this.#view.getUint16(this.take(2), true))
    if (first === 0xfc) return BigInt(this.#view.getUint32(this.take(4), true))
    return this.#view.getBigUint64(this.take(8), true)
  }

  varint128(): bigint {
    const first = this.#first(marker.u128)
    if (first !== 0xfe) {
      this.offset -= 1
      return this.varint64()
    }
    const start = this.take(16)
    return this.#view.getBigUint64(start, true) | (this.#view.getBigUint64(start + 8, true) << 64n)
  }

  /** The number of items of a list, a set or a map. */
  count(): number {
    const at = this.offset
    const items = this.length()
    this.#items += items
    if (this.#items > maxItems) throw tooManyItems(this.#items, at)
    return items
  }

  /** A length in bytes. One beyond 2^53 is rounded; no buffer ever holds that much, so it ends as "incomplete". */
  length(): number {
    const first = this.#first(marker.u64)
    if (first < 0xfb) return first
    if (first === 0xfb) return this.#view.getUint16(this.take(2), true)
    if (first === 0xfc) return this.#view.getUint32(this.take(4), true)
    return Number(this.#view.getBigUint64(this.take(8), true))
  }

  /** A length and as many bytes, as a view. */
  byteString(): Uint8Array {
    const length = this.length()
    const start = this.take(length)
    return this.bytes.subarray(start, this.offset)
  }

  skipVarint(widest: Marker): void {
    this.take(varintTail(this.#first(widest)))
  }

  skipBytes(): void {
    this.take(this.length())
  }

  text(): string {
    return this.#utf8(this.byteString())
  }

  /** As {@link text}, without making the text where it is ASCII. */
  checkText(): void {
    const length = this.length()
    const start = this.take(length)
    for (let at = start; at < this.offset; at++) {
      if ((this.bytes[at] ?? 0) < 0x80) continue
      this.#utf8(this.bytes.subarray(start, this.offset))
      return
    }
  }

  #utf8(raw: Uint8Array): string {
    try {
      return utf8.decode(raw)
    } catch {
      return this.fail("text is not UTF-8", this.offset - raw.length)
    }
  }
}
