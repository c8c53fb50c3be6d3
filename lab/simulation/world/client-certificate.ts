/**
 * Makes client certificates for simulated members, with a beginning and an end: byte for byte the same for the same
 * words, as no library makes them. Which API server knows them is decided in account-tokens.ts.
 */

import { createHash, createPrivateKey, createPublicKey, sign } from "node:crypto"

export interface CertificatePair {
  readonly certificatePem: string
  readonly keyPem: string
}

/** The subject and the life of a certificate. Times are epoch ms, and count in whole seconds. */
export interface WantedCertificate {
  readonly subject: string
  /** Number among the certificates of its authority. */
  readonly serial: number
  readonly from: number
  readonly until: number
  /** A text that stands beside the key, so that a leak is seen. */
  readonly secret: string
}

const tlv = (tag: number, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const body = Buffer.concat(parts)
  const { length } = body
  const long = length < 256 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(length < 128 ? [tag, length] : long), body])
}
const sequence = (...parts: ReadonlyArray<Buffer>): Buffer => tlv(0x30, ...parts)
const ed25519 = sequence(Buffer.from("06032b6570", "hex"))
const commonName = Buffer.from("0603550403", "hex")

const nameOf = (text: string): Buffer => sequence(tlv(0x31, sequence(commonName, tlv(0x0c, Buffer.from(text)))))

/** As `YYMMDDHHMMSSZ`. */
const utcTime = (at: number): Buffer => {
  const digits = new Date(at).toISOString().replaceAll(/\D/gu, "")
  return tlv(0x17, Buffer.from(`${digits.slice(2, 14)}Z`))
}

const pem = (label: string, der: Buffer): string => {
  const lines = der.toString("base64").match(/.{1,64}/gu) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n")
}

/** A certificate that signs itself, and its key, both PEM. */
export const makeClientCertificate = (wanted: WantedCertificate): CertificatePair => {
  const { from, secret, serial, subject, until } = wanted
  const seed = createHash("sha256").update(`${subject} ${serial}`).digest()
  const pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed])
  const privateKey = createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" })
  const signed = sequence(
    tlv(0xa0, Buffer.from("020102", "hex")),
    tlv(0x02, Buffer.from([0x01, serial >> 16, (serial >> 8) & 0xff, serial & 0xff])),
    ed25519,
    nameOf("authority of a simulated cluster"),
    sequence(utcTime(from), utcTime(until)),
    nameOf(subject),
    createPublicKey(privateKey).export({ type: "spki", format: "der" })
  )
  const signature = tlv(0x03, Buffer.from([0]), sign(null, signed, privateKey))
  return {
    certificatePem: pem("CERTIFICATE", sequence(signed, ed25519, signature)),
    keyPem: `${secret}\n${pem("PRIVATE KEY", pkcs8)}`
  }
}
