/**
 * Reads a member's credentials from its Secrets, or from the kubeconfig that it was found by. Neither watches Secrets
 * nor uses the credentials.
 *
 * Not here: which of them are used (domain/fleet/credentials/member-credentials.ts).
 */

import { Redacted, Result } from "effect"
import { type PairFields, readClientPair } from "../../adapters/x509/client-certificate.ts"
import {
  type ClusterAuth,
  credentialsLabel,
  type KubeconfigPlace,
  kubeconfigTitle
} from "../../domain/fleet/credentials/cluster-auth.ts"
import {
  type CredentialReading,
  type GivenCredentials,
  isRenewed,
  type MemberCredentials,
  memberToken
} from "../../domain/fleet/credentials/member-credentials.ts"
import { readPem } from "../../domain/fleet/credentials/pem.ts"
import { unusableCharacter } from "../../domain/fleet/credentials/token-text.ts"
import { at } from "../../domain/json.ts"
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

/** A token as a Secret holds it. The failure does not contain the token. */
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
): Result.Result<GivenCredentials, string> => {
  const { certificatePem, keyPem } = pair
  return Result.mapBoth(readClientPair({ certificatePem, keyPem: Redacted.value(keyPem) }, fields), {
    onFailure: (problem) => `${place} is unusable: ${problem}`,
    onSuccess: (validity) => ({ credentials: pair, validity })
  })
}

/** The credentials that a Secret holds for the cluster's `authType`; the failure says what is missing. */
export const readCredentials = (
  { _tag }: ClusterAuth,
  secretName: string,
  secret: KubeObject | undefined
): Result.Result<GivenCredentials, string> => {
  if (secret === undefined)
    return Result.fail(
      `its Secret ${secretName} with label ${credentialsLabel}=true does not exist; create it beside the operator`
    )
  const data = (secret["data"] ?? {}) as Readonly<Record<string, unknown>>
  switch (_tag) {
    case "BearerToken":
      return Result.map(tokenOf(data, secretName), (token) => ({
        credentials: { _tag: "BearerToken", token: Redacted.make(token) }
      }))
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
    case "Outbound":
      return Result.fail("this authType needs no Secret; the cluster's operator dials this one")
  }
}

/** The credentials in the kubeconfig that the cluster was found by; the failure says what is wrong with it. */
const kubeconfigCredentials = (
  place: KubeconfigPlace,
  text: string | undefined
): Result.Result<GivenCredentials, string> => {
  if (text === undefined) return Result.fail(`${kubeconfigTitle(place)} is gone; put it there again`)
  return Result.flatMap(readFoundKubeconfig(place, text), ({ credentials }): Result.Result<GivenCredentials, string> =>
    credentials._tag === "BearerToken"
      ? Result.succeed({ credentials })
      : checkedPair(credentials, kubeconfigTitle(place), kubeconfigFields)
  )
}

const holds = (secret: KubeObject | undefined, keys: ReadonlyArray<string>): boolean =>
  keys.every((key) => (decodeBase64(at(secret, "data", key)) ?? "").trim() !== "")

/** Whether a Secret holds something where the credentials belong. */
const isFilled = ({ _tag }: ClusterAuth, secret: KubeObject | undefined): boolean => {
  if (_tag === "BearerToken") return holds(secret, ["bearerToken"])
  return _tag === "Mtls" && holds(secret, ["tls.crt", "tls.key"])
}

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

/** Reads all that is there of a member's credentials. */
export const readMember = (
  auth: ClusterAuth,
  { kubeconfig, refreshed, secret, secretOf }: MemberSecrets
): CredentialReading => {
  const [own, kept] = [secretOf(secret), secretOf(refreshed)]
  const keptToken = isRenewed(auth) ? Result.getOrUndefined(readCredentials(auth, refreshed, kept)) : undefined
  return {
    auth,
    secret,
    given:
      auth._tag === "Kubeconfig" ? kubeconfigCredentials(auth.place, kubeconfig()) : readCredentials(auth, secret, own),
    isFilled: isFilled(auth, own),
    kept: keptToken?.credentials._tag === "BearerToken" ? memberToken(keptToken.credentials.token) : undefined,
    hasKeptSecret: kept !== undefined
  }
}
