/**
 * The certificate that the server shows, as a source that may change. Its origin is the operator's.
 */

import type { Redacted } from "effect"

/** Shown to everybody who connects; PEM. */
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

/** One that stays as long as the operator runs. */
export const unchanging = (certificate: ServingCertificate): ServingCertificateSource => ({
  known: () => certificate,
  listen: () => {}
})
