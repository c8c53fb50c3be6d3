/**
 * Names and dates of a certificate, for people: `braid doctor` shows them.
 *
 * Not here: whether the certificate is trusted. Nothing is verified.
 */

import "reflect-metadata"
import { X509Certificate } from "@peculiar/x509"
import type { Validity } from "../../domain/fleet/credentials/validity.ts"

/** Names and dates in a certificate. */
export interface CertificateFacts {
  /** Distinguished names as text, `CN=kube-apiserver`. */
  readonly subject: string
  readonly issuer: string
  readonly validity: Validity
}

/** Reads DER, or the first certificate of a PEM text; undefined when it is no certificate. */
export const readCertificate = (certificate: Uint8Array | string): CertificateFacts | undefined => {
  try {
    const { issuer, notAfter, notBefore, subject } = new X509Certificate(
      typeof certificate === "string" ? certificate : Uint8Array.from(certificate)
    )
    return { subject, issuer, validity: { from: notBefore.getTime(), until: notAfter.getTime() } }
  } catch {
    return undefined
  }
}

/** The common name of a certificate's subject, by which an API server calls its user; `undefined` if there is none. */
export const commonNameOf = (certificate: string): string | undefined => {
  try {
    return new X509Certificate(certificate).subjectName.getField("CN")[0]
  } catch {
    return undefined
  }
}
