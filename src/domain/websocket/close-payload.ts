/**
 * The payload of a WebSocket's close frame (RFC 6455 §5.5.1, §7.4): a code and a reason, or nothing.
 */

import { Utf8Check } from "./utf8-check.ts"
import type { Violation } from "./violation.ts"

export interface Closing {
  /** 1005: the frame had none. */
  readonly code: number
  readonly reason: string
}

const noCode = 1005

/** Codes that may stand in a frame: those of the RFC and its registry, and those for libraries and applications. */
const isCode = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && (code < 1004 || code > 1006)) || (code >= 3000 && code <= 4999)

/** Reads the payload, unmasked. */
export const readClosing = (payload: Uint8Array): Closing | Violation => {
  if (payload.length === 0) return { code: noCode, reason: "" }
  if (payload.length === 1) return { code: 1002, text: "a close frame has one byte; a code has two" }
  const code = ((payload[0] ?? 0) << 8) | (payload[1] ?? 0)
  if (!isCode(code)) return { code: 1002, text: `a close frame has the code ${code}, which no frame may have` }
  const check = new Utf8Check()
  if (!check.take(payload, 2, payload.length) || !check.isWhole)
    return { code: 1007, text: "the reason of a close frame is no UTF-8" }
  return { code, reason: new TextDecoder().decode(payload.subarray(2)) }
}

/** The payload of a close frame without a reason. */
export const closePayload = (code: number): Uint8Array =>
  code === noCode ? new Uint8Array(0) : new Uint8Array([code >>> 8, code & 255])

/** The end of a connection as logs name it. */
export const closingText = ({ code, reason }: Closing): string =>
  reason.length > 0 ? `${code} ${reason}` : `code ${code}`
