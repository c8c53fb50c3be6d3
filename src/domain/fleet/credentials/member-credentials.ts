/**
 * Which of a member's credentials are used, where they stand in a Secret or a kubeconfig: the user's own, or a newer
 * token that the operator got by itself.
 *
 * Not here: reading them (app/fleet/read-credentials.ts), which of several tokens is the newest (token-renewal.ts), and
 * credentials that stand nowhere (made-credentials.ts).
 */

import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { type ClusterAuth, kubeconfigTitle } from "./cluster-auth.ts"
import type { EndingCredentials } from "./credential-end.ts"
import { readTokenClaims } from "./token-claims.ts"
import { type TokenCandidate, tokenRenewal, usedToken } from "./token-renewal.ts"
import type { Validity } from "./validity.ts"

/** The content of the Secret `mirrord-cluster-<name>`; the cluster's `authType` says which part is used. */
export type MemberCredentials =
  | { readonly _tag: "BearerToken"; readonly token: Redacted.Redacted<string> }
  | { readonly _tag: "ClientCertificate"; readonly certificatePem: string; readonly keyPem: Redacted.Redacted<string> }

const isSame = (left: MemberCredentials, right: MemberCredentials): boolean => {
  if (left._tag === "BearerToken")
    return right._tag === "BearerToken" && Redacted.value(left.token) === Redacted.value(right.token)
  return (
    right._tag === "ClientCertificate" &&
    left.certificatePem === right.certificatePem &&
    Redacted.value(left.keyPem) === Redacted.value(right.keyPem)
  )
}

/** Whether two readings agree, so that nothing has to be engaged or disengaged. */
export const sameCredentials = (
  left: Result.Result<MemberCredentials, string>,
  right: Result.Result<MemberCredentials, string>
): boolean => {
  if (Result.isSuccess(left)) return Result.isSuccess(right) && isSame(left.success, right.success)
  return Result.isFailure(right) && left.failure === right.failure
}

/** A token that could be used, with what is known of it. */
export interface MemberToken extends TokenCandidate {
  readonly token: Redacted.Redacted
}

export const memberToken = (token: Redacted.Redacted, grantedAt?: number): MemberToken => ({
  token,
  claims: readTokenClaims(Redacted.value(token)),
  grantedAt
})

export const isSameToken = (one: MemberToken, other: MemberToken): boolean =>
  Redacted.value(one.token) === Redacted.value(other.token)

const isAmong = (tokens: ReadonlyArray<MemberToken>, token: MemberToken): boolean =>
  tokens.some((other) => isSameToken(token, other))

/** The user's own credentials. `validity`: of a certificate. */
export interface GivenCredentials {
  readonly credentials: MemberCredentials
  readonly validity?: Validity
}

