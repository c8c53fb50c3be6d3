/** The other end of a WebSocket, by hand: frames are bytes that a test writes and reads. Shares no code with src. */

import { once } from "node:events"
import net, { type Socket } from "node:net"
import { listenLocally } from "../../../support/listen-locally.ts"

export interface RawFrame {
  readonly fin?: boolean
  readonly rsv?: number
  readonly opcode: number
  readonly payload?: Uint8Array
}

/** How many bytes behind the second one say the length. */
const extraOf = (length: number): 0 | 2 | 8 => {
  if (length < 126) return 0
  return length < 65_536 ? 2 : 8
}

/** The bytes of a frame; `mask`: four bytes, or `undefined` for none. Suites make some 100,000 frames. */
export const encodeFrame = (frame: RawFrame, mask?: Uint8Array): Buffer => {
  const { fin = true, opcode, payload = new Uint8Array(0), rsv = 0 } = frame
  const { length } = payload
  const extra = extraOf(length)
  const begin = 2 + extra + (mask?.length ?? 0)
  const bytes = Buffer.allocUnsafe(begin + length)
  bytes[0] = (fin ? 0x80 : 0) | (rsv << 4) | opcode
  bytes[1] = (mask === undefined ? 0 : 0x80) | { 0: length, 2: 126, 8: 127 }[extra]
  if (extra === 2) bytes.writeUInt16BE(length, 2)
  if (extra === 8) bytes.writeBigUInt64BE(BigInt(length), 2)
  bytes.set(payload, begin)
  if (mask === undefined) return bytes
  bytes.set(mask, 2 + extra)
  for (let i = 0; i < length; i++) bytes[begin + i] = (bytes[begin + i] ?? 0) ^ (mask[i & 3] ?? 0)
  return bytes
}

export interface SeenFrame {
  readonly fin: boolean
  readonly rsv: number
  readonly opcode: number
  readonly isMasked: boolean
  readonly payload: Buffer
}

/** The first frame of some bytes and its length, or `undefined` if it is not whole. */
const decodeFrame = (bytes: Buffer): { readonly frame: SeenFrame; readonly used: number } | undefined => {
  const [first, second] = [bytes[0], bytes[1]]
  if (first === undefined || second === undefined) return undefined
  const short = second & 127
  const extra = [0, 2, 8][Math.max(0, short - 125)] ?? 0
  const isMasked = second >= 128
  const head = 2 + extra + (isMasked ? 4 : 0)
  if (bytes.length < head) return undefined
  const length = extra === 0 ? short : Number(`0x${bytes.toString("hex", 2, 2 + extra)}`)
  if (bytes.length < head + length) return undefined
  const payload = Buffer.from(bytes.subarray(head, head + length))
  if (isMasked) for (let i = 0; i < length; i++) payload[i] = (payload[i] ?? 0) ^ (bytes[head - 4 + (i & 3)] ?? 0)
  const frame = { fin: first >= 128, rsv: (first >> 4) & 7, opcode: first & 15, isMasked, payload }
  return { frame, used: head + length }
}

/** All frames of some bytes, and how many bytes are left. */
export const decodeFrames = (bytes: Buffer): { readonly frames: ReadonlyArray<SeenFrame>; readonly rest: Buffer } => {
  const frames: Array<SeenFrame> = []
  let rest = bytes
  for (let next = decodeFrame(rest); next !== undefined; next = decodeFrame(rest)) {
    frames.push(next.frame)
    rest = rest.subarray(next.used)
  }
  return { frames, rest }
}

/** How many bytes the frame has that begins here, or 0 if that is not known. */
const wantedOf = (bytes: Buffer): number => {
  const short = (bytes[1] ?? 0) & 127
  if (short < 127 || bytes.length < 10) return 0
  return Number(bytes.readBigUInt64BE(2)) + 10 + ((bytes[1] ?? 0) >= 128 ? 4 : 0)
}

/** Two ends of one TCP connection. */
export const socketPair = async (): Promise<readonly [Socket, Socket]> => {
  const server = net.createServer({ allowHalfOpen: true })
  const port = await listenLocally(server)
  const accepted = once(server, "connection") as Promise<[Socket]>
  const left = net.connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true })
  const [right] = await accepted
  if (left.connecting) await once(left, "connect")
  server.close()
  right.setNoDelay()
  for (const end of [left, right]) end.on("error", () => {})
  return [left, right]
}

/** A peer that collects what it reads. */
export class RawPeer {
  readonly socket: Socket
  readonly frames: Array<SeenFrame> = []
  isEnded = false
  readonly #masks: boolean
  #parts: Array<Buffer> = []
  #length = 0
  #wanted = 0
  #wake = (): void => {}

  /** `masks`: the peer is the client. */
  constructor(socket: Socket, masks: boolean) {
    this.socket = socket
    this.#masks = masks
    // A copy: a channel on the same socket unmasks the bytes where they lie.
    socket.on("data", (chunk: Buffer) => this.#read(Buffer.from(chunk)))
    const ended = (): void => {
      this.isEnded = true
      this.#wake()
    }
    socket.on("end", ended)
    socket.on("close", ended)
  }

  encode(frame: RawFrame): Buffer {
    return encodeFrame(frame, this.#masks ? Buffer.from([0x37, 0xfa, 0x21, 0x3d]) : undefined)
  }

  write(bytes: Uint8Array): void {
    if (!this.socket.destroyed && this.socket.writable) this.socket.write(bytes)
  }

  async until(done: () => boolean): Promise<void> {
    while (!done()) await new Promise<void>((resolve) => (this.#wake = resolve))
  }

  #read(chunk: Buffer): void {
    this.#parts.push(chunk)
    this.#length += chunk.length
    if (this.#length < this.#wanted) return
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts)
    const { frames, rest } = decodeFrames(bytes)
    this.frames.push(...frames)
    this.#parts = rest.length === 0 ? [] : [rest]
    this.#length = rest.length
    this.#wanted = wantedOf(rest)
    if (frames.length > 0) this.#wake()
  }
}
