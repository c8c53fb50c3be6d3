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
 * A message larger than this ends the connection: the client's WebSocket library takes no more than 64 MiB (wire.md
 * §1.2), so a larger one could not be delivered anyway. Bytes.
 */
export const largestMessage = 64 * 1024 * 1024

export interface Cut {
  /** Each frame is exactly one sound message, and never written to again. */
  readonly frames: ReadonlyArray<Uint8Array>
  /**
   * The stream cannot be read any further: without lengths there is no way to find the next message (wire.md §1.3).
   */
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

  constructor(codec: Codec<T>, shape: TypedShape<T>, limit = largestMessage) {
    this.#codec = codec
    this.#shape = shape
    this.#limit = limit
    this.#walker = this.#newWalker()
  }

  /** Bytes of the unfinished message; above 0 at the end of the stream means that it broke off. */
  get pending(): number {
    return this.#length
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

  #append(chunk: Uint8Array): void {
    const needed = this.#length + chunk.length
    if (needed > this.#pending.length) {
      const grown = new Uint8Array(Math.max(needed, this.#pending.length * 2))
      grown.set(this.#pending.subarray(0, this.#length))
      this.#pending = grown
    }
    this.#pending.set(chunk, this.#length)
    this.#length = needed
  }

  /** Takes the next chunk; the decoder may keep a view of it, so it must not be written to afterwards. */
  feed(chunk: Uint8Array): Cut {
    if (this.#error !== undefined) return { frames: [], error: this.#error }
    const frames: Array<Uint8Array> = []
    let rest = chunk
    if (this.#length > 0) {
      const before = this.#length
      this.#append(chunk)
      if (this.#walker.needed > this.#length) return this.#room(frames)
      const step = this.#walker.advance(this.#pending.subarray(0, this.#length))
      if (step._tag === "Invalid")
        return { frames, error: this.#refuse(step.error, this.#pending.subarray(0, this.#length)) }
      if (step._tag === "More") return this.#room(frames)
      const error = this.#take(this.#pending.subarray(0, step.offset), frames)
      if (error !== undefined) return { frames, error }
      rest = chunk.subarray(step.offset - before)
      this.#pending = new Uint8Array(0)
      this.#length = 0
    }
    while (rest.length > 0) {
      const checked = this.#codec.check(rest)
      if (checked._tag === "Sound" && checked.used <= this.#limit) {
        frames.push(rest.subarray(0, checked.used))
        rest = rest.subarray(checked.used)
        continue
      }
      const step = this.#walker.advance(rest)
      if (step._tag === "Invalid") return { frames, error: this.#refuse(step.error, rest) }
      if (step._tag === "More") {
        this.#append(rest)
        return this.#room(frames)
      }
      const error = this.#take(rest.subarray(0, step.offset), frames)
      if (error !== undefined) return { frames, error }
      rest = rest.subarray(step.offset)
    }
    return { frames }
  }

  /** Whether the unfinished message may still become one of legal size. */
  #room(frames: ReadonlyArray<Uint8Array>): Cut {
    const size = Math.max(this.#length, this.#walker.needed)
    if (size <= this.#limit) return { frames }
    return { frames, error: this.#tooLarge(size) }
  }

  #tooLarge(size: number): ProtocolError {
    const message = `a message of at least ${size} bytes; at most ${this.#limit} can be delivered`
    return this.#fail({ _tag: "TooLarge", path: this.#codec.name, offset: this.#limit, message })
  }

  #take(bytes: Uint8Array, into: Array<Uint8Array>): ProtocolError | undefined {
    this.#walker = this.#newWalker()
    if (bytes.length > this.#limit) return this.#tooLarge(bytes.length)
    const checked = this.#codec.check(bytes)
    switch (checked._tag) {
      case "Sound":
        into.push(bytes)
        return undefined
      case "Invalid":
        return this.#fail(checked.error)
      case "Incomplete":
        // Walker and checker come from the same shape; a disagreement is a bug in one of them.
        throw new Error(`${this.#codec.name}: the walked message is not whole`)
    }
  }
}
