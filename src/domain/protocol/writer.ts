/**
 * Writes the primitives of bincode (wire.md §2).
 *
 * Not here: the parts of a message, which shapes describe (shape.ts).
 */

const utf8 = new TextEncoder()
const u128Max = (1n << 128n) - 1n
const u64Max = (1n << 64n) - 1n
const none = new Uint8Array(0)

/** Size of a first buffer, in bytes. */
const firstSize = 256

/** Longest buffer that is kept for the next message, in bytes: bodies of HTTP come in pieces of at most 64 KiB. */
const maxKept = 256 * 1024

/** The buffer of the last writer that was finished. A new one for each message would keep the collector busy. */
let spare: Uint8Array = none

/** Appends bincode primitives to a growing buffer, varints always in their shortest form. */
export class Writer {
  depth = 0
  #bytes = spare
  #view = new DataView(this.#bytes.buffer)
  #length = 0

  constructor() {
    spare = none
  }

  /** A copy of what was written. It ends the writer's use. */
  finish(): Uint8Array {
    const written = this.#bytes.slice(0, this.#length)
    if (this.#bytes.length <= maxKept && this.#bytes.length > spare.length) spare = this.#bytes
    this.#bytes = none
    return written
  }

  #reserve(extra: number): number {
    const start = this.#length
    const needed = start + extra
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2, firstSize))
      grown.set(this.#bytes.subarray(0, start))
      this.#bytes = grown
      this.#view = new DataView(grown.buffer)
    }
    this.#length = needed
    return start
  }

  u8(value: number): void {
    const at = this.#reserve(1)
    this.#bytes[at] = value
  }

  raw(value: Uint8Array): void {
    const at = this.#reserve(value.length)
    this.#bytes.set(value, at)
  }

  /** A non-negative safe integer. */
  varint(value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`not an unsigned integer: ${value}`)
    if (value < 0xfb) this.u8(value)
    else if (value < 0x1_0000) {
      const at = this.#reserve(3)
      this.#view.setUint8(at, 0xfb)
      this.#view.setUint16(at + 1, value, true)
    } else if (value < 0x1_0000_0000) {
      const at = this.#reserve(5)
      this.#view.setUint8(at, 0xfc)
      this.#view.setUint32(at + 1, value, true)
    } else {
      const at = this.#reserve(9)
      this.#view.setUint8(at, 0xfd)
      this.#view.setBigUint64(at + 1, BigInt(value), true)
    }
  }

  bigVarint(value: bigint): void {
    if (value < 0n || value > u128Max) throw new RangeError(`not an unsigned 128-bit integer: ${value}`)
    if (value <= 0xffff_ffffn) return this.varint(Number(value))
    if (value <= u64Max) {
      const at = this.#reserve(9)
      this.#view.setUint8(at, 0xfd)
      this.#view.setBigUint64(at + 1, value, true)
    } else {
      const at = this.#reserve(17)
      this.#view.setUint8(at, 0xfe)
      this.#view.setBigUint64(at + 1, value & u64Max, true)
      this.#view.setBigUint64(at + 9, value >> 64n, true)
    }
  }

  byteString(value: Uint8Array): void {
    this.varint(value.length)
    this.raw(value)
  }

  text(value: string): void {
    this.byteString(utf8.encode(value))
  }
}
