/**
 * The users' certificate authority and certificates of all simulated worlds. The authority's key is drawn once per
 * process, because making a key takes longer than many a story; nothing that a story shows depends on it. Users' keys
 * follow from their names.
 */

import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto"
import { Result } from "effect"
import {
  issueUserCertificate,
  makeUserAuthority,
  type UserAuthority,
  verifyUserCertificate
} from "../../../src/adapters/x509/user-certificates.ts"

let authority: UserAuthority | undefined
const certificates = new Map<string, string>()

/** The time at which every world begins, epoch ms; certificates are valid around it. */
export const worldStart = Date.UTC(2026, 0, 1)

export const userAuthority = (): UserAuthority => (authority ??= makeUserAuthority(worldStart, new Uint8Array(16)))

const tlv = (tag: number, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(body.length < 128 ? [tag, body.length] : [tag, 0x81, body.length]), body])
}
const hex = (text: string): Buffer => Buffer.from(text, "hex")

/** The certificate request of a user, as the real client makes it (operator-api.md §5.4). */
const request = (user: string): string => {
  const seed = createHash("sha256").update(`user ${user}`).digest()
  const privateKey = createPrivateKey({
    key: Buffer.concat([hex("302e020100300506032b657004220420"), seed]),
    format: "der",
    type: "pkcs8"
  })
  const key = createPublicKey(privateKey).export({ type: "spki", format: "der" }).subarray(-32)
  const subject = tlv(0x30, tlv(0x31, tlv(0x30, hex("0603550403"), tlv(0x0c, Buffer.from(user)))))
  const info = tlv(
    0x30,
    hex("020100"),
    subject,
    tlv(0x30, hex("300706032b656e0500"), tlv(0x03, hex("00"), key)),
    hex("a000")
  )
  const der = tlv(0x30, info, hex("300706032b65700500"), tlv(0x03, hex("00"), sign(null, info, privateKey)))
  return `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`
}

/** Value of `x-client-der` for a user. */
export const userCertificate = (user: string): string => {
  const known = certificates.get(user)
  if (known !== undefined) return known
  const issued = Result.getOrThrowWith(
    issueUserCertificate(userAuthority(), request(user), worldStart, new Uint8Array(16)),
    ({ message }) => new Error(message)
  )
  const made = issued.replaceAll(/-----[^-]+-----|\s/g, "")
  certificates.set(user, made)
  return made
}

/** The id by which operators know a user: it follows from the user's key. */
export const userIdOf = (user: string): string =>
  Result.getOrThrowWith(
    verifyUserCertificate(userAuthority(), userCertificate(user), worldStart),
    ({ message }) => new Error(message)
  ).userId
