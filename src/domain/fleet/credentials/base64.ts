/**
 * Base64 of text, as it stands in Secrets, configuration files and headers.
 *
 * Not here: base64 of bytes that are not text.
 */

import * as Result from "effect/Result"

/**
 * Standard base64 (padding optional, white space ignored) of UTF-8 text. The failure is a sentence without the value.
 */
export const decodeBase64Text = (text: string): Result.Result<string, string> => {
  const compact = text.replace(/\s+/gu, "")
  if (!/^[A-Za-z0-9+/]*={0,2}$/u.test(compact)) return Result.fail("it holds characters that base64 does not use")
  try {
    const bytes = Uint8Array.from(atob(compact), (char) => char.charCodeAt(0))
    return Result.succeed(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return Result.fail("it is not base64 of UTF-8 text")
  }
}

/** Standard base64 with padding of a text's UTF-8 bytes. */
export const encodeBase64Text = (text: string): string =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join(""))
