/**
 * Reads a member's credentials from its Secrets, and compares them with earlier credentials. Neither watches Secrets
 * nor uses the credentials.
 */

import { Redacted, Result } from "effect"
import { type PairFields, readClientPair } from "../../adapters/x509/client-certificate.ts"
import type { MemberConfiguration } from "../../domain/fleet/configuration.ts"
import { credentialsLabel, type KubeconfigPlace, kubeconfigTitle } from "../../domain/fleet/credentials/cluster-auth.ts"
import type { EndingCredentials } from "../../domain/fleet/credentials/credential-end.ts"
import { readPem } from "../../domain/fleet/credentials/pem.ts"
import { readTokenClaims } from "../../domain/fleet/credentials/token-claims.ts"
import { type TokenCandidate, tokenRenewal, usedToken } from "../../domain/fleet/credentials/token-renewal.ts"
import { unusableCharacter } from "../../domain/fleet/credentials/token-text.ts"
import { at } from "../../domain/json.ts"
import type { MemberCredentials } from "../../ports/cluster-connector.ts"
import type { KubeObject } from "../../ports/kube-api.ts"
import { readFoundKubeconfig } from "./found-clusters.ts"

const decodeBase64 = (text: unknown): string | undefined =>
  typeof text === "string" ? Buffer.from(text, "base64").toString("utf8") : undefined

/** The PEM text under a key of a Secret, or the reason why it is unusable. */
const pemOf = (
  data: Readonly<Record<string, unknown>>,
  key: string,
  secretName: string
): Result.Result<string, string> =>
  Result.mapError(
    readPem(decodeBase64(data[key]) ?? ""),
    (problem) => `key ${key} of its Secret ${secretName} is unusable: ${problem}`
  )

/** A token as a Secret holds it. The failure does not tell the token. */
const tokenOf = (data: Readonly<Record<string, unknown>>, secretName: string): Result.Result<string, string> => {
  const token = decodeBase64(data["bearerToken"])?.trim() ?? ""
  if (token === "")
    return Result.fail(
      `its Secret ${secretName} has no bearerToken; create one with \`kubectl create token\` on the member`
    )
  const problem = unusableCharacter(token)
  return problem === undefined
    ? Result.succeed(token)
    : Result.fail(
        `key bearerToken of its Secret ${secretName} is unusable: ${problem}; write the output of ` +
          "`kubectl create token` there"
      )
}

type ClientCertificate = Extract<MemberCredentials, { readonly _tag: "ClientCertificate" }>

/** Fields of a kubeconfig's user. */
const kubeconfigFields: PairFields = { certificate: "client-certificate-data", key: "client-key-data" }

/** A certificate and its key, if they can be used. */
const checkedPair = (
  pair: ClientCertificate,
  place: string,
  fields?: PairFields
): Result.Result<ClientCertificate, string> => {
  const { certificatePem, keyPem } = pair
  return Result.mapBoth(readClientPair({ certificatePem, keyPem: Redacted.value(keyPem) }, fields), {
    onFailure: (problem) => `${place} is unusable: ${problem}`,
    onSuccess: () => pair
  })
}

/** The credentials that a Secret holds for the cluster's `authType`; the failure says what is missing. */
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
    case "BearerToken":
      return Result.map(tokenOf(data, secretName), (token) => ({ _tag: "BearerToken", token: Redacted.make(token) }))
    case "Mtls":
      return Result.gen(function* () {
        const certificatePem = yield* pemOf(data, "tls.crt", secretName)
        const keyPem = yield* pemOf(data, "tls.key", secretName)
        const pair = { _tag: "ClientCertificate", certificatePem, keyPem: Redacted.make(keyPem) } as const
        return yield* checkedPair(pair, `its Secret ${secretName}`)
      })
    case "Kubeconfig":
      return Result.fail("this cluster was found by its kubeconfig, which holds its credentials")
    case "Eks":
    case "Aks":
    case "ExecPlugin":
      return Result.fail("this authType needs no Secret; its credentials are made by the operator")
  }
}

