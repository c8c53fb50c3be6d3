/** Requests a user's certificate for tests that talk to an API server without the client. */

import "reflect-metadata"
import { webcrypto } from "node:crypto"
import * as x509 from "@peculiar/x509"
import type { ApiClient } from "./api-client.ts"

/** The certificate from the operator behind an API server: base64 of its DER, as `x-client-der` carries it. */
export const userCertificate = async (client: ApiClient, commonName: string): Promise<string> => {
  const keys = await webcrypto.subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"])
  if (!("privateKey" in keys)) throw new Error("Ed25519 makes key pairs")
  const csr = await x509.Pkcs10CertificateRequestGenerator.create(
    { name: `CN=${commonName}`, keys, signingAlgorithm: { name: "Ed25519" } },
    webcrypto
  )
  const object = {
    apiVersion: "operator.metalbear.co/v1",
    kind: "MirrordClusterOperatorUserCredential",
    metadata: { generateName: "mirrord-operator-regular-cred-" },
    spec: { csr: csr.toString("pem"), kind: "regular" }
  }
  const path = "/apis/operator.metalbear.co/v1/mirrordclusteroperatorusercredentials"
  const { body, status } = await client.call("POST", path, JSON.stringify(object), {
    "content-type": "application/json"
  })
  const { certificate } = (body as { readonly status?: { readonly certificate?: string } }).status ?? {}
  if (certificate === undefined) throw new Error(`no certificate: ${status} ${JSON.stringify(body)}`)
  return certificate.replace(/-----[^-]+-----|\s/g, "")
}
