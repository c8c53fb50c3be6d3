/**
 * The certificate that the server shows, as a source that may change. Reading and renewing it is the operator's work.
 */

import type { Redacted } from "effect"

/** The certificate and key that every client of the server sees; PEM. */
export interface ServingCertificate {
  readonly certificatePem: string
  readonly keyPem: Redacted.Redacted
}

/** The certificate to serve with. */
export interface ServingCertificateSource {
  readonly known: () => ServingCertificate
  /** Calls back after each change until the scope of the source ends. */
  readonly listen: (changed: () => void) => void
}

/** A certificate that stays the same as long as the operator runs. */
export const unchanging = (certificate: ServingCertificate): ServingCertificateSource => ({
  known: () => certificate,
  listen: () => {}
})