/** The credentials in the kubeconfig that the cluster was found by; the failure says what is wrong with it. */
const kubeconfigCredentials = (
  place: KubeconfigPlace,
  text: string | undefined
): Result.Result<MemberCredentials, string> => {
  if (text === undefined) return Result.fail(`${kubeconfigTitle(place)} is gone; put it there again`)
  return Result.flatMap(readFoundKubeconfig(place, text), ({ credentials }): Result.Result<MemberCredentials, string> =>
    credentials._tag === "BearerToken"
      ? Result.succeed(credentials)
      : checkedPair(credentials, kubeconfigTitle(place), kubeconfigFields)
  )
}

const holds = (secret: KubeObject | undefined, keys: ReadonlyArray<string>): boolean =>
  keys.every((key) => (decodeBase64(at(secret, "data", key)) ?? "").trim() !== "")

/** Whether a Secret holds a certificate and a key, usable or not; else somebody has taken them away. */
export const holdsPair = (secret: KubeObject | undefined): boolean => holds(secret, ["tls.crt", "tls.key"])

/** A token that could be used, with what is known of it. */
export interface MemberToken extends TokenCandidate {
  readonly token: Redacted.Redacted
}

export const memberToken = (token: Redacted.Redacted, grantedAt?: number): MemberToken => ({
  token,
  claims: readTokenClaims(Redacted.value(token)),
  grantedAt
})

/** The Secrets with a member's credentials. */
export interface MemberSecrets {
  /** Name of the Secret that the user has made. */
  readonly secret: string
  /** Name of the Secret in which the operator keeps the last token that it got by itself. */
  readonly refreshed: string
  /** A Secret with credentials as it is now. */
  readonly secretOf: (name: string) => KubeObject | undefined
  /** The text of the kubeconfig that the cluster was found by, as it is now. */
  readonly kubeconfig: () => string | undefined
}

/** Knowledge of a member's tokens that this process has, and no Secret. */
export interface LearntTokens {
  /** The last token that the member has granted. */
  readonly granted: MemberToken | undefined
  /** Tokens whose bearer the member did not know. */
  readonly refused: ReadonlyArray<MemberToken>
  /** The last token of the user's Secret with which the member has answered. */
  readonly good: MemberToken | undefined
}

export const nothingLearnt: LearntTokens = { granted: undefined, refused: [], good: undefined }

/** The credentials to use. */
export interface NewestCredentials {
  readonly credentials: MemberCredentials
  /** The token of the user's Secret, and that which is used; nothing where the member is known by no token. */
  readonly tokens: { readonly first: MemberToken; readonly used: MemberToken } | undefined
  /** When they end, if nobody renews them. */
  readonly ending: EndingCredentials | undefined
  /** A clause about the user's Secret, if it holds a token that cannot be used in place of a good one. */
  readonly spoilt: string | undefined
}

/** Whether the operator renews the member's token: a kubeconfig is its author's to renew. */
export const isRenewed = ({ auth }: MemberConfiguration): boolean => auth._tag === "BearerToken"

/** The place of the member's credentials, for sentences. `secret`: of one that is configured. */
const placeOf = ({ auth }: MemberConfiguration, secret: string): string =>
  auth._tag === "Kubeconfig" ? kubeconfigTitle(auth.place) : `Secret ${secret}`

const endingCertificate = (
  member: MemberConfiguration,
  { certificatePem, keyPem }: ClientCertificate,
  secret: string
): EndingCredentials | undefined =>
  Result.getOrUndefined(
    Result.map(readClientPair({ certificatePem, keyPem: Redacted.value(keyPem) }), (validity) => ({
      what: `the client certificate in ${placeOf(member, secret)}`,
      validity,
      cure:
        "put another one that the cluster trusts, and its key, there" +
        (member.auth._tag === "Kubeconfig" ? "" : " as tls.crt and tls.key")
    }))
  )

const endingToken = (
  member: MemberConfiguration,
  used: MemberToken,
  first: MemberToken,
  secret: string
): EndingCredentials | undefined => {
  if (used.claims === undefined) return undefined
  const { validity } = used.claims
  if (!isRenewed(member))
    return {
      what: `the token in ${placeOf(member, secret)}`,
      validity,
      cure: "put another kubeconfig there; the operator renews only the tokens of configured clusters"
    }
  const renewal = tokenRenewal(used, first, 0, 0)
  if (renewal._tag === "At") return undefined
  return {
    what: `the token in Secret ${secret}, which is not renewed because ${renewal.why},`,
    validity,
    cure: "put another one there as bearerToken; a service account's would be renewed"
  }
}

