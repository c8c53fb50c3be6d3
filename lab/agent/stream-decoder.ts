/**
 * The messages of a raw agent socket, decoded: for the sides that act on every one of them. The operator, which passes
 * most of them on, cuts frames only (`FrameCutter`).
 */
import type { Codec } from "../../src/domain/protocol/codec.ts"
import { FrameCutter } from "../../src/domain/protocol/frame-cutter.ts"
import type { ProtocolError } from "../../src/domain/protocol/outcome.ts"
import type { TypedShape } from "../../src/domain/protocol/shape.ts"

/** One message of a stream. `bytes` is exactly the message; it is never written to again. */
export interface StreamMessage<T> {
  readonly value: T
  readonly bytes: Uint8Array
}

export interface Fed<T> {
  readonly messages: ReadonlyArray<StreamMessage<T>>
  /** The stream cannot be read any further. */
  readonly error?: ProtocolError
}

export class StreamDecoder<T> {
  readonly #codec: Codec<T>
  readonly #cutter: FrameCutter<T>

  constructor(codec: Codec<T>, shape: TypedShape<T>, limit?: number) {
    this.#codec = codec
    this.#cutter = new FrameCutter(codec, shape, limit)
  }

  /** Takes the next chunk; values may keep a view of it, so it must not be written to afterwards. */
  feed(chunk: Uint8Array): Fed<T> {
    const { frames, ...end } = this.#cutter.feed(chunk)
    const messages = frames.flatMap((bytes) => {
      const decoded = this.#codec.decode(bytes)
      return decoded._tag === "Decoded" ? [{ value: decoded.value, bytes }] : []
    })
    return { messages, ...end }
  }
}
