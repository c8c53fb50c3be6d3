/**
 * A stream that is changed on its way: bytes put in, turned, cut out, held together or apart, or the end too early. The
 * changes are data. Opens no connection.
 */

/** One change, at the n-th piece of the stream. */
export interface Tampering {
  readonly at: number
  readonly act: "insert" | "append" | "replace" | "flip" | "shorten" | "split" | "end"
  readonly bytes: Uint8Array
  /** A place in the piece. */
  readonly place: number
}

/** A stream's tamperer; `undefined` among its pieces is the end. */
export class Tamperer {
  readonly #changes: ReadonlyArray<Tampering>
  #pieces = 0

  constructor(changes: ReadonlyArray<Tampering>) {
    this.#changes = changes
  }

  /** The pieces that pass in the place of the next one. */
  pass(piece: Uint8Array): ReadonlyArray<Uint8Array | undefined> {
    const number = this.#pieces++
    return this.#changes
      .filter(({ at }) => at === number)
      .reduce<ReadonlyArray<Uint8Array | undefined>>(
        (pieces, change) => pieces.flatMap((one) => (one === undefined ? [undefined] : changed(one, change))),
        [piece]
      )
  }
}

const changed = (piece: Uint8Array, { act, bytes, place }: Tampering): ReadonlyArray<Uint8Array | undefined> => {
  const middle = place % (piece.length + 1)
  switch (act) {
    case "insert":
      return [bytes, piece]
    case "append":
      return [piece, bytes]
    case "replace":
      return [bytes]
    case "flip":
      return [piece.map((byte, i) => (i === middle ? byte ^ 0x80 : byte))]
    case "shorten":
      return [piece.subarray(0, middle)]
    case "split":
      return [piece.subarray(0, middle), piece.subarray(middle)]
    case "end":
      return [piece.subarray(0, middle), undefined]
  }
}
