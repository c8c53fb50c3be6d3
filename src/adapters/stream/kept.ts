/**
 * The beginning of something whose end has not been read: a frame's header, a frame, a message of a stream. Large parts
 * are kept where they were read; small ones are copied into a buffer that grows with the bytes that are really there.
 */

/** Size of the first buffer, in bytes, of something larger. */
const firstSize = 16 * 1024

/** Bytes from which on a part is kept where it lies, with the memory around it. */
const pieceFrom = 4 * 1024

const nothing = Buffer.alloc(0)
const noPieces: ReadonlyArray<Uint8Array> = []

export class Kept {
  /** The first part, or the buffer. */
  #bytes: Uint8Array = nothing
  /** Parts behind the first; `undefined` if there is a buffer. */
  #pieces: Array<Uint8Array> | undefined
  #length = 0
  #total = 0

  get isEmpty(): boolean {
    return this.#total === 0
  }

  get isWhole(): boolean {
    return this.#length === this.#total
  }

  /** The bytes that are kept, in {@link bytes} and then in {@link pieces}. */
  get length(): number {
    return this.#length
  }

  get bytes(): Uint8Array {
    return this.#bytes
  }

  get pieces(): ReadonlyArray<Uint8Array> {
    return this.#pieces ?? noPieces
  }

  /** The bytes that are awaited, those that are kept among them. */
  get total(): number {
    return this.#total
  }

  /** The memory that is held when `more` further bytes have come. */
  after(more: number): number {
    const needed = Math.min(this.#total, this.#length + more)
    if (this.#pieces !== undefined || needed <= this.#bytes.length) return Math.max(needed, this.#bytes.length)
    return this.#sizeFor(needed)
  }

  /** Awaits `total` bytes from now on, those that are kept among them. */
  expect(total: number): void {
    this.#total = total
  }

  /** Takes the missing bytes out of `chunk` from `at` on, and says where these end. The chunk is the keeper's. */
  fill(chunk: Uint8Array, at: number): number {
    const until = Math.min(chunk.length, at + this.#total - this.#length)
    if (this.#mayBePiece(until - at)) this.#add(chunk.subarray(at, until))
    else this.#copy(chunk, at, until)
    return until
  }

  /** Gives the bytes away or up. */
  clear(): void {
    this.#bytes = nothing
    this.#pieces = undefined
    this.#length = 0
    this.#total = 0
  }

  /** Small parts are kept as pieces only if they are the last: many of them would cost more than their bytes. */
  #mayBePiece(length: number): boolean {
    if (this.#length === 0) return length >= pieceFrom
    return this.#pieces !== undefined && (length >= pieceFrom || this.#length + length === this.#total)
  }

  #add(piece: Uint8Array): void {
    if (this.#length === 0) {
      this.#bytes = piece
      this.#pieces = []
    } else this.#pieces?.push(piece)
    this.#length += piece.length
  }

  #copy(chunk: Uint8Array, at: number, until: number): void {
    const needed = this.#length + until - at
    if (needed > this.#bytes.length || this.#pieces !== undefined) this.#grow(needed)
    this.#bytes.set(chunk.subarray(at, until), this.#length)
    this.#length = needed
  }

  #sizeFor(needed: number): number {
    return Math.min(this.#total, Math.max(needed, this.#bytes.length * 2, firstSize))
  }

  /** Moves everything into a larger buffer. */
  #grow(needed: number): void {
    const grown = Buffer.allocUnsafeSlow(this.#sizeFor(needed))
    let at = Math.min(this.#length, this.#bytes.length)
    grown.set(this.#bytes.subarray(0, at))
    for (const piece of this.pieces) {
      grown.set(piece, at)
      at += piece.length
    }
    this.#bytes = grown
    this.#pieces = undefined
  }
}
