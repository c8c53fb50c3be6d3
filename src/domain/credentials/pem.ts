/** Reads PEM from configuration and Secrets. Not here: whether the certificate or key in it is good. */

import * as Result from "effect/Result"
import { decodeBase64Text } from "./base64.ts"

const looksLikePem = (text: string): boolean => /-----BEGIN [A-Z0-9 ]+-----[\s\S]+-----END [A-Z0-9 ]+-----/u.test(text)

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
