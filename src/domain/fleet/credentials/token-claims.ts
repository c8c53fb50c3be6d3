/**
 * Reads the claims of a JWT: a service account's name, and from when to when the token is valid.
 *
 * Not here: whether the token is genuine. Its signature is not checked.
 */

import * as Result from "effect/Result"
import { asString, at, isObject } from "../../json.ts"
import { decodeBase64Text } from "./base64.ts"
import type { Validity } from "./validity.ts"

/** A service account by its namespace and name. */
export interface ServiceAccount {
  readonly namespace: string
  readonly name: string
}

/** The claims of a token, which are unchecked; nothing of them is secret. Times are epoch ms of the issuer's clock. */
export interface TokenClaims {
  /** For a service account `system:serviceaccount:<namespace>:<name>`. */
  readonly subject: string | undefined
  readonly account: ServiceAccount | undefined
  /** The account's uid; missing in tokens that are bound to nothing. */
  readonly uid: string | undefined
  readonly issuedAt: number | undefined
  readonly validity: Validity
}

/** The last second that RFC 3339 can express, in s. */
const lastSecond = 253_402_300_799

/** Claims are unchecked: a time outside of these bounds becomes the nearest one that can be printed. */
const milliseconds = (seconds: unknown): number | undefined =>
  typeof seconds === "number" && Number.isFinite(seconds)
    ? Math.min(lastSecond, Math.max(0, seconds)) * 1000
    : undefined

/** Names of namespaces and accounts. They become parts of paths, and of commands that people copy. */
const isName = (text: string | undefined): text is string => /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/u.test(text ?? "")

const accountOf = (subject: string | undefined): ServiceAccount | undefined => {
  const [system, kind, namespace, name, ...more] = (subject ?? "").split(":")
  const isAccount = system === "system" && kind === "serviceaccount" && more.length === 0
  return isAccount && isName(namespace) && isName(name) ? { namespace, name } : undefined
}

/** Reads the claims of a JWT (RFC 7519), or undefined if the text is no JWT. */
export const readTokenClaims = (token: string): TokenClaims | undefined => {
  const [, payload, signature] = token.split(".")
  if (payload === undefined || signature === undefined) return undefined
  const decoded = decodeBase64Text(payload.replaceAll("-", "+").replaceAll("_", "/"))
  if (Result.isFailure(decoded)) return undefined
  try {
    const claims: unknown = JSON.parse(decoded.success)
    if (!isObject(claims)) return undefined
    const subject = typeof claims["sub"] === "string" ? claims["sub"] : undefined
    const issuedAt = milliseconds(claims["iat"])
    const from = milliseconds(claims["nbf"]) ?? issuedAt
    return {
      subject,
      account: accountOf(subject),
      uid: asString(at(claims, "kubernetes.io", "serviceaccount", "uid")),
      issuedAt,
      validity: { from, until: milliseconds(claims["exp"]) }
    }
  } catch {
    return undefined
  }
}
