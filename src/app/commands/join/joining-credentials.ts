/**
 * Finds the credentials with which a primary is to reach a member: those of its Secret if they work, otherwise a new
 * token of the member's service account, or the certificate that a person gives.
 *
 * Not here: whether the Secret is to be written (domain/commands/join/credentials-step.ts), and writing it
 * (perform-join.ts).
 */

import { Clock, Effect, Redacted, Result } from "effect"
import { readClientPair } from "../../../adapters/x509/client-certificate.ts"
import type { Finding } from "../../../domain/commands/doctor/finding.ts"
import { type FoundSecret } from "../../../domain/commands/join/credentials-step.ts"
import { memberAccount } from "../../../domain/commands/join/join-request.ts"
import { credentialsSecretName, refreshedSecretName } from "../../../domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../../domain/fleet/configuration.ts"
import { encodeBase64Text } from "../../../domain/fleet/credentials/base64.ts"
import { credentialsLabel } from "../../../domain/fleet/credentials/cluster-auth.ts"
import {
  type MemberCredentials,
  newestCredentials,
  nothingLearnt,
  sameCredentials
} from "../../../domain/fleet/credentials/member-credentials.ts"
import { secrets } from "../../../domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../ports/kube-api.ts"
import { requestToken } from "../../fleet/member-token.ts"
import { readMember } from "../../fleet/read-credentials.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import type { Unanswered } from "../overview/ask-cluster.ts"
import { examineJoining } from "./examine-joining.ts"
import { type MemberCluster, readFlagFile } from "./member-cluster.ts"
import { failedDoing, orNothing, type Primary, releaseOf } from "./primary.ts"

/** Life of a token for a primary, seconds: as long as the chart's notes advise. It is renewed from then on. */
const tokenSecs = 86_400
/** Life of a token that is only tried, seconds; API servers make none that is shorter. */
const triedTokenSecs = 600

/** A client certificate and its key, as files. */
export interface PairFiles {
  readonly clientCertificate: string | undefined
  readonly clientKey: string | undefined
}

export interface JoiningCredentials {
  readonly credentials: MemberCredentials
  readonly secret: FoundSecret
  /** How the member looks with these credentials. */
  readonly findings: ReadonlyArray<Finding>
}

/** Where credentials are looked for. */
export interface CredentialsSearch {
  readonly primary: Pick<Primary, "api" | "namespace">
  readonly cluster: MemberCluster
  readonly member: MemberConfiguration
  readonly pair: Extract<MemberCredentials, { readonly _tag: "ClientCertificate" }> | undefined
  /** Whether they are to last: otherwise they are only tried. */
  readonly isToLast: boolean
  readonly timeoutSecs: number
}

/** The data of the Secret with the credentials. */
export const secretData = (credentials: MemberCredentials): Readonly<Record<string, string>> =>
  credentials._tag === "BearerToken"
    ? { bearerToken: encodeBase64Text(Redacted.value(credentials.token)) }
    : {
        "tls.crt": encodeBase64Text(credentials.certificatePem),
        "tls.key": encodeBase64Text(Redacted.value(credentials.keyPem))
      }

/** The certificate that a person gives; `undefined` if they give none. */
export const givenPair = Effect.fnUntraced(function* ({
  clientCertificate,
  clientKey
}: PairFiles): Effect.fn.Return<CredentialsSearch["pair"], Unanswered> {
  if (clientCertificate === undefined && clientKey === undefined) return undefined
  const certificatePem = yield* readFlagFile("--client-certificate", clientCertificate ?? "")
  const keyPem = yield* readFlagFile("--client-key", clientKey ?? "")
  const fields = { certificate: "--client-certificate", key: "--client-key" }
  const read = readClientPair({ certificatePem, keyPem }, fields)
  return Result.isSuccess(read)
    ? { _tag: "ClientCertificate", certificatePem, keyPem: Redacted.make(keyPem) }
    : yield* Effect.fail({
        message: `The client certificate is unusable: ${read.failure}.`,
        fix: "Give another pair with --client-certificate and --client-key."
      })
})

