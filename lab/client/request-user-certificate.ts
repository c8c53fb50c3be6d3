/** Asks the operator for a user certificate, as the real client does once per user. */

import "reflect-metadata"
import { webcrypto } from "node:crypto"
import * as x509 from "@peculiar/x509"
import { Effect, Result } from "effect"
import { apiVersionOf, readResource } from "../../src/domain/resources/resource-descriptor.ts"
import type { KubeApi } from "../../src/ports/kube-api.ts"
import { ClientFailed } from "./client-failed.ts"
import { userCredentials } from "./mirrord-cluster-operator-user-credential.ts"

/** The certificate: base64 of its DER, for `x-client-der`. */
export const requestUserCertificate = (api: KubeApi, commonName: string): Effect.Effect<string, ClientFailed> =>
  Effect.gen(function* () {
    const csr = yield* Effect.promise(async () => {
      const keys = await webcrypto.subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"])
      if (!("privateKey" in keys)) throw new Error("Ed25519 makes key pairs")
      const request = await x509.Pkcs10CertificateRequestGenerator.create(
        { name: `CN=${commonName}`, keys, signingAlgorithm: { name: "Ed25519" } },
        webcrypto
      )
      return request.toString("pem")
    })
    const created = yield* api
      .create(userCredentials, {
        apiVersion: apiVersionOf(userCredentials),
        kind: userCredentials.kind,
        metadata: { generateName: "mirrord-operator-regular-cred-" },
        spec: { csr, kind: "regular" }
      })
      .pipe(Effect.mapError((error) => new ClientFailed({ detail: error.message })))
    const read = readResource(userCredentials, created)
    const certificate = Result.isSuccess(read) ? read.success.status?.certificate : undefined
    if (certificate === undefined) return yield* new ClientFailed({ detail: "the operator returned no certificate" })
    return certificate.replace(/-----[^-]+-----|\s/g, "")
  })
