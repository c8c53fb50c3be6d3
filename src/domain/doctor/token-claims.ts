/**
 * Reads the claims of a JWT, for people: `braid doctor` shows the subject and the end of a token.
 *
 * Not here: whether the token is genuine. Its signature is not checked.
 */

import * as Result from "effect/Result"
import { decodeBase64Text } from "../credentials/base64.ts"
import { isObject } from "../json.ts"
import type { Validity } from "./validity.ts"

/** The claims of a token that are shown. They are unchecked, and nothing of them is secret. */
export interface TokenClaims {
  /** For a service account `system:serviceaccount:<namespace>:<name>`. */
  readonly subject: string | undefined
  readonly validity: Validity
}

const milliseconds = (seconds: unknown): number | undefined =>
  typeof seconds === "number" && Number.isFinite(seconds) ? seconds * 1000 : undefined

/** Reads the claims of a JWT (RFC 7519), or undefined if the text is no JWT. */
export const readTokenClaims = (token: string): TokenClaims | undefined => {
  const [, payload, signature] = token.split(".")
  if (payload === undefined || signature === undefined) return undefined
  const decoded = decodeBase64Text(payload.replaceAll("-", "+").replaceAll("_", "/"))
  if (Result.isFailure(decoded)) return undefined
  try {
    const claims: unknown = JSON.parse(decoded.success)
    if (!isObject(claims)) return undefined
    const subject = claims["sub"]
    const from = milliseconds(claims["nbf"]) ?? milliseconds(claims["iat"])
    return {
      subject: typeof subject === "string" ? subject : undefined,
      validity: { from, until: milliseconds(claims["exp"]) }
    }
  } catch {
    return undefined
  }
}
