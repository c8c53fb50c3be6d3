/**
 * Makes the certificate of the operator's own port for installations that bring none, and reads it again.
 *
 * Not here: certificates that an installation brings (app/certificates/certificate-watch.ts), when a certificate is
 * renewed (domain/fleet/credentials/serving-renewal.ts), and certificates of users (user-certificates.ts).
 */

import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto"
import { Redacted } from "effect"
import type { ServingLife } from "../../domain/fleet/credentials/serving-renewal.ts"
import { leadsTo, readBundle } from "./certificate-bundle.ts"
import { authorityExtensions, makeKeys, privateKeyPem, serverExtensions, signCertificate } from "./sign-certificate.ts"

/** A serving certificate and the authority that signed it, all PEM. */
export interface SignedServingCertificate {
  readonly authorityPem: string
  readonly certificatePem: string
  readonly keyPem: Redacted.Redacted
}

/**
 * A certificate for these DNS names, signed by an authority of its own, which signs nothing else: the authority's key
 * is never stored, and is gone when this returns. So who steals a key that is kept can show one name and sign none.
 */
export const makeServingCertificate = async (
  names: ReadonlyArray<string>,
  life: ServingLife
): Promise<SignedServingCertificate> => {
  const [authority, keys] = await Promise.all([makeKeys(false), makeKeys(true)])
  const issuer = `CN=braid serving authority ${randomBytes(4).toString("hex")}`
  const authorityPem = await signCertificate({
    subject: issuer,
    issuer,
    life,
    publicKey: authority.publicKey,
    signer: authority,
    extensions: authorityExtensions()
  })
  const certificatePem = await signCertificate({
    subject: `CN=${names[0] ?? "braid"}`,
    issuer,
    life,
    publicKey: keys.publicKey,
    signer: authority,
    extensions: serverExtensions(names)
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
