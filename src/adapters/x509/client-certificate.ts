/**
 * Reads a client certificate and its key, and says what is wrong with them before an API server or TLS does.
 *
 * Not here: whether a cluster trusts the certificate.
 */

import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"
import { createSecureContext, type SecureContextOptions } from "node:tls"
import { Result } from "effect"
import { pemBlocks } from "../../domain/fleet/credentials/pem.ts"
import type { Validity } from "../../domain/fleet/credentials/validity.ts"

/** Two texts of PEM. */
export interface ClientPair {
  readonly certificatePem: string
  readonly keyPem: string
}

/** The fields that the two texts are from, as problems name them. */
export interface PairFields {
  readonly certificate: string
  readonly key: string
}

const secretFields: PairFields = { certificate: "tls.crt", key: "tls.key" }

const certificatesOf = (pem: string, field: string): Result.Result<ReadonlyArray<X509Certificate>, string> => {
  const blocks = pemBlocks(pem).filter(({ label }) => label === "CERTIFICATE")
  if (blocks.length === 0)
    return Result.fail(`${field} holds no CERTIFICATE; put the PEM of the client certificate there`)
  const read = blocks.map(({ text }) => Result.try(() => new X509Certificate(text)))
  const wrong = read.findIndex(Result.isFailure)
  return wrong === -1
    ? Result.succeed(read.flatMap((one) => (Result.isSuccess(one) ? [one.success] : [])))
    : Result.fail(`certificate ${wrong + 1} of ${blocks.length} in ${field} is no X.509 certificate; write it again`)
}

const keyOf = (pem: string, field: string): Result.Result<KeyObject, string> => {
  const block = pemBlocks(pem).find(({ label }) => label.endsWith("PRIVATE KEY"))
  if (block === undefined)
    return Result.fail(`${field} holds no PRIVATE KEY; put the PEM of the certificate's key there`)
  if (block.label === "ENCRYPTED PRIVATE KEY" || block.body.includes("Proc-Type: 4,ENCRYPTED"))
    return Result.fail(
      `the key in ${field} is encrypted, and the operator has no passphrase; write it without one (openssl pkey -in ` +
        `${field} -out plain.key)`
    )
  return Result.mapError(
    Result.try(() => createPrivateKey(block.text)),
    () => `the key in ${field} cannot be read; write it again, as PEM`
  )
}

/** The cure by OpenSSL's reason; any other is about the form of the text. */
const cures: ReadonlyArray<readonly [RegExp, string]> = [
  [/key too small/u, "make a pair with an EC key, or an RSA key of 2048 bits or more"],
  [/md too weak/u, "have the certificate signed with SHA-256 or better"]
]
const defaultCure = "write plain PEM, with each BEGIN and each END on a line of its own"

/** Fails where TLS would refuse to connect. `field`: the one that is to blame. */
const usableInTls = (field: string, options: SecureContextOptions): Result.Result<unknown, string> =>
  Result.mapError(
    Result.try(() => createSecureContext(options)),
    (cause) => {
      const reason = cause instanceof Error && "reason" in cause ? String(cause.reason) : "it is unusable"
      const [, cure = defaultCure] = cures.find(([pattern]) => pattern.test(reason)) ?? []
      return `TLS cannot use ${field} (OpenSSL: ${reason}); ${cure}`
    }
  )

/** The validity of the pair's certificate; the failure is a clause that names the field, without secrets. */
export const readClientPair = (
  { certificatePem, keyPem }: ClientPair,
  fields = secretFields
): Result.Result<Validity, string> =>
  Result.gen(function* () {
    const [certificate] = yield* certificatesOf(certificatePem, fields.certificate)
    const key = yield* keyOf(keyPem, fields.key)
    if (certificate === undefined || !certificate.checkPrivateKey(key))
      return yield* Result.fail(
        `the key in ${fields.key} does not belong to the first certificate in ${fields.certificate}; write both of ` +
          "one pair, and the client's certificate before those of its authorities"
      )
    yield* usableInTls(fields.certificate, { cert: certificatePem })
    yield* usableInTls(fields.key, { cert: certificatePem, key: keyPem })
    return { from: Date.parse(certificate.validFrom), until: Date.parse(certificate.validTo) }
  })
