/**
 * Decides when the operator renews its own serving certificate, and in which order, so that no request meets a
 * certificate that the API server does not trust yet.
 *
 * Not here: making certificates (adapters/x509/serving-certificate.ts), and keeping them
 * (app/certificates/own-certificate.ts).
 */

const hour = 3_600_000
const day = 24 * hour

/** How long a serving certificate and its authority are valid, in ms. */
const lifetime = 90 * day
/** Certificates are valid from so long before they are made, for API servers whose clocks are behind, in ms. */
const clockSkew = hour
/** How long before its end a certificate gets a successor, in ms. */
const notice = 30 * day
/**
 * How long a successor waits at least before it is served, in ms. Each of several API servers learns of the changed
 * APIService by its own watch, and other replicas of the operator when they next look.
 */
const settling = hour

/** When a certificate is valid, epoch ms. */
export interface ServingLife {
  readonly from: number
  readonly until: number
}

/** The validity of a certificate that is made now (epoch ms). */
export const servingLife = (now: number): ServingLife => ({ from: now - clockSkew, until: now + lifetime })

/** The certificates that are kept, as far as they can be used. */
export interface KeptCertificates {
  /** The certificate that is served. */
  readonly current: ServingLife | undefined
  /** The certificate that will be served next. */
  readonly successor: ServingLife | undefined
  /** Whether the API server trusts the authorities of both. */
  readonly isTrusted: boolean
}

/**
 * - `Make`: there is no certificate to serve; one is made and served at once. Requests fail until the API server trusts
 *   it.
 * - `Prepare`: the certificate ends soon; a successor is made, and its authority is published beside the present one.
 * - `Promote`: the successor is served from now on.
 */
export type ServingStep = "Keep" | "Make" | "Prepare" | "Promote"

/** The next step at `now` (epoch ms). */
export const servingStep = ({ current, isTrusted, successor }: KeptCertificates, now: number): ServingStep => {
  if (current === undefined || now >= current.until) return "Make"
  if (successor !== undefined && now < successor.until)
    return isTrusted && now >= successor.from + clockSkew + settling ? "Promote" : "Keep"
  return now >= current.until - notice ? "Prepare" : "Keep"
}
