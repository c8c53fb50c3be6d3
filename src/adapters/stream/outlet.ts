/**
 * The writing side of a socket: messages and control frames in the form that the other side reads. Messages that were
 * read in the same form go as they came, others are unmasked, masked or renumbered on their way.
 *
 * Not here: when bytes leave (out-buffer.ts), and which messages go where (forwarding.ts).
 */

import type { Duplex } from "node:stream"
import { final, maxFrame, maxHeader, opcode, wholeBinary, writeHeader } from "../../domain/websocket/frame-header.ts"
import { mask, turned } from "../../domain/websocket/mask.ts"
import { nextMaskKey } from "./mask-keys.ts"
import type { MessageInPlace } from "./message-in-place.ts"
import { OutBuffer } from "./out-buffer.ts"

/**
 * How messages stand on the wire: in frames without a mask (from a server), in masked frames (from a client), or one
 * behind the other without any frame (an agent's stream, wire.md §1.3).
 */
export type Format = "plain" | "masked" | "raw"

/** Bytes below which a message is copied word by word. */
const shortUntil = 160

/** Bytes from which on a piece is written where it lies instead of being copied. */
const inPlaceFrom = 8 * 1024

/** A frame that begins a binary message and holds nothing of it. */
const emptyBeginning = Uint8Array.of(opcode.binary, 0)

/** First byte of a frame that ends a message which has begun before. */
const lastPart = Uint8Array.of(final | opcode.continuation)

export class Outlet {
  readonly format: Format
  readonly #out: OutBuffer
  #isOpen = true
  /** Whether the next message has begun already, by an empty frame. */
  #hasBegun = false
  /** The number of all bytes before that frame, where it is due at the end of this turn. */
  #dueAt: number | undefined

  /** `emptied`: as for {@link OutBuffer}. */
  constructor(socket: Duplex, format: Format, emptied: (wasFull: boolean) => void) {
    this.format = format
    this.#out = new OutBuffer(socket, emptied)
  }

  /** Bytes that the network has not taken. */
  get queued(): number {
    return this.#out.queued
  }

  /** Sends a whole message. Its bytes must not change afterwards, and are not changed here. */
  send(bytes: Uint8Array): void {
    if (!this.#isOpen) return
    if (bytes.length <= maxFrame || this.format === "raw") return this.#frame(wholeBinary, bytes)
    for (let at = 0; at < bytes.length; at += maxFrame) {
      const isLast = at + maxFrame >= bytes.length
      const code = at === 0 ? opcode.binary : opcode.continuation
      this.#frame(isLast ? final | code : code, bytes.subarray(at, at + maxFrame))
    }
  }

  /**
   * Begins the next message by an empty frame, unless bytes are on their way already: whatever it gets, the other
   * side's network learns by it that what it sent has come. A message may have several frames, so its reader sees
   * nothing of this. Only a server does it: a reader of ours gives a message that has begun a minute
   * (unfinished-watch.ts). The bytes that this turn sends elsewhere go first, since people wait for those.
   */
  begin(): void {
    if (this.#dueAt !== undefined || this.format !== "plain" || this.queued > 0) return
    this.#dueAt = this.#out.total
    process.nextTick(this.#beginNow)
  }

  readonly #beginNow = (): void => {
    const isBehindOthers = this.#out.total !== this.#dueAt
    this.#dueAt = undefined
    if (!this.#isOpen || this.#hasBegun || isBehindOthers) return
    this.#hasBegun = true
    this.#out.append(emptyBeginning, 0, emptyBeginning.length, 0)
  }

  /** Sends a control frame. */
  control(code: number, payload: Uint8Array): void {
    if (this.#isOpen && this.format !== "raw") this.#frame(final | code, payload)
  }

  /** Passes on messages that stand in this outlet's format already, header and all. Each is one frame. */
  run(bytes: Uint8Array, from: number, until: number): void {
    if (!this.#isOpen) return
    if (!this.#hasBegun) return this.#pass(bytes, from, until, 0)
    this.#hasBegun = false
    this.#out.append(lastPart, 0, lastPart.length, 0)
    this.#pass(bytes, from + 1, until, 0)
  }

  /** Passes on a message in this outlet's format, and with its new id. */
  take(message: MessageInPlace): void {
    if (!this.#isOpen) return
    const { at, bytes, id, idAt, idLength, key, length, pieces } = message
    const shift = id === undefined ? 0 : id.length - idLength
    // With the old key turned by the shift, the bytes behind the id stay as they are.
    const own = this.#header(wholeBinary, length + shift, key === 0 ? 0 : turned(key, -shift))
    let done = 0
    if (id !== undefined) {
      this.#out.append(bytes, at, at + idAt, key ^ own)
      this.#out.append(id, 0, id.length, turned(own, idAt))
      done = idAt + idLength
    }
    const change = turned(key, done) ^ turned(own, done + shift)
    if (length < shortUntil && pieces.length === 0)
      return this.#out.appendShort(message.view, at + done, length - done, change)
    this.#pass(bytes, at + done, message.until, change)
    done = message.until - at - done
    for (const piece of pieces) {
      this.#pass(piece, 0, piece.length, turned(change, done))
      done += piece.length
    }
  }

  /** Takes no more messages. Those that are queued are still sent. */
  shut(): void {
    this.#isOpen = false
  }

  /** Ends the socket's writing side behind what is queued. */
  end(): void {
    this.#isOpen = false
    this.#out.end()
  }

  /** The socket is gone. */
  stop(): void {
    this.#isOpen = false
    this.#out.stop()
  }

  #frame(first: number, bytes: Uint8Array): void {
    const key = this.#header(first, bytes.length, 0)
    if (key === 0 && bytes.length >= inPlaceFrom) this.#out.write(bytes)
    else this.#out.append(bytes, 0, bytes.length, key)
  }

  /** Begins a frame and gives its mask: the wanted one if that is not 0. */
  #header(wantedFirst: number, length: number, wanted: number): number {
    if (this.format === "raw") return 0
    const first = this.#hasBegun ? this.#goesOn(wantedFirst) : wantedFirst
    const isMasked = this.format === "masked"
    const key = isMasked ? wanted || nextMaskKey() : 0
    const into = this.#out.room(maxHeader)
    this.#out.filled(writeHeader(into, this.#out.at, length, { first, isMasked, key }))
    return key
  }

  /** The first byte of a frame behind {@link begin}. Control frames may stand between those of a message. */
  #goesOn(first: number): number {
    if ((first & 15) !== opcode.binary) return first
    this.#hasBegun = false
    return (first & final) | opcode.continuation
  }

  /** `key`: what is to be changed in the mask, as of the byte at `from`. */
  #pass(bytes: Uint8Array, from: number, until: number, key: number): void {
    const length = until - from
    // A queue must not keep more memory alive than it counts: a small part of a large buffer is copied.
    const isCopied = length < inPlaceFrom || (this.#out.isBehind && length * 2 < bytes.buffer.byteLength)
    if (isCopied) return this.#out.append(bytes, from, until, key)
    mask(bytes, from, until, key)
    this.#out.write(bytes.subarray(from, until))
  }
}
