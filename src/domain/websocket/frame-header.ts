/**
 * Headers of WebSocket frames (RFC 6455 §5.2): read from bytes, judged, and written. Knows no payload and no message.
 *
 * Not here: which bytes of a stream are a header (adapters/websocket/frame-reader.ts).
 */

import type { Violation } from "./violation.ts"

export const opcode = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** First byte of a frame that is a whole binary message. */
export const wholeBinary = 0x82

/** First byte of a frame that is the last of a message. */
export const final = 0x80

/**
 * The most bytes of a frame that is sent: the client's library takes no longer ones, but messages of many of them
 * (wire.md §1.2).
 */
export const maxFrame = 16 * 1024 * 1024

/** The longest header, in bytes: two bytes, eight of the length, four of the mask. */
export const maxHeader = 14

/** The longest payload of a control frame, in bytes (RFC 6455 §5.5). */
const maxControl = 125

/** The longest payload whose length stands in the second byte of its header. */
export const maxShort = 125

/** Four bytes as a number: the first byte is the lowest. Those behind the end are 0. */
export const word = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)

const big = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) * 0x100_0000 + (((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0))

/** One header, read again and again. Its fields are valid until the next `read`. */
export class FrameHeader {
  first = 0
  isMasked = false
  /** The mask, its first byte lowest; 0 if there is none. */
  key = 0
  /** Bytes of the payload. Beyond 2^53 the number is rounded; such a frame is too large in any case. */
  length = 0
  /** Bytes of the header, as far as it is known. */
  size = 2
  /** Whether the length stands in its shortest form, with the highest bit 0 (RFC 6455 §5.2). */
  isLengthSound = true

  get isFinal(): boolean {
    return this.first >= 0x80
  }

  get opcode(): number {
    return this.first & 15
  }

  get isControl(): boolean {
    return (this.first & 8) !== 0
  }

  /** Reads the header that begins at `at`. `false`: it is not whole; `size` says how many bytes it has at least. */
  read(bytes: Uint8Array, at: number, end: number): boolean {
    if (end - at < 2) {
      this.size = 2
      return false
    }
    this.first = bytes[at] ?? 0
    const second = bytes[at + 1] ?? 0
    const short = second & 127
    this.isMasked = second >= 128
    const lengthSize = lengthSizeOf(short)
    this.size = 2 + lengthSize + (second >= 128 ? 4 : 0)
    if (end - at < this.size) return false
    if (lengthSize === 0) {
      this.length = short
      this.isLengthSound = true
    } else this.#readLength(bytes, at + 2, lengthSize)
    this.key = second >= 128 ? word(bytes, at + 2 + lengthSize) : 0
    return true
  }

  #readLength(bytes: Uint8Array, at: number, size: number): void {
    if (size === 2) {
      this.length = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
      this.isLengthSound = this.length >= 126
    } else {
      const high = big(bytes, at)
      this.length = high * 0x1_0000_0000 + big(bytes, at + 4)
      this.isLengthSound = high < 0x8000_0000 && this.length >= 0x1_0000
    }
  }
}

/** Bytes of a length that the seven bits of the second byte do not hold. */
const lengthSizeOf = (short: number): number => {
  if (short < 126) return 0
  return short === 126 ? 2 : 8
}

const refuse = (text: string): Violation => ({ code: 1002, text })

/**
 * The rule that a header breaks. `isMasked`: whether frames must be masked, which is so from client to server only (RFC
 * 6455 §5.1). `isContinued`: the message before is not finished, so that a data frame must continue it (RFC 6455
 * §5.4).
 */
export const headerViolation = (
  header: FrameHeader,
  isMasked: boolean,
  isContinued: boolean
): Violation | undefined => {
  const reserved = header.first & 0x70
  if (reserved !== 0) return refuse(`a frame has the reserved bits 0x${reserved.toString(16)}, and none were agreed on`)
  if (header.isMasked !== isMasked)
    return refuse(
      `a frame is ${isMasked ? "not masked; a client's" : "masked; a server's"} must ${isMasked ? "" : "not "}be`
    )
  if (!header.isLengthSound) return refuse("the length of a frame is not in its shortest form")
  return header.isControl ? controlViolation(header) : dataViolation(header, isContinued)
}

const controlViolation = (header: FrameHeader): Violation | undefined => {
  if (header.opcode > opcode.pong) return refuse(`a frame has the reserved opcode ${header.opcode}`)
  if (!header.isFinal) return refuse("a control frame is fragmented")
  return header.length > maxControl
    ? refuse(`a control frame has ${header.length} bytes; at most ${maxControl} are allowed`)
    : undefined
}

const dataViolation = (header: FrameHeader, isContinued: boolean): Violation | undefined => {
  if (header.opcode > opcode.binary) return refuse(`a frame has the reserved opcode ${header.opcode}`)
  if (header.opcode === opcode.continuation)
    return isContinued ? undefined : refuse("a frame continues a message, and none was begun")
  return isContinued ? refuse("a message begins before the one before it has ended") : undefined
}

/**
 * Writes a header at `at`, in its shortest form, and returns where it ends. There must be room for {@link maxHeader}
 * bytes.
 */
export const writeHeader = (into: Uint8Array, at: number, length: number, frame: HeaderFields): number => {
  const { isMasked, key } = frame
  const bit = isMasked ? 0x80 : 0
  into[at] = frame.first
  let next = at + 2
  if (length <= maxShort) into[at + 1] = bit | length
  else if (length < 0x1_0000) {
    into[at + 1] = bit | 126
    into[next++] = length >>> 8
    into[next++] = length & 255
  } else {
    into[at + 1] = bit | 127
    next = writeLong(into, next, length)
  }
  if (!isMasked) return next
  for (let bits = 0; bits < 32; bits += 8) into[next++] = (key >>> bits) & 255
  return next
}

export interface HeaderFields {
  /** The first byte: `FIN` and the opcode. */
  readonly first: number
  readonly isMasked: boolean
  /** The mask, its first byte lowest. */
  readonly key: number
}

const writeLong = (into: Uint8Array, at: number, length: number): number => {
  const high = Math.floor(length / 0x1_0000_0000)
  let next = at
  for (let bits = 24; bits >= 0; bits -= 8) into[next++] = (high >>> bits) & 255
  for (let bits = 24; bits >= 0; bits -= 8) into[next++] = (length >>> bits) & 255
  return next
}
