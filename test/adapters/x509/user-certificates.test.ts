import { generateKeyPairSync, sign, X509Certificate } from "node:crypto"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import {
  issueUserCertificate,
  makeUserAuthority,
  verifyUserCertificate
} from "../../../src/adapters/x509/user-certificates.ts"

const now = Date.UTC(2026, 10, 21)
const serial = new Uint8Array(16).fill(7)
const authority = makeUserAuthority(now, serial)

const tlv = (tag: number, ...parts: ReadonlyArray<Buffer>): Buffer => {
  const body = Buffer.concat(parts)
  const long = body.length < 256 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 0xff]
  const length = body.length < 128 ? [body.length] : long
  return Buffer.concat([Buffer.from([tag, ...length]), body])
}
const hex = (text: string): Buffer => Buffer.from(text, "hex")

/**
 * The request that the real client makes: an Ed25519 key under X25519's identifier, NULL parameters everywhere
 * (operator-api.md §5.4).
 */
const clientRequest = (commonName: string): { readonly pem: string; readonly key: Buffer } => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const key = publicKey.export({ type: "spki", format: "der" }).subarray(-32)
  const subject = tlv(0x30, tlv(0x31, tlv(0x30, hex("0603550403"), tlv(0x0c, Buffer.from(commonName)))))
  const spki = tlv(0x30, hex("300706032b656e0500"), tlv(0x03, hex("00"), key))
  const info = tlv(0x30, hex("020100"), subject, spki, hex("a000"))
  const der = tlv(0x30, info, hex("300706032b65700500"), tlv(0x03, hex("00"), sign(null, info, privateKey)))
  const lines = der.toString("base64").match(/.{1,64}/g) ?? []
  return {
    pem: ["-----BEGIN CERTIFICATE REQUEST-----", ...lines, "-----END CERTIFICATE REQUEST-----", ""].join("\r\n"),
    key
  }
}

const derOf = (pem: string): string => pem.replace(/-----[^-]+-----|\s/g, "")

describe("certificates of users", () => {
  it("signs the real client's mislabelled request, and knows its own certificate again", () => {
    const { key, pem } = clientRequest("laptop")
    const certificate = Result.getOrThrow(issueUserCertificate(authority, pem, now, serial))
    expect(new X509Certificate(certificate).subject).toBe("CN=laptop")
    const user = verifyUserCertificate(authority, derOf(certificate), now)
    expect(user).toEqual(Result.succeed({ userId: key.toString("base64").replace(/=+$/, ""), commonName: "laptop" }))
  })

  it("has the NULL parameters that the client's re-encoding would add, so the bytes come back as they went", () => {
    const certificate = Result.getOrThrow(issueUserCertificate(authority, clientRequest("laptop").pem, now, serial))
    const der = Buffer.from(derOf(certificate), "base64")
    const rsaIdentifiers = der.toString("hex").split("300d06092a864886f70d01010b0500").length - 1
    expect(rsaIdentifiers).toBe(2)
    expect(der.includes(hex("300706032b656e0500"))).toBe(true)
  })

  it.each([
    ["no PEM at all", "hello", /not PEM/],
    ["PEM of something else", "-----BEGIN X-----\naGVsbG8=\n-----END X-----\n", /cannot be read/]
  ])("refuses a request that is %s", (_what, text, problem) => {
    expect(issueUserCertificate(authority, text, now, serial)).toMatchObject({
      failure: { message: expect.stringMatching(problem) }
    })
  })

  it("refuses a request that was signed with another key", () => {
    const { pem } = clientRequest("laptop")
    const der = Buffer.from(derOf(pem), "base64")
    der[der.length - 1] = (der.at(-1) ?? 0) ^ 1
    const forged = `-----BEGIN CERTIFICATE REQUEST-----\n${der.toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`
    expect(issueUserCertificate(authority, forged, now, serial)).toMatchObject({
      failure: { message: expect.stringMatching(/not signed/) }
    })
  })

  it("refuses certificates of another authority, expired ones and garbage", () => {
    const certificate = derOf(
      Result.getOrThrow(issueUserCertificate(authority, clientRequest("laptop").pem, now, serial))
    )
    const other = makeUserAuthority(now, serial)
    expect(verifyUserCertificate(other, certificate, now)).toMatchObject({
      failure: { message: expect.stringMatching(/not issued by this operator/) }
    })
    expect(verifyUserCertificate(authority, certificate, now + 366 * 86_400_000)).toMatchObject({
      failure: { message: expect.stringMatching(/valid from/) }
    })
    expect(verifyUserCertificate(authority, "AAAA", now)).toMatchObject({
      failure: { message: expect.stringMatching(/cannot be read/) }
    })
    expect(other.fingerprint).not.toBe(authority.fingerprint)
  })

  it("refuses certificates that are no user's, though the authority has signed them: its own, and others", () => {
    expect(verifyUserCertificate(authority, derOf(authority.certificatePem), now)).toMatchObject({
      failure: { message: expect.stringMatching(/not a user's: it is the certificate of an authority/) }
    })
  })

  it("refuses a certificate that is not alone", () => {
    const certificate = derOf(
      Result.getOrThrow(issueUserCertificate(authority, clientRequest("laptop").pem, now, serial))
    )
    const der = Buffer.from(certificate, "base64")
    for (const more of [Buffer.from([0]), der, Buffer.alloc(300, 0x30)])
      expect(verifyUserCertificate(authority, Buffer.concat([der, more]).toString("base64"), now)).toMatchObject({
        failure: { message: expect.stringMatching(/followed by other bytes/) }
      })
    expect(verifyUserCertificate(authority, certificate, now)).toMatchObject({ _tag: "Success" })
  })

  it("refuses requests and certificates that are larger than any client's", () => {
    expect(issueUserCertificate(authority, clientRequest("x".repeat(5_000)).pem, now, serial)).toMatchObject({
      failure: { message: expect.stringMatching(/has 5\d\d\d bytes; at most 4096 are taken/) }
    })
    expect(verifyUserCertificate(authority, Buffer.alloc(10_000).toString("base64"), now)).toMatchObject({
      failure: { message: expect.stringMatching(/has 10000 bytes; at most 8192 are taken/) }
    })
  })

  it("looks for the request in linear time", () => {
    const text = "-----BEGIN a-----".repeat(200_000)
    expect(issueUserCertificate(authority, text, now, serial)).toMatchObject({
      failure: { message: expect.stringMatching(/not PEM/) }
    })
  })
})
