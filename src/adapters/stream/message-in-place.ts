/**
 * A whole message where it lies in the bytes that were read, and how it is to be changed on its way.
 */

/** The pieces of a message that came in one read. */
export const noPieces: ReadonlyArray<Uint8Array> = []

const viewOf = ({ buffer, byteLength, byteOffset }: Uint8Array): DataView =>
  new DataView(buffer, byteOffset, byteLength)

/** One object for each reader, used again and again: a message must cost no memory of its own. */
export class MessageInPlace {
  #bytes: Uint8Array = new Uint8Array(0)
  #view: DataView | undefined
  /** Bytes behind these, of a message that came in several reads. The head is in front of them. */
  pieces = noPieces
  /** Where the message begins, without a header, and how many bytes it has in all. */
  at = 0
  length = 0
  /** Its mask, the first byte lowest; 0: it is not masked. */
  key = 0
  /** Whether the bytes are a buffer for this message alone, to which there is no other reference. */
  isAlone = false

  /** The bytes that were read. Their reader owns them and may change them. */
  get bytes(): Uint8Array {
    return this.#bytes
  }

  set bytes(bytes: Uint8Array) {
    this.#bytes = bytes
    this.#view = undefined
  }

  /** The same bytes, to be read by words. Made once for all messages of a read. */
  get view(): DataView {
    return (this.#view ??= viewOf(this.#bytes))
  }

  /** Where the message ends in {@link bytes}. */
  get until(): number {
    return this.pieces.length === 0 ? this.at + this.length : this.bytes.length
  }

  /** The id to write in place of the message's own, of another length; `undefined` if the id stays. */
  id: Uint8Array | undefined
  idAt = 0
  idLength = 0
}
