import { generateKeyPairSync, sign } from "node:crypto"
import { Effect } from "effect"
import type { MemoryCluster } from "./memory-world.ts"

const tlv = (tag: number, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(body.length < 128 ? [tag, body.length] : [tag, 0x81, body.length]), body])
}
const hex = (text: string): Buffer => Buffer.from(text, "hex")

/** A request for a certificate in the client's own encoding, as PEM. */
export const certificateRequest = (commonName: string): string => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const key = publicKey.export({ type: "spki", format: "der" }).subarray(-32)
  const subject = tlv(0x30, tlv(0x31, tlv(0x30, hex("0603550403"), tlv(0x0c, Buffer.from(commonName)))))
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

/** The certificate of a new user from a cluster's operator, as the real client asks for one and sends it along. */
export const certificateOf = (cluster: MemoryCluster, commonName = "laptop") =>
  Effect.gen(function* () {
    const pem = certificateRequest(commonName)
    const issued = yield* cluster.operator?.issueCertificate(pem) ?? Effect.die("no operator")
    return issued.replace(/-----[^-]+-----|\s/g, "")
  })
