import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import {
  type CredentialReading,
  type MemberCredentials,
  memberToken
} from "../../../../src/domain/fleet/credentials/member-credentials.ts"

export const hour = 3_600_000

const encoded = (value: object): string =>
  btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")

/** A service account's token. Times are epoch ms. */
export const tokenOf = (issuedAt: number, until: number, account = "envoy"): Redacted.Redacted => {
  const claims = {
    sub: `system:serviceaccount:mirrord:${account}`,
    iat: issuedAt / 1_000,
    exp: until / 1_000,
    "kubernetes.io": { namespace: "mirrord", serviceaccount: { name: account, uid: account } }
  }
  return Redacted.make(`${encoded({ alg: "none" })}.${encoded(claims)}.x`)
}

export const bearer = (token: Redacted.Redacted): MemberCredentials => ({ _tag: "BearerToken", token })

export const certificate = (name: string): MemberCredentials => ({
  _tag: "ClientCertificate",
  certificatePem: name,
  keyPem: Redacted.make(name)
})

/** A reading of Secrets with a token of the user's, and with a kept token. */
export const tokens = (given: Redacted.Redacted | string, kept?: Redacted.Redacted): CredentialReading => ({
  auth: { _tag: "BearerToken" },
  secret: "s",
  given: typeof given === "string" ? Result.fail(given) : Result.succeed({ credentials: bearer(given) }),
  isFilled: true,
  kept: kept && memberToken(kept),
  hasKeptSecret: kept !== undefined
})

/** A reading of a Secret with a client certificate that ends. */
export const certificates = (given: string, until: number): CredentialReading => ({
  ...tokens(given),
  auth: { _tag: "Mtls" },
  given: given.includes(" ")
    ? Result.fail(given)
    : Result.succeed({ credentials: certificate(given), validity: { from: 0, until } })
})
