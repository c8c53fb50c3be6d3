import { Redacted, Result } from "effect"
import { credentialsLabel } from "../../domain/credentials/cluster-auth.ts"
import { readPem } from "../../domain/credentials/pem.ts"
import type { MemberConfiguration } from "../../domain/fleet/configuration.ts"
import type { MemberCredentials } from "../../ports/cluster-connector.ts"
import type { KubeObject } from "../../ports/kube-api.ts"

/**
 * Credentials of a member as its Secret holds them: read, and compared with those of before. The file neither watches
 * Secrets nor uses the credentials.
 */

const decodeBase64 = (text: unknown): string | undefined =>
  typeof text === "string" ? Buffer.from(text, "base64").toString("utf8") : undefined

/** A PEM text of a Secret's key, or what is wrong with it. */
const pemOf = (
  data: Readonly<Record<string, unknown>>,
  key: string,
  secretName: string
): Result.Result<string, string> =>
  Result.mapError(
    readPem(decodeBase64(data[key]) ?? ""),
    (problem) => `key ${key} of its Secret ${secretName} is unusable: ${problem}`
  )

/** The credentials that a cluster's Secret holds for its `authType`; the failure says what is missing. */
export const readCredentials = (
  member: MemberConfiguration,
  secretName: string,
  secret: KubeObject | undefined
): Result.Result<MemberCredentials, string> => {
  if (secret === undefined)
    return Result.fail(
      `its Secret ${secretName} with label ${credentialsLabel}=true does not exist; create it beside the operator`
    )
  const data = (secret["data"] ?? {}) as Readonly<Record<string, unknown>>
  switch (member.auth._tag) {
    case "BearerToken": {
      const token = decodeBase64(data["bearerToken"])?.trim()
      return token === undefined || token === ""
        ? Result.fail(
            `its Secret ${secretName} has no bearerToken; create one with \`kubectl create token\` on the member`
          )
        : Result.succeed({ _tag: "BearerToken", token: Redacted.make(token) })
    }
    case "Mtls":
      return Result.gen(function* () {
        const certificatePem = yield* pemOf(data, "tls.crt", secretName)
        const keyPem = Redacted.make(yield* pemOf(data, "tls.key", secretName))
        return { _tag: "ClientCertificate", certificatePem, keyPem }
      })
    case "Eks":
    case "Aks":
      return Result.fail(
        `authType ${member.auth._tag.toLowerCase()} is not supported yet; use bearerToken or mtls for this cluster`
      )
  }
}

const isSame = (one: MemberCredentials, other: MemberCredentials): boolean => {
  if (one._tag === "BearerToken")
    return other._tag === "BearerToken" && Redacted.value(one.token) === Redacted.value(other.token)
  return (
    other._tag === "ClientCertificate" &&
    one.certificatePem === other.certificatePem &&
    Redacted.value(one.keyPem) === Redacted.value(other.keyPem)
  )
}

/** Whether a Secret says the same as before, so that nothing has to be engaged or disengaged. */
export const sameCredentials = (
  one: Result.Result<MemberCredentials, string>,
  other: Result.Result<MemberCredentials, string>
): boolean => {
  if (Result.isSuccess(one)) return Result.isSuccess(other) && isSame(one.success, other.success)
  return Result.isFailure(other) && one.failure === other.failure
}
