/**
 * Reads a bundle of certificate authorities, and checks whether a certificate leads to one of them.
 *
 * Not here: dates, names and purposes of a certificate, which the TLS handshake judges.
 */

import { X509Certificate } from "node:crypto"
import { pemBlocks } from "../../domain/fleet/credentials/pem.ts"

/** Most issuers between a certificate and an authority. */
const maxChain = 8

const isIssuedBy = (certificate: X509Certificate, authority: X509Certificate): boolean =>
  certificate.checkIssued(authority) && certificate.verify(authority.publicKey)

/** The certificates of a PEM bundle. Throws if the bundle is empty or if a certificate in it cannot be read. */
export const readBundle = (pem: string): ReadonlyArray<X509Certificate> => {
  const blocks = pemBlocks(pem).filter(({ label }) => label === "CERTIFICATE")
  if (blocks.length === 0) throw new Error("it holds no PEM certificate")
  return blocks.map(({ text }) => new X509Certificate(text))
}

/**
 * Whether a certificate leads to one of these authorities, directly or over the issuers that the handshake brought. It
 * is asked for connections that outlive the authorities of their handshake.
 */
export const leadsTo = (certificate: X509Certificate, authorities: ReadonlyArray<X509Certificate>): boolean => {
  let current = certificate
  for (let step = 0; step < maxChain; step++) {
    if (authorities.some((authority) => isIssuedBy(current, authority))) return true
    const issuer = current.issuerCertificate
    if (issuer === undefined || issuer.fingerprint256 === current.fingerprint256 || !isIssuedBy(current, issuer))
      return false
    current = issuer
  }
  return false
}
