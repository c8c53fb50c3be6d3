/**
 * Reads PEM (RFC 7468) from configuration, Secrets and requests, in time that is linear in the text.
 *
 * Not here: whether the certificate or key in it is good.
 */

import * as Result from "effect/Result"
import { decodeBase64Text } from "./base64.ts"

/** One block between a line BEGIN and a line END. */
export interface PemBlock {
  /** Such as `CERTIFICATE`. */
  readonly label: string
  /** The text between the two lines. */
  readonly body: string
  /** The block with its two lines. */
  readonly text: string
}

const begin = "-----BEGIN "
const end = "-----END "
const dashes = "-----"

/**
 * The blocks of a text, in order; whatever stands around them is left out, and so is a block whose two labels differ.
 * Each search begins where the one before ended. An expression would go through the rest of the text for each BEGIN.
 */
export const pemBlocks = (text: string): ReadonlyArray<PemBlock> => {
  const blocks: Array<PemBlock> = []
  let at = 0
  for (let last = text.indexOf(end); last !== -1; last = text.indexOf(end, at)) {
    const before = text.slice(at, last)
    at = last + end.length
    const first = before.lastIndexOf(begin)
    const labelEnd = first === -1 ? -1 : before.indexOf(dashes, first + begin.length)
    if (labelEnd === -1) continue
    const label = before.slice(first + begin.length, labelEnd)
    const lastLine = `${end}${label}${dashes}`
    if (!text.startsWith(lastLine, last)) continue
    blocks.push({ label, body: before.slice(labelEnd + dashes.length), text: before.slice(first) + lastLine })
  }
  return blocks
}

const looksLikePem = (text: string): boolean =>
  pemBlocks(text).some(({ body, label }) => /^[A-Z0-9 ]+$/u.test(label) && body.trim() !== "")

/**
 * Accepts PEM, or base64 of PEM: published examples hold base64 under keys that suggest PEM (published-chart.md §2.7).
 * The failure is a sentence that never contains the value, so a private key may pass through here.
 */
export const readPem = (text: string): Result.Result<string, string> => {
  if (looksLikePem(text)) return Result.succeed(text)
  const decoded = decodeBase64Text(text)
  return Result.isSuccess(decoded) && looksLikePem(decoded.success)
    ? decoded
    : Result.fail("it is neither PEM (-----BEGIN …) nor base64 of PEM")
}