/** A new token of the account that the chart has made in the member. */
const freshToken = ({ cluster, isToLast, member }: CredentialsSearch): Effect.Effect<MemberCredentials, Unanswered> => {
  const { api, context, namespace } = cluster
  const account = { namespace, name: memberAccount }
  const doing = `asking cluster ${member.name} for a token of service account ${namespace}/${memberAccount}`
  return requestToken(api, account, isToLast ? tokenSecs : triedTokenSecs).pipe(
    Effect.mapError((error) =>
      error.reason === "NotFound"
        ? {
            message: `There is no service account ${namespace}/${memberAccount} in cluster ${member.name}.`,
            fix:
              `Install the chart there (context ${context}) with operator.multiClusterMember: true, or name the ` +
              "namespace of its operator with --member-namespace."
          }
        : failedDoing(doing, error)
    ),
    Effect.flatMap((token) =>
      token === undefined
        ? Effect.fail({
            message: `The answer to ${doing} holds no token.`,
            fix: "Look at the API server of that cluster."
          })
        : Effect.succeed<MemberCredentials>({ _tag: "BearerToken", token })
    )
  )
}

interface KnownSecret {
  readonly object: KubeObject | undefined
  readonly isLabelled: boolean
  readonly credentials: Result.Result<MemberCredentials, string>
}

const knownSecret = Effect.fnUntraced(function* ({
  member,
  primary
}: CredentialsSearch): Effect.fn.Return<KnownSecret, Unanswered> {
  const { api, namespace } = primary
  const names = {
    secret: credentialsSecretName(member.name, sha256Hex),
    refreshed: refreshedSecretName(member.name, sha256Hex)
  }
  const read = (name: string) =>
    Effect.mapError(orNothing(api.get(secrets, name, namespace)), (error) =>
      failedDoing(`reading Secret ${namespace}/${name}`, error)
    )
  const found = new Map([
    [names.secret, yield* read(names.secret)],
    [names.refreshed, yield* read(names.refreshed)]
  ])
  const secretOf = (name: string) => found.get(name)
  const reading = readMember(member.auth, { ...names, secretOf, kubeconfig: () => undefined })
  const newest = newestCredentials(reading, nothingLearnt, yield* Clock.currentTimeMillis)
  const object = secretOf(names.secret)
  return {
    object,
    isLabelled: object?.metadata.labels?.[credentialsLabel] === "true",
    credentials: Result.map(newest, ({ credentials }) => credentials)
  }
})

/** The certificate to use for a member. */
const certificateOf = (
  { member, pair }: CredentialsSearch,
  known: KnownSecret
): Effect.Effect<MemberCredentials, Unanswered> => {
  if (pair !== undefined) return Effect.succeed(pair)
  return Result.isSuccess(known.credentials)
    ? Effect.succeed(known.credentials.success)
    : Effect.fail({
        message: `There is no client certificate for cluster ${member.name}: ${known.credentials.failure}.`,
        fix: "Give one with --client-certificate and --client-key."
      })
}

/** Looks for credentials, tries them, and says what is to become of their Secret. */
export const findCredentials = Effect.fnUntraced(function* (
  search: CredentialsSearch
): Effect.fn.Return<JoiningCredentials, Unanswered> {
  const { member, timeoutSecs } = search
  const known = yield* knownSecret(search)
  const exists = known.object !== undefined
  const release = releaseOf(known.object)
  if (member.auth._tag === "Mtls") {
    const credentials = yield* certificateOf(search, known)
    const isSame = sameCredentials(known.credentials, Result.succeed(credentials))
    const { findings } = yield* examineJoining(member, credentials, timeoutSecs)
    return { credentials, findings, secret: { exists, release, isRight: isSame && known.isLabelled } }
  }
  if (Result.isSuccess(known.credentials)) {
    const credentials = known.credentials.success
    const { findings, isRefused } = yield* examineJoining(member, credentials, timeoutSecs)
    if (!isRefused) return { credentials, findings, secret: { exists, release, isRight: known.isLabelled } }
  }
  const credentials = yield* freshToken(search)
  const { findings } = yield* examineJoining(member, credentials, timeoutSecs)
  return { credentials, findings, secret: { exists, release, isRight: false } }
})
