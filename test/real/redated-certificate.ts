/** User certificates with another end, signed again by their authority. */

import { createPrivateKey, sign } from "node:crypto"
import { AsnConvert } from "@peculiar/asn1-schema"
import { Certificate, TBSCertificate, Validity } from "@peculiar/asn1-x509"

const year = 365 * 86_400_000

const parsed = (pem: string): Certificate =>
  AsnConvert.parse(Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ""), "base64"), Certificate)

/** Epoch ms. */
export const validityOf = (pem: string): { readonly from: number; readonly until: number } => {
  const { notAfter, notBefore } = parsed(pem).tbsCertificate.validity
  return { from: notBefore.getTime().getTime(), until: notAfter.getTime().getTime() }
}

/** The certificate as if it had been issued a year before `end` (epoch ms). */
export const redated = (pem: string, authorityKeyPem: string, end: number): string => {
  const certificate = parsed(pem)
  const old = certificate.tbsCertificate
  const tbsCertificate = new TBSCertificate({
    version: old.version,
    serialNumber: old.serialNumber,
    signature: old.signature,
    issuer: old.issuer,
    subject: old.subject,
    validity: new Validity({ notBefore: new Date(end - year), notAfter: new Date(end) }),
    subjectPublicKeyInfo: old.subjectPublicKeyInfo
  })
  const bytes = Buffer.from(AsnConvert.serialize(tbsCertificate))
  const signature = sign("sha256", bytes, createPrivateKey(authorityKeyPem))
  const der = AsnConvert.serialize(
    new Certificate({
      tbsCertificate,
      signatureAlgorithm: certificate.signatureAlgorithm,
      signatureValue: Uint8Array.from(signature).buffer
    })
  )
  const body = Buffer.from(der)
    .toString("base64")
    .replaceAll(/.{64}/g, (line) => `${line}\r\n`)
  return `-----BEGIN CERTIFICATE-----\r\n${body}\r\n-----END CERTIFICATE-----\r\n`
}
