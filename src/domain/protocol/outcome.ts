/**
 * The outcomes of reading a message: a value, a need for more bytes, or an error that names its place.
 *
 * Not here: what follows from an error (routing/from-client.ts, routing/from-member.ts).
 */

/**
 * Why bytes are not a message. `path` names the place in the message (`DaemonMessage.Tcp.7`), `offset` the byte in the
 * buffer.
 */
export interface ProtocolError {
  readonly _tag: "UnknownVariant" | "InvalidValue" | "TooDeep" | "TooLarge"
  readonly path: string
  /** Bytes from the start of the message to the offending value. */
  readonly offset: number
  readonly message: string
}

export type Unreadable =
  /** Everything so far is fine, but the message goes on beyond the buffer. */
  { readonly _tag: "Incomplete" } | { readonly _tag: "Invalid"; readonly error: ProtocolError }

/** `used`: bytes of the message; the buffer may hold more. */
export type Decoded<T> = { readonly _tag: "Decoded"; readonly value: T; readonly used: number } | Unreadable

/** As {@link Decoded}, for a message whose value is not needed. */
export type Checked = { readonly _tag: "Sound"; readonly used: number } | Unreadable

export const incomplete: { readonly _tag: "Incomplete" } = { _tag: "Incomplete" }

/** Thrown inside the decoder only; never leaves it. The path grows while the failure travels outwards. */
export class Failure extends Error {
  readonly path: Array<string> = []
  readonly tag: ProtocolError["_tag"]
  readonly offset: number

  constructor(tag: ProtocolError["_tag"], offset: number, message: string) {
    super(message)
    this.tag = tag
    this.offset = offset
  }

  inside(name: string): this {
    this.path.unshift(name)
    return this
  }

  toError(root: string): ProtocolError {
    return { _tag: this.tag, path: [root, ...this.path].join("."), offset: this.offset, message: this.message }
  }
}

/** Thrown inside the decoder when the buffer ends too early; one object, as it happens often and carries nothing. */
export const endOfBuffer = new Failure("InvalidValue", 0, "end of buffer")
