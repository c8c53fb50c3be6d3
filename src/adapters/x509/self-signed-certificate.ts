/**
 * Makes the certificate of the operator's own port for installations that bring none.
 *
 * Not here: certificates that an installation brings (app/operator/certificate-watch.ts), and those of users
 * (user-certificates.ts).
 */

import "reflect-metadata"
import { webcrypto } from "node:crypto"
import * as x509 from "@peculiar/x509"

const day = 86_400_000

/** A self-signed certificate for these DNS names, valid for ten years, and its key. `now`: epoch ms. */
export const makeServingCertificate = async (
  names: ReadonlyArray<string>,
  now: number
): Promise<{ readonly certificatePem: string; readonly keyPem: string }> => {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: `CN=${names[0] ?? "braid"}`,
      notBefore: new Date(now - day),
      notAfter: new Date(now + 3650 * day),
      keys,
      signingAlgorithm: algorithm,
      extensions: [
        new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: "dns", value }))),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth])
      ]
    },
    webcrypto
  )
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64")
  const keyPem = [
    "-----BEGIN PRIVATE KEY-----",
    ...(pkcs8.match(/.{1,64}/g) ?? []),
    "-----END PRIVATE KEY-----",
    ""
  ].join("\n")
  return { certificatePem: certificate.toString("pem"), keyPem }
}
