/** WebSocket frames of the fuzzer: made wrong on purpose, and read strictly. Sends nothing. */

import { clientMessage } from "../../src/domain/protocol/client-message.ts"
import { daemonMessage, type DaemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import { FrameHeader, headerViolation, opcode, writeHeader } from "../../src/domain/websocket/frame-header.ts"

/** A frame as the fuzzer writes it. */
export interface HostileFrame {
  /** The first byte: `FIN`, reserved bits, opcode. */
  readonly first: number
  readonly isMasked: boolean
  /** Added to the length that the header announces. */
  readonly lie: number
  readonly payload: Uint8Array
}

export const frameBytes = ({ first, isMasked, lie, payload }: HostileFrame): Uint8Array => {
  const bytes = new Uint8Array(14 + payload.length)
  const key = isMasked ? 0x01_02_03_04 : 0
  const end = writeHeader(bytes, 0, Math.max(0, payload.length + lie), { first, isMasked, key })
  for (let i = 0; i < payload.length; i++)
    bytes[end + i] = (payload[i] ?? 0) ^ (isMasked ? (key >>> (8 * (i % 4))) & 255 : 0)
  return bytes.subarray(0, end + payload.length)
}

/** A message of the client in a frame as it should be. */
export const frameOf = (message: Parameters<typeof clientMessage.encode>[0]): Uint8Array =>
  frameBytes({ first: 0x82, isMasked: true, lie: 0, payload: clientMessage.encode(message) })

/** Whether a server may close with a code: a code of the standard that blames the client, or the client's own. */
const mayClose = (code: number): boolean =>
  [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1012, 1013, 1014].includes(code) || (code >= 3000 && code < 5000)

export interface ServerSaid {
  readonly messages: ReadonlyArray<DaemonMessage>
  /** The code of the frame that closes the connection. */
  readonly closed: number | undefined
  /** The rule of the protocol that the server breaks, if it breaks one. */
  readonly problem: string | undefined
}

const closeProblem = (payload: Buffer): string | undefined => {
  if (payload.length === 0) return undefined
  const code = payload.length < 2 ? 0 : payload.readUInt16BE(0)
  return mayClose(code) ? undefined : `it closed with ${code} ${payload.subarray(2).toString("utf8")}`
}

/** Reads what a server says over a WebSocket. A frame that is not whole is left out: a connection may break off. */
export const readServer = (bytes: Buffer): ServerSaid => {
  const messages: Array<DaemonMessage> = []
  const header = new FrameHeader()
  let parts: Array<Buffer> = []
  let closed: number | undefined
  const said = (problem?: string): ServerSaid => ({ messages, closed, problem })
  for (let at = 0; at < bytes.length;) {
    if (!header.read(bytes, at, bytes.length)) break
    const violation = headerViolation(header, false, parts.length > 0)
    if (violation !== undefined) return said(violation.text)
    const payload = bytes.subarray(at + header.size, at + header.size + header.length)
    if (payload.length < header.length) break
    at += header.size + header.length
    if (closed !== undefined) return said("it said something after its end")
    if (header.opcode === opcode.close) {
      closed = payload.length < 2 ? 1005 : payload.readUInt16BE(0)
      const problem = closeProblem(payload)
      if (problem !== undefined) return said(problem)
      continue
    }
    if (header.isControl) continue
    if (header.opcode === opcode.text) return said("it sent a text")
    parts.push(payload)
    if (!header.isFinal) continue
    const whole = Buffer.concat(parts)
    parts = []
    const decoded = daemonMessage.decode(new Uint8Array(whole))
    if (decoded._tag !== "Decoded") return said(`a message of it is ${decoded._tag}: ${whole.toString("hex")}`)
    messages.push(decoded.value)
  }
  return said()
}
