/**
 * The keys with which a member may dial: those that it got certificates for, from the key that its tunnel has on. They
 * are in the member's Secret beside the primary's operator, together with its token, so that a token is spent and its
 * key admitted by one write, and that a member whose Secret is gone is out at once.
 */

import * as Result from "effect/Result"
import { decodeBase64Text, encodeBase64Text } from "../fleet/credentials/base64.ts"

const entry = "keys"

/** Reads the `data` of a Secret: SHA-256 of the public keys' SPKI, hex, the last one first. */
export const readAdmittedKeys = (data: Readonly<Record<string, string>> | null | undefined): ReadonlyArray<string> =>
  Result.getOrElse(decodeBase64Text(data?.[entry] ?? ""), () => "")
    .split(" ")
    .filter((key) => /^[0-9a-f]{64}$/u.test(key))

/** The `data` of a patch after which these keys are admitted. */
export const admittedKeysData = (keys: ReadonlyArray<string>): Readonly<Record<string, string>> => ({
  [entry]: encodeBase64Text(keys.join(" "))
})

/** A member may ask again before an answer comes, and uses the certificate that comes first. */
const maxKeys = 4

/** The keys while a certificate for another key is on its way to the member. The last one is in use. */
export const withNextKey = (keys: ReadonlyArray<string>, next: string): ReadonlyArray<string> => {
  const all = [next, ...keys.filter((key) => key !== next)]
  return all.length > maxKeys ? all.toSpliced(-2, 1) : all
}

/** The keys once a tunnel stands with one of them: those before it are out. */
export const sinceKey = (keys: ReadonlyArray<string>, used: string): ReadonlyArray<string> => {
  const at = keys.indexOf(used)
  return at === -1 || at === keys.length - 1 ? keys : keys.slice(0, at + 1)
}