export const isSameToken = (one: MemberToken, other: MemberToken): boolean =>
  Redacted.value(one.token) === Redacted.value(other.token)

const isAmong = (tokens: ReadonlyArray<MemberToken>, token: MemberToken): boolean =>
  tokens.some((other) => isSameToken(token, other))

/** The token to use where that of the user's Secret is the first. */
const newestToken = (
  member: MemberConfiguration,
  { refreshed, secret, secretOf }: MemberSecrets,
  { first: token, learnt }: { readonly first: MemberToken; readonly learnt: LearntTokens },
  now: number
): Omit<NewestCredentials, "spoilt"> => {
  const { granted, refused } = learnt
  const kept = isRenewed(member)
    ? Result.getOrUndefined(readCredentials(member, refreshed, secretOf(refreshed)))
    : undefined
  const judged = (other: MemberToken): MemberToken => (isAmong(refused, other) ? { ...other, isRefused: true } : other)
  const first = judged(token)
  const others = [granted, kept?._tag === "BearerToken" ? memberToken(kept.token) : undefined]
  const used = usedToken(first, others.filter((other) => other !== undefined).map(judged), now)
  return {
    credentials: { _tag: "BearerToken", token: used.token },
    tokens: { first, used },
    ending: endingToken(member, used, first, secret)
  }
}

/** A clause about a token that cannot be used, or that the member does not know. */
const whySpoilt = (
  read: Result.Result<MemberCredentials, string>,
  refused: ReadonlyArray<MemberToken>,
  secret: string
): string | undefined => {
  if (Result.isFailure(read)) return read.failure
  return read.success._tag === "BearerToken" && isAmong(refused, memberToken(read.success.token))
    ? `the cluster does not know the token in its Secret ${secret}; write the output of \`kubectl create token\` there`
    : undefined
}

/**
 * The credentials of the user's Secret, or a newer token that the operator got by itself: granted to this process, or
 * kept by one before it. A token that cannot be used replaces no good one: it is somebody's slip. The failure says what
 * is wrong with the user's Secret. `now`: epoch ms.
 */
export const newestCredentials = (
  member: MemberConfiguration,
  secrets: MemberSecrets,
  learnt: LearntTokens,
  now: number
): Result.Result<NewestCredentials, string> => {
  const { secret, secretOf } = secrets
  const { auth } = member
  const read =
    auth._tag === "Kubeconfig"
      ? kubeconfigCredentials(auth.place, secrets.kubeconfig())
      : readCredentials(member, secret, secretOf(secret))
  const { good, refused } = learnt
  const spoilt = whySpoilt(read, refused, secret)
  const isKept = spoilt !== undefined && isRenewed(member) && holds(secretOf(secret), ["bearerToken"])
  // A good token that the member has refused as well is no better than one that can be sent.
  const isBetter = good !== undefined && (Result.isFailure(read) || !isAmong(refused, good))
  const first = isKept && isBetter ? good : undefined
  if (first !== undefined) return Result.succeed({ ...newestToken(member, secrets, { first, learnt }, now), spoilt })
  return Result.map(read, (credentials): NewestCredentials => {
    if (credentials._tag !== "BearerToken")
      return {
        credentials,
        tokens: undefined,
        ending: endingCertificate(member, credentials, secret),
        spoilt: undefined
      }
    const own = memberToken(credentials.token)
    return { ...newestToken(member, secrets, { first: own, learnt }, now), spoilt: undefined }
  })
}

const isSame = (left: MemberCredentials, right: MemberCredentials): boolean => {
  if (left._tag === "BearerToken")
    return right._tag === "BearerToken" && Redacted.value(left.token) === Redacted.value(right.token)
  return (
    right._tag === "ClientCertificate" &&
    left.certificatePem === right.certificatePem &&
    Redacted.value(left.keyPem) === Redacted.value(right.keyPem)
  )
}

/** Whether two readings of a Secret agree, so that nothing has to be engaged or disengaged. */
export const sameCredentials = (
  left: Result.Result<MemberCredentials, string>,
  right: Result.Result<MemberCredentials, string>
): boolean => {
  if (Result.isSuccess(left)) return Result.isSuccess(right) && isSame(left.success, right.success)
  return Result.isFailure(right) && left.failure === right.failure
}
