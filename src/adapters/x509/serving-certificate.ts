/**
 * Makes the certificate of the operator's own port for installations that bring none, and reads it again.
 *
 * Not here: certificates that an installation brings (app/operator/certificate-watch.ts), when a certificate is renewed
 * (domain/credentials/serving-renewal.ts), and certificates of users (user-certificates.ts).
 */

import "reflect-metadata"
import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from "node:crypto"
import * as x509 from "@peculiar/x509"
import { Redacted } from "effect"
import type { ServingLife } from "../../domain/credentials/serving-renewal.ts"
import { leadsTo, readBundle } from "./certificate-bundle.ts"

const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }

/** A serving certificate and the authority that signed it, all PEM. */
export interface SignedServingCertificate {
  readonly authorityPem: string
  readonly certificatePem: string
  readonly keyPem: Redacted.Redacted
}

interface Signing {
  readonly subject: string
  readonly issuer: string
  readonly life: ServingLife
  readonly publicKey: webcrypto.CryptoKey
  readonly signer: webcrypto.CryptoKeyPair
  readonly extensions: Array<x509.Extension>
}

const certificateOf = async (signing: Signing): Promise<string> => {
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
      signingAlgorithm: algorithm,
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

const privateKeyPem = async (key: webcrypto.CryptoKey): Promise<Redacted.Redacted> => {
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", key)).toString("base64")
  const lines = pkcs8.match(/.{1,64}/g) ?? []
  return Redacted.make(["-----BEGIN PRIVATE KEY-----", ...lines, "-----END PRIVATE KEY-----", ""].join("\n"))
}

/**
 * A certificate for these DNS names, signed by an authority of its own, which signs nothing else: the authority's key
 * is never stored, and is gone when this returns. So who steals a key that is kept can show one name and sign none.
 */
export const makeServingCertificate = async (
  names: ReadonlyArray<string>,
  life: ServingLife
): Promise<SignedServingCertificate> => {
  const [authority, keys] = await Promise.all([
    webcrypto.subtle.generateKey(algorithm, false, ["sign", "verify"]),
    webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
  ])
  const issuer = `CN=braid serving authority ${randomBytes(4).toString("hex")}`
  const authorityPem = await certificateOf({
    subject: issuer,
    issuer,
    life,
    publicKey: authority.publicKey,
    signer: authority,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign, true)
    ]
  })
  const certificatePem = await certificateOf({
    subject: `CN=${names[0] ?? "braid"}`,
    issuer,
    life,
    publicKey: keys.publicKey,
    signer: authority,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: "dns", value })))
    ]
  })
  return { authorityPem, certificatePem, keyPem: await privateKeyPem(keys.privateKey) }
}

/**
 * When a certificate that was kept is valid; undefined if it cannot be served to clients that ask for `host`: another
 * name, key or authority, or no certificate at all.
 */
export const readServingLife = (kept: SignedServingCertificate, host: string): ServingLife | undefined => {
  try {
    const certificate = new X509Certificate(kept.certificatePem)
    const fits =
      certificate.checkHost(host) !== undefined &&
      certificate.checkPrivateKey(createPrivateKey(Redacted.value(kept.keyPem))) &&
      leadsTo(certificate, readBundle(kept.authorityPem))
    return fits ? { from: certificate.validFromDate.getTime(), until: certificate.validToDate.getTime() } : undefined
  } catch {
    return undefined
  }
}
