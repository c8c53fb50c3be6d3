/**
 * Recognises bulk messages by their first bytes: a connection's payload behind the connection's id. Their length and
 * the place of the id follow from the head, so that they can be routed where they lie. The forms are derived from the
 * shapes.
 *
 * Not here: where a message goes (routing/learnt-routes.ts), and messages that must be read as a whole (codec.ts).
 */

import { ClientMessage } from "./client-message.ts"
import { DaemonMessage } from "./daemon-message.ts"
import { marker, varintTail } from "./reader.ts"
import type { Shape } from "./shape.ts"

/**
 * Bytes from which every bulk message is recognised: two tags, the tag of a `Result`, the id and the payload's length
 * have at most 21.
 */
export const headLength = 32

/** The tags in front of a bulk message's id: none, two, or two and the tag of `Ok`. */
type Form = 0 | 2 | 3

/** `{ connectionId, bytes }`, whatever the fields are called. */
const isPayload = (shape: Shape | undefined): boolean =>
  shape?.kind === "struct" &&
  shape.fields.length === 2 &&
  shape.fields[0]?.shape.kind === "u64" &&
  shape.fields[1]?.shape.kind === "bytes"

const formOf = (shape: Shape | undefined): Form => {
  if (isPayload(shape)) return 2
  return shape?.kind === "result" && isPayload(shape.ok) ? 3 : 0
}

/** Index of the outer variant to that of the inner one to the form. Every index has one byte on the wire. */
const formsOf = (message: Shape): ReadonlyArray<ReadonlyArray<Form> | undefined> => {
  if (message.kind !== "enum") return []
  return message.variants.map(({ fields }) => {
    const inner = fields[0]?.shape
    if (fields.length !== 1 || inner?.kind !== "enum") return undefined
    return inner.variants.map((variant) => (variant.fields.length === 1 ? formOf(variant.fields[0]?.shape) : 0))
  })
}

/**
 * Length in bytes of the varint at `at` if it is whole and in its shortest form, the only form that codecs write;
 * otherwise 0.
 */
const minVarint = (bytes: Uint8Array, at: number, end: number): number => {
  const first = at < end ? (bytes[at] ?? 0) : marker.u128
  if (first < marker.u16) return 1
  const tail = varintTail(first)
  if (first > marker.u64 || at + tail >= end) return 0
  // A number that needs the length has something in the upper half of its bytes.
  for (let upper = at + 1 + tail / 2; upper <= at + tail; upper++) if (bytes[upper] !== 0) return tail + 1
  return tail === 2 && (bytes[at + 1] ?? 0) >= marker.u16 ? 3 : 0
}

/** A length of at most 32 bits; longer ones are no bulk. */
const readLength = (bytes: Uint8Array, at: number, size: number): number => {
  if (size === 1) return bytes[at] ?? 0
  const low = (bytes[at + 1] ?? 0) | ((bytes[at + 2] ?? 0) << 8)
  return size === 3 ? low : low + ((bytes[at + 3] ?? 0) | ((bytes[at + 4] ?? 0) << 8)) * 0x1_0000
}

/** Recognises the bulk messages of one direction. Its fields describe the message that was measured last. */
export class BulkHead {
  readonly #forms: ReadonlyArray<ReadonlyArray<Form> | undefined>
  /** Where the id stands, in bytes from the message's beginning. */
  idAt = 0
  /** Bytes of the id: 1, 3, 5 or 9. */
  idLength = 0

  constructor(message: Shape) {
    this.#forms = formsOf(message)
  }

  /** Bytes in front of the payload's length: the tags and the id. Messages with equal ones are routed alike. */
  get prefix(): number {
    return this.idAt + this.idLength
  }

  /**
   * Length in bytes of the bulk message that begins at `at`, which may reach beyond `end`, the end of the bytes that
   * are there. 0: there is no bulk message, its head is not complete, or a number in it is not in its shortest form.
   */
  measure(bytes: Uint8Array, at: number, end: number): number {
    if (end - at < 4) return 0
    const form = this.#forms[bytes[at] ?? 0]?.[bytes[at + 1] ?? 0]
    if (form === undefined || form === 0 || (form === 3 && bytes[at + 2] !== 0)) return 0
    const idLength = minVarint(bytes, at + form, end)
    if (idLength === 0) return 0
    const lengthAt = at + form + idLength
    const size = minVarint(bytes, lengthAt, end)
    if (size === 0 || size === 9) return 0
    this.idAt = form
    this.idLength = idLength
    return form + idLength + size + readLength(bytes, lengthAt, size)
  }
}

export const clientBulk = new BulkHead(ClientMessage)
export const daemonBulk = new BulkHead(DaemonMessage)
