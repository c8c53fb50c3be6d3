import type { Codec } from "./codec.ts"
import type { ProtocolError } from "./outcome.ts"
import type { TypedShape } from "./shape.ts"
import { Walker } from "./walker.ts"

/**
 * A message larger than this ends the connection: the client's WebSocket library takes no more than 64 MiB (wire.md
 * §1.2), so a larger one could not be delivered anyway. Bytes.
 */
export const largestMessage = 64 * 1024 * 1024

/** One message cut out of a stream. `bytes` is exactly the message; it is never written to again. */
export interface StreamMessage<T> {
  readonly value: T
  readonly bytes: Uint8Array
}

export type Fed<T> = {
  readonly messages: ReadonlyArray<StreamMessage<T>>
  /**
   * The stream cannot be read any further: without lengths there is no way to find the next message (wire.md §1.3).
   */
  readonly error?: ProtocolError
}

/**
 * Cuts the byte stream of a raw agent socket, which has no length prefixes, into messages. How the stream is chunked
 * makes no difference, and each byte is walked once and copied at most once (amortised).
 */
export class StreamDecoder<T> {
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

  /** Ends with the decoder's error for what the walker refused: its path names the fields too. */
  #refuse(error: ProtocolError, bytes: Uint8Array): ProtocolError {
    const decoded = this.#codec.decode(bytes)
    return this.#fail(decoded._tag === "Invalid" ? decoded.error : error)
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
  feed(chunk: Uint8Array): Fed<T> {
    if (this.#error !== undefined) return { messages: [], error: this.#error }
    const messages: Array<StreamMessage<T>> = []
    let rest = chunk
    if (this.#length > 0) {
      const before = this.#length
      this.#append(chunk)
      if (this.#walker.needed > this.#length) return this.#room(messages)
      const step = this.#walker.advance(this.#pending.subarray(0, this.#length))
      if (step._tag === "Invalid")
        return { messages, error: this.#refuse(step.error, this.#pending.subarray(0, this.#length)) }
      if (step._tag === "More") return this.#room(messages)
      const error = this.#take(this.#pending.subarray(0, step.offset), messages)
      if (error !== undefined) return { messages, error }
      rest = chunk.subarray(step.offset - before)
      this.#pending = new Uint8Array(0)
      this.#length = 0
    }
    while (rest.length > 0) {
      const step = this.#walker.advance(rest)
      if (step._tag === "Invalid") return { messages, error: this.#refuse(step.error, rest) }
      if (step._tag === "More") {
        this.#append(rest)
        return this.#room(messages)
      }
      const error = this.#take(rest.subarray(0, step.offset), messages)
      if (error !== undefined) return { messages, error }
      rest = rest.subarray(step.offset)
    }
    return { messages }
  }

  /** Whether the unfinished message may still become one of legal size. */
  #room(messages: ReadonlyArray<StreamMessage<T>>): Fed<T> {
    const size = Math.max(this.#length, this.#walker.needed)
    if (size <= this.#limit) return { messages }
    return { messages, error: this.#tooLarge(size) }
  }

  #tooLarge(size: number): ProtocolError {
    const message = `a message of at least ${size} bytes; at most ${this.#limit} can be delivered`
    return this.#fail({ _tag: "TooLarge", path: this.#codec.name, offset: this.#limit, message })
  }

  #take(bytes: Uint8Array, into: Array<StreamMessage<T>>): ProtocolError | undefined {
    this.#walker = this.#newWalker()
    if (bytes.length > this.#limit) return this.#tooLarge(bytes.length)
    const decoded = this.#codec.decode(bytes)
    switch (decoded._tag) {
      case "Decoded":
        into.push({ value: decoded.value, bytes })
        return undefined
      case "Invalid":
        return this.#fail(decoded.error)
      case "Incomplete":
        // Walker and decoder come from the same shape; that they disagree would be a bug of one of them.
        throw new Error(`${this.#codec.name}: the walked message does not decode`)
    }
  }
}
