/**
 * Finds the frames in the bytes of a WebSocket, complete by RFC 6455. A frame that is a whole binary message is handed
 * on where it lies. Fragments are put together, texts are checked, control frames and mistakes become events.
 *
 * Not here: answers to control frames and the end of the connection (websocket-channel.ts).
 */

import { Assembly } from "../../domain/websocket/assembly.ts"
import {
  FrameHeader,
  headerViolation,
  maxShort,
  opcode,
  wholeBinary,
  word
} from "../../domain/websocket/frame-header.ts"
import { mask, turned } from "../../domain/websocket/mask.ts"
import type { Violation } from "../../domain/websocket/violation.ts"
import type { Passing } from "../stream/forwarding.ts"
import { Kept } from "../stream/kept.ts"
import { noPieces } from "../stream/message-in-place.ts"

/** A control frame with its header is no longer, in bytes (RFC 6455 §5.5). */
const maxControlFrame = 2 + 4 + 125

export interface FrameEvents {
  /** A message that came in fragments. */
  readonly message: (bytes: Uint8Array) => void
  /** A text message, which is UTF-8 and was left out. */
  readonly text: () => void
  /** A control frame; the payload is a copy. */
  readonly control: (opcode: number, payload: Uint8Array) => void
  /** The peer broke a rule. Nothing is read any more. */
  readonly violated: (violation: Violation) => void
}

export interface FrameReaderOptions {
  /** Whether the peer is a client, which must mask its frames. */
  readonly isMasked: boolean
  /** The most bytes of a message. */
  readonly largest: number
}

export class FrameReader {
  /** Messages that came to their end. */
  finished = 0
  readonly #passing: Passing
  readonly #events: FrameEvents
  readonly #isMasked: boolean
  readonly #largest: number
  readonly #header = new FrameHeader()
  readonly #kept = new Kept()
  readonly #assembly: Assembly
  /** Bytes of a fragment or text that are still to come, and their mask as of the next one. */
  #remaining = 0
  #key = 0
  #isFinal = false
  #isInPayload = false
  #isDropping = false
  #isStopped = false

  constructor(passing: Passing, events: FrameEvents, { isMasked, largest }: FrameReaderOptions) {
    this.#passing = passing
    this.#events = events
    this.#isMasked = isMasked
    this.#largest = largest
    this.#assembly = new Assembly(largest)
  }

  get isUnfinished(): boolean {
    return !this.#isStopped && (!this.#kept.isEmpty || this.#isInPayload || this.#assembly.isOpen)
  }

  /** The memory that the unfinished message holds when `more` further bytes have come. */
  after(more: number): number {
    return this.#kept.after(more) + this.#assembly.after(more)
  }

  /** The most bytes that the unfinished message may have. */
  get most(): number {
    return this.#assembly.isOpen ? this.#largest : this.#kept.total
  }

  /** Reads on. The reader owns the chunk from now on. */
  read(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length && !this.#isStopped) {
      if (this.#isInPayload) at = this.#readPayload(chunk, at)
      else if (this.#kept.isEmpty) at = this.#scan(chunk, at)
      else at = this.#complete(chunk, at)
    }
    this.#passing.finish()
  }

  /** Keeps no messages any more: frames are read for control frames and mistakes alone. */
  drop(): void {
    this.#isDropping = true
    this.#assembly.drop()
    const kept = this.#kept
    // A header, and a control frame, are short and needed.
    if (kept.total <= maxControlFrame) return
    this.#assembly.begin("dropped")
    this.#assembly.announce(this.#header.length)
    this.#remaining = kept.total - kept.length
    this.#isFinal = true
    this.#isInPayload = true
    kept.clear()
  }

  /** Reads nothing any more. */
  stop(): void {
    this.#isStopped = true
    this.#kept.clear()
    this.#assembly.clear()
  }

  /** Reads frames where they lie, as far as they are whole. */
  #scan(chunk: Uint8Array, from: number): number {
    const header = this.#header
    const { message } = this.#passing
    const end = chunk.length
    let at = from
    message.bytes = chunk
    message.isAlone = false
    while (at < end && !this.#isStopped && !this.#isInPayload) {
      if (!header.read(chunk, at, end)) return this.#keep(chunk, at, header.size)
      if (this.#isWholeMessage()) {
        const payloadAt = at + header.size
        if (end - payloadAt < header.length) return this.#keep(chunk, at, header.size + header.length)
        this.#take(at, payloadAt)
        at = this.#repeat(chunk, payloadAt + header.length)
      } else at = this.#readOther(chunk, at)
    }
    return at
  }

  /**
   * Passes frames on that go on with a row and have the header of the last one, apart from the mask. Gives the place
   * behind them. Longer frames have longer headers, and few of them come with a read.
   */
  #repeat(chunk: Uint8Array, from: number): number {
    const { isMasked, length, size } = this.#header
    const total = size + length
    const second = isMasked ? 0x80 | length : length
    let at = from
    if (length > maxShort) return at
    while (chunk.length - at >= total && chunk[at] === wholeBinary && chunk[at + 1] === second) {
      if (!this.#passing.repeat(at, at + size, isMasked ? word(chunk, at + 2) : 0)) break
      this.finished++
      at += total
    }
    return at
  }

