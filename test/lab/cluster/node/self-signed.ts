import "reflect-metadata"
import { webcrypto } from "node:crypto"
import * as x509 from "@peculiar/x509"

/** A throw-away server certificate, PEM. */
export const selfSigned = async (): Promise<{ readonly cert: string; readonly key: string }> => {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"])
  const cert = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=probe",
    notBefore: new Date(0),
    notAfter: new Date("2100-01-01"),
    signingAlgorithm: algorithm,
    keys
  })
  const der = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)
  return { cert: cert.toString("pem"), key: x509.PemConverter.encode(der, "PRIVATE KEY") }
}
