/**
 * Signs X.509 certificates, with keys on the curve P-256.
 *
 * Not here: what a certificate says, and for whom (serving-certificate.ts, agent-certificate.ts,
 * tunnel-certificates.ts).
 */

import "reflect-metadata"
import { createPublicKey, type KeyObject, randomBytes, webcrypto } from "node:crypto"
import * as x509 from "@peculiar/x509"
import { Redacted } from "effect"
import type { ServingLife } from "../../domain/fleet/credentials/serving-renewal.ts"

export const keyAlgorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }

/** A certificate to be signed. Names are distinguished names as text, `CN=operator`, or parts. */
interface Signing {
  readonly subject: string | x509.Name
  readonly issuer: string
  readonly life: ServingLife
  readonly publicKey: webcrypto.CryptoKey
  readonly signer: webcrypto.CryptoKeyPair
  readonly extensions: ReadonlyArray<x509.Extension>
}

/** A new key pair. `isKept`: the private key can be taken out of this process. */
export const makeKeys = (isKept: boolean): Promise<webcrypto.CryptoKeyPair> =>
  webcrypto.subtle.generateKey(keyAlgorithm, isKept, ["sign", "verify"])

/** The key pair of a private key on the curve P-256 that was kept. */
export const importKeys = async (key: KeyObject): Promise<webcrypto.CryptoKeyPair> => {
  const pkcs8 = key.export({ type: "pkcs8", format: "der" })
  const spki = createPublicKey(key).export({ type: "spki", format: "der" })
  const [privateKey, publicKey] = await Promise.all([
    webcrypto.subtle.importKey("pkcs8", pkcs8, keyAlgorithm, false, ["sign"]),
    webcrypto.subtle.importKey("spki", spki, keyAlgorithm, true, ["verify"])
  ])
  return { privateKey, publicKey }
}

/** The certificate, PEM. Its serial number is random. */
export const signCertificate = async (signing: Signing): Promise<string> => {
  const { extensions, issuer, life, publicKey, signer, subject } = signing
  const certificate = await x509.X509CertificateGenerator.create(
    {
      serialNumber: `01${randomBytes(15).toString("hex")}`,
      subject,
      issuer,
      notBefore: new Date(life.from),
      notAfter: new Date(life.until),
      publicKey,
      signingKey: signer.privateKey,
      signingAlgorithm: keyAlgorithm,
      extensions: [
        ...extensions,
        await x509.SubjectKeyIdentifierExtension.create(publicKey, false, webcrypto),
        await x509.AuthorityKeyIdentifierExtension.create(signer.publicKey, false, webcrypto)
      ]
    },
    webcrypto
  )
  return `${certificate.toString("pem")}\n`
}

/** The extensions that make a certificate that of an authority. `below`: how many authorities may follow it. */
export const authorityExtensions = (below = 0): ReadonlyArray<x509.Extension> => [
  new x509.BasicConstraintsExtension(true, below, true),
  new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true)
]

/** The extensions that make a certificate one for TLS with these names, which signs no other. */
export const leafExtensions = (
  usage: x509.ExtendedKeyUsage.clientAuth | x509.ExtendedKeyUsage.serverAuth,
  names: x509.JsonGeneralNames
): ReadonlyArray<x509.Extension> => [
  new x509.BasicConstraintsExtension(false, undefined, true),
  new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
  new x509.ExtendedKeyUsageExtension([usage]),
  new x509.SubjectAlternativeNameExtension(names)
]

/** The extensions that make a certificate that of a server with these DNS names, which signs no other. */
export const serverExtensions = (names: ReadonlyArray<string>): ReadonlyArray<x509.Extension> =>
  leafExtensions(
    x509.ExtendedKeyUsage.serverAuth,
    names.map((value) => ({ type: "dns", value }))
  )

/** A private key that can be taken out of this process, as PEM (PKCS #8). */
export const privateKeyPem = async (key: webcrypto.CryptoKey): Promise<Redacted.Redacted> => {
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", key)).toString("base64")
  const lines = pkcs8.match(/.{1,64}/g) ?? []
  return Redacted.make(["-----BEGIN PRIVATE KEY-----", ...lines, "-----END PRIVATE KEY-----", ""].join("\n"))
}