  #isWholeMessage(): boolean {
    const header = this.#header
    return (
      header.first === wholeBinary &&
      header.isMasked === this.#isMasked &&
      header.isLengthSound &&
      header.length <= this.#largest &&
      !this.#assembly.isOpen &&
      !this.#isDropping
    )
  }

  /** Hands a whole message on. */
  #take(at: number, payloadAt: number): void {
    const header = this.#header
    const { message } = this.#passing
    message.at = payloadAt
    message.length = header.length
    message.key = header.key
    this.finished++
    this.#passing.whole(at)
  }

  /** Keeps the beginning of a frame, or of a header, of `total` bytes. */
  #keep(chunk: Uint8Array, at: number, total: number): number {
    this.#kept.expect(total)
    return this.#kept.fill(chunk, at)
  }

  /** Reads on a frame, or a header, whose beginning is kept. */
  #complete(chunk: Uint8Array, from: number): number {
    const kept = this.#kept
    const header = this.#header
    const at = kept.fill(chunk, from)
    if (!kept.isWhole) return at
    if (!header.read(kept.bytes, 0, kept.length)) {
      kept.expect(header.size)
      return at
    }
    const total = header.size + header.length
    // The rest of a short message whose beginning was kept before messages were dropped.
    if (this.#isDropping && kept.length > header.size && !header.isControl) kept.clear()
    else if (!this.#isWholeMessage()) this.#readOther(kept.bytes, 0)
    else if (kept.length < total) kept.expect(total)
    else this.#takeKept()
    return at
  }

  #takeKept(): void {
    const { message } = this.#passing
    message.bytes = this.#kept.bytes
    message.pieces = this.#kept.pieces
    message.isAlone = message.pieces.length === 0
    this.#kept.clear()
    this.#take(0, this.#header.size)
    this.#passing.flush()
    message.pieces = noPieces
  }

  /** A frame that is no whole binary message. Gives the place behind what was read of it. */
  #readOther(bytes: Uint8Array, at: number): number {
    const header = this.#header
    const violation = headerViolation(header, this.#isMasked, this.#assembly.isOpen)
    if (violation !== undefined) return this.#violate(violation, bytes)
    if (header.isControl) return this.#readControl(bytes, at)
    return this.#beginPayload(bytes, at + header.size)
  }

  #readControl(bytes: Uint8Array, at: number): number {
    const header = this.#header
    const total = header.size + header.length
    const isKept = !this.#kept.isEmpty
    if (isKept && this.#kept.length < total) {
      this.#kept.expect(total)
      return bytes.length
    }
    if (!isKept && bytes.length - at < total) return this.#keep(bytes, at, total)
    const payload = new Uint8Array(header.length)
    payload.set(bytes.subarray(at + header.size, at + total))
    mask(payload, 0, payload.length, header.key)
    this.#kept.clear()
    this.#passing.flush()
    this.#events.control(header.opcode, payload)
    return at + total
  }

  #beginPayload(bytes: Uint8Array, at: number): number {
    const header = this.#header
    if (header.opcode !== opcode.continuation) this.#assembly.begin(this.#kindOf(header.opcode))
    const violation = this.#assembly.announce(header.length)
    if (violation !== undefined) return this.#violate(violation, bytes)
    this.#kept.clear()
    this.#remaining = header.length
    this.#key = header.key
    this.#isFinal = header.isFinal
    this.#isInPayload = true
    return header.length === 0 ? this.#readPayload(bytes, at) : at
  }

  #kindOf(code: number): "text" | "binary" | "dropped" {
    if (this.#isDropping) return "dropped"
    return code === opcode.text ? "text" : "binary"
  }

  /** Takes what is there of a fragment or a text: none of it is kept as a frame. */
  #readPayload(chunk: Uint8Array, at: number): number {
    const until = Math.min(chunk.length, at + this.#remaining)
    mask(chunk, at, until, this.#key)
    const violation = this.#assembly.take(chunk, at, until)
    if (violation !== undefined) return this.#violate(violation, chunk)
    this.#remaining -= until - at
    this.#key = turned(this.#key, until - at)
    if (this.#remaining > 0) return until
    this.#isInPayload = false
    if (this.#isFinal) this.#finishMessage(chunk)
    return until
  }

  #finishMessage(chunk: Uint8Array): void {
    const done = this.#assembly.finish()
    this.finished++
    this.#passing.flush()
    if (done === undefined) this.#events.text()
    else if (done instanceof Uint8Array) this.#events.message(done)
    else this.#violate(done, chunk)
  }

  /** Gives the end of the bytes: the rest is not read. */
  #violate(violation: Violation, bytes: Uint8Array): number {
    this.#passing.flush()
    this.stop()
    this.#events.violated(violation)
    return bytes.length
  }
}
