import "reflect-metadata"
import { createPrivateKey, generateKeyPairSync, KeyObject, webcrypto } from "node:crypto"
import { X509CertificateGenerator } from "@peculiar/x509"
import { Result } from "effect"
import { beforeAll, describe, expect, it } from "vitest"
import { createAuthority, type KeyPair } from "../../../lab/cluster/http/pki.ts"
import { readClientPair } from "../../../src/adapters/x509/client-certificate.ts"

const day = 86_400_000
const begun = Date.UTC(2026, 0, 1)

/** A pair whose RSA key has 1024 bits. */
const smallPair = async () => {
  const algorithm = {
    name: "RSASSA-PKCS1-v1_5",
    hash: "SHA-256",
    modulusLength: 1024,
    publicExponent: Uint8Array.of(1, 0, 1)
  }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=small",
    keys,
    signingAlgorithm: algorithm
  })
  const key = KeyObject.from(keys.privateKey)
  return { certPem: certificate.toString("pem"), keyPem: key.export({ type: "pkcs8", format: "pem" }).toString() }
}

describe("a client certificate and its key", () => {
  let pair: KeyPair
  let other: KeyPair
  let caPem = ""
  beforeAll(async () => {
    const authority = await createAuthority("ca", () => begun)
    caPem = authority.caPem
    pair = await authority.issue({ commonName: "primary" })
    other = await authority.issue({ commonName: "other" })
  })
  const read = (certificatePem: string, keyPem: string) => readClientPair({ certificatePem, keyPem })

  it("tell from when to when they are valid, with certificates of authorities behind them or not", () => {
    const validity = Result.getOrThrow(read(pair.certPem, pair.keyPem))
    expect(validity.until).toBeGreaterThan(begun + 300 * day)
    expect(validity.from).toBeLessThanOrEqual(begun)
    expect(read(`${pair.certPem}\n${caPem}`, pair.keyPem)).toEqual(Result.succeed(validity))
  })

  it("are taken with keys of every kind and form", () => {
    const key = createPrivateKey(pair.keyPem).export({ type: "sec1", format: "pem" }).toString()
    expect(Result.isSuccess(read(pair.certPem, key))).toBe(true)
  })

  it("are refused with a sentence, without the key", async () => {
    const small = await smallPair()
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    const secret = { cipher: "aes-256-cbc", passphrase: "canary" }
    const modern = privateKey.export({ type: "pkcs8", format: "pem", ...secret }).toString()
    const old = privateKey.export({ type: "pkcs1", format: "pem", ...secret }).toString()
    const broken = pair.keyPem.replace(/\n[^-]{20}/u, "\nAAAAAAAAAAAAAAAAAAAA")
    const cases: ReadonlyArray<readonly [string, string, RegExp]> = [
      [pair.certPem, modern, /tls\.key is encrypted, .* write it without one \(openssl pkey/u],
      [pair.certPem, old, /tls\.key is encrypted/u],
      [pair.certPem, other.keyPem, /tls\.key does not belong to the first certificate in tls\.crt/u],
      [`${caPem}${pair.certPem}`, pair.keyPem, /the client's certificate before those of its authorities/u],
      [pair.certPem, broken, /tls\.key cannot be read/u],
      [pair.certPem, pair.certPem, /tls\.key holds no PRIVATE KEY/u],
      [pair.keyPem, pair.keyPem, /tls\.crt holds no CERTIFICATE/u],
      [
        `${pair.certPem}\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----`,
        pair.keyPem,
        /^certificate 2 of 2 in tls\.crt is no X\.509 certificate/u
      ],
      [
        `${pair.certPem.trim()}${caPem}`,
        pair.keyPem,
        /^TLS cannot use tls\.crt \(OpenSSL: bad end line\); write plain PEM/u
      ],
      [`Subject: a ${pair.certPem}`, pair.keyPem, /^TLS cannot use tls\.crt \(OpenSSL: no start line\)/u],
      [pair.certPem, `Key: ${pair.keyPem}`, /^TLS cannot use tls\.key \(OpenSSL: /u],
      [
        small.certPem,
        small.keyPem,
        /tls\.crt \(OpenSSL: ee key too small\); make a pair with an EC key, or an RSA key of/u
      ]
    ]
    for (const [certificate, key, sentence] of cases) {
      const failure = Result.getOrThrow(Result.flip(read(certificate, key)))
      expect(failure).toMatch(sentence)
      for (const line of key.split("\n").filter(({ length }) => length > 20)) expect(failure).not.toContain(line)
    }
  })
})
