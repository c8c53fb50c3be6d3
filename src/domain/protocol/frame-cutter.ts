/**
 * Cuts the byte stream of a raw agent socket, which has no length prefixes, into frames: whole, sound messages as
 * bytes.
 *
 * Not here: values. A frame is decoded where its content is needed.
 */

import type { Codec } from "./codec.ts"
import type { ProtocolError } from "./outcome.ts"
import type { TypedShape } from "./shape.ts"
import { Walker } from "./walker.ts"

/**
 * The largest message, in bytes: the client's WebSocket library takes no more than 64 MiB (wire.md §1.2), so a larger
 * one could not be delivered anyway. The connection on which a larger one comes ends: a WebSocket as soon as the length
 * is announced, an agent's stream because its next message cannot be found.
 */
export const maxMessage = 64 * 1024 * 1024

export interface Cut {
  /** Each frame is exactly one sound message, and never written to again. */
  readonly frames: ReadonlyArray<Uint8Array>
  /**
   * The stream cannot be read any further: without lengths there is no way to find the next message (wire.md §1.3).
   */
  readonly error?: ProtocolError
}

/** The first message of a chunk, if it ends there. */
export interface CutOne {
  /** Bytes of the chunk that were taken. */
  readonly used: number
  /** As in {@link Cut}. */
  readonly frame?: Uint8Array
  readonly error?: ProtocolError
}

/**
 * Cuts a stream into frames, however it is chunked. A message that is there as a whole is checked once. A message that
 * trickles in is walked once and then checked, and each of its bytes is copied at most once (amortised).
 */
export class FrameCutter<T> {
  readonly #codec: Codec<T>
  readonly #shape: TypedShape<T>
  readonly #limit: number
  #walker: Walker
  /** The unfinished message, in a buffer that grows with the bytes that are really there. */
  #pending = new Uint8Array(0)
  #length = 0
  #error: ProtocolError | undefined

  constructor(codec: Codec<T>, shape: TypedShape<T>, limit = maxMessage) {
    this.#codec = codec
    this.#shape = shape
    this.#limit = limit
    this.#walker = this.#newWalker()
  }

  /** Bytes of the unfinished message; above 0 at the end of the stream means that it broke off. */
  get pending(): number {
    return this.#length
  }

  /** The memory that is held when `more` further bytes of the unfinished message have come. */
  after(more: number): number {
    return this.#length === 0 ? 0 : this.#sizeFor(this.#length + more)
  }

  #newWalker(): Walker {
    return new Walker(this.#codec.name, this.#shape)
  }

  #fail(error: ProtocolError): ProtocolError {
    this.#pending = new Uint8Array(0)
    this.#length = 0
    return (this.#error = error)
  }

  /** Ends the stream with the checker's error for bytes that the walker refused: its path names the fields too. */
  #refuse(error: ProtocolError, bytes: Uint8Array): ProtocolError {
    const checked = this.#codec.check(bytes)
    return this.#fail(checked._tag === "Invalid" ? checked.error : error)
  }

  #sizeFor(needed: number): number {
    const { length } = this.#pending
    return needed <= length ? length : Math.max(needed, Math.min(length * 2, this.#limit))
  }

  #append(chunk: Uint8Array): void {
    const needed = this.#length + chunk.length
    if (needed > this.#pending.length) {
      const grown = new Uint8Array(this.#sizeFor(needed))
      grown.set(this.#pending.subarray(0, this.#length))
      this.#pending = grown
    }
    this.#pending.set(chunk, this.#length)
    this.#length = needed
  }

  /** Takes the next chunk; the decoder may keep a view of it, so it must not be written to afterwards. */
  feed(chunk: Uint8Array): Cut {
    const frames: Array<Uint8Array> = []
    let rest = chunk
    do {
      const { error, frame, used } = this.next(rest)
      if (error !== undefined) return { frames, error }
      if (frame !== undefined) frames.push(frame)
      rest = rest.subarray(used)
    } while (rest.length > 0)
    return { frames }
  }

  /** As {@link feed}, but takes no more of the chunk than what belongs to the first message. */
  next(chunk: Uint8Array): CutOne {
    if (this.#error !== undefined) return { used: 0, error: this.#error }
    if (this.#length > 0) return this.#goOn(chunk)
    if (chunk.length === 0) return { used: 0 }
    const checked = this.#codec.check(chunk)
    if (checked._tag === "Sound" && checked.used <= this.#limit)
      return { used: checked.used, frame: chunk.subarray(0, checked.used) }
    const step = this.#walker.advance(chunk)
    if (step._tag === "Invalid") return { used: 0, error: this.#refuse(step.error, chunk) }
    if (step._tag === "End") return this.#take(chunk.subarray(0, step.offset), step.offset)
    this.#append(chunk)
    return this.#room(chunk.length)
  }

  /** Goes on with the unfinished message. */
  #goOn(chunk: Uint8Array): CutOne {
    const before = this.#length
    this.#append(chunk)
    if (this.#walker.needed > this.#length) return this.#room(chunk.length)
    const bytes = this.#pending.subarray(0, this.#length)
    const step = this.#walker.advance(bytes)
    if (step._tag === "Invalid") return { used: 0, error: this.#refuse(step.error, bytes) }
    if (step._tag === "More") return this.#room(chunk.length)
    const taken = this.#take(bytes.subarray(0, step.offset), step.offset - before)
    this.#pending = new Uint8Array(0)
    this.#length = 0
    return taken
  }

  /** Whether the unfinished message may still become one of legal size. */
  #room(used: number): CutOne {
    const size = Math.max(this.#length, this.#walker.needed)
    return size <= this.#limit ? { used } : { used, error: this.#tooLarge(size) }
  }

  #tooLarge(size: number): ProtocolError {
    const message = `a message of at least ${size} bytes; at most ${this.#limit} can be delivered`
    return this.#fail({ _tag: "TooLarge", path: this.#codec.name, offset: this.#limit, message })
  }

  #take(bytes: Uint8Array, used: number): CutOne {
    this.#walker = this.#newWalker()
    if (bytes.length > this.#limit) return { used, error: this.#tooLarge(bytes.length) }
    const checked = this.#codec.check(bytes)
    switch (checked._tag) {
      case "Sound":
        return { used, frame: bytes }
      case "Invalid":
        return { used, error: this.#fail(checked.error) }
      case "Incomplete":
        // Walker and checker come from the same shape; a disagreement is a bug in one of them.
        throw new Error(`${this.#codec.name}: the walked message is not whole`)
    }
  }
}