/** One reading of a member's Secrets, or of the kubeconfig that it was found by. */
export interface CredentialReading {
  readonly auth: ClusterAuth
  /** Name of the user's Secret. */
  readonly secret: string
  /** The failure says what is missing. */
  readonly given: Result.Result<GivenCredentials, string>
  /** Whether the user's Secret holds something where the credentials belong, usable or not. */
  readonly isFilled: boolean
  /** The token in the operator's own Secret; `undefined` if none can be read there, or none is renewed. */
  readonly kept: MemberToken | undefined
  /** Whether the operator's own Secret exists. */
  readonly hasKeptSecret: boolean
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

/** The token of the user's Secret, and the token that is used. */
export interface UsedTokens {
  readonly first: MemberToken
  readonly used: MemberToken
}

/** The credentials to use. */
export interface NewestCredentials {
  readonly credentials: MemberCredentials
  /** `undefined` where the member is known by no token. */
  readonly tokens: UsedTokens | undefined
  /** When they end, if they are not renewed. */
  readonly ending: EndingCredentials | undefined
  /** A clause about the user's Secret, if it holds a token that cannot be used in place of a good one. */
  readonly spoilt: string | undefined
}

/** Whether the operator renews the member's token: a kubeconfig is its author's to renew. */
export const isRenewed = ({ _tag }: ClusterAuth): boolean => _tag === "BearerToken"

/** The place of the user's credentials, for sentences. */
const placeOf = ({ auth, secret }: CredentialReading): string =>
  auth._tag === "Kubeconfig" ? kubeconfigTitle(auth.place) : `Secret ${secret}`

const endingCertificate = (reading: CredentialReading, validity: Validity | undefined): EndingCredentials | undefined =>
  validity && {
    what: `the client certificate in ${placeOf(reading)}`,
    validity,
    cure:
      "put another one that the cluster trusts, and its key, there" +
      (reading.auth._tag === "Kubeconfig" ? "" : " as tls.crt and tls.key")
  }

const endingToken = (reading: CredentialReading, { first, used }: UsedTokens): EndingCredentials | undefined => {
  if (used.claims === undefined) return undefined
  const { validity } = used.claims
  if (!isRenewed(reading.auth))
    return {
      what: `the token in ${placeOf(reading)}`,
      validity,
      cure: "put another kubeconfig there; the operator renews only the tokens of configured clusters"
    }
  const renewal = tokenRenewal(used, first, 0, 0)
  if (renewal._tag === "At") return undefined
  return {
    what: `the token in Secret ${reading.secret}, which is not renewed because ${renewal.why},`,
    validity,
    cure: "put another one there as bearerToken; a service account's would be renewed"
  }
}

/** The token to use where `token` is that of the user's Secret. */
const newestToken = (
  reading: CredentialReading,
  token: MemberToken,
  { granted, refused }: LearntTokens,
  now: number
): Omit<NewestCredentials, "spoilt"> => {
  const judged = (other: MemberToken): MemberToken => (isAmong(refused, other) ? { ...other, isRefused: true } : other)
  const first = judged(token)
  const others = [granted, reading.kept].filter((other) => other !== undefined)
  const tokens = { first, used: usedToken(first, others.map(judged), now) }
  return {
    credentials: { _tag: "BearerToken", token: tokens.used.token },
    tokens,
    ending: endingToken(reading, tokens)
  }
}

/** A clause about a token that cannot be used, or that the member does not know. */
const whySpoilt = ({ given, secret }: CredentialReading, refused: ReadonlyArray<MemberToken>): string | undefined => {
  if (Result.isFailure(given)) return given.failure
  const { credentials } = given.success
  return credentials._tag === "BearerToken" && isAmong(refused, memberToken(credentials.token))
    ? `the cluster does not know the token in its Secret ${secret}; write the output of \`kubectl create token\` there`
    : undefined
}

/**
 * The credentials of the user's Secret, or a newer token that the operator got by itself: granted to this process, or
 * kept by one before it. A token that cannot be used is a mistake, and replaces no good one. The failure says what is
 * wrong with the user's Secret. `now`: epoch ms.
 */
export const newestCredentials = (
  reading: CredentialReading,
  learnt: LearntTokens,
  now: number
): Result.Result<NewestCredentials, string> => {
  const { auth, given, isFilled } = reading
  const { good, refused } = learnt
  const spoilt = whySpoilt(reading, refused)
  const isKept = spoilt !== undefined && isRenewed(auth) && isFilled
  // A good token that the member has refused as well is no better than one that can be sent.
  const isBetter = good !== undefined && (Result.isFailure(given) || !isAmong(refused, good))
  if (isKept && isBetter) return Result.succeed({ ...newestToken(reading, good, learnt, now), spoilt })
  return Result.map(given, ({ credentials, validity }): NewestCredentials => {
    if (credentials._tag === "BearerToken")
      return { ...newestToken(reading, memberToken(credentials.token), learnt, now), spoilt: undefined }
    return { credentials, tokens: undefined, ending: endingCertificate(reading, validity), spoilt: undefined }
  })
}
