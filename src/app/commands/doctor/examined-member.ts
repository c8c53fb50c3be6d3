/**
 * A member as `braid doctor` examines it: address from the configuration, credentials from its Secrets.
 *
 * Not here: connecting to it (observe-cluster.ts).
 */

import { KubeConfig } from "@kubernetes/client-node"
import { Clock, Effect, Redacted, Result } from "effect"
import { readText } from "../../../adapters/files/kubeconfig-files.ts"
import { memberConfig } from "../../../adapters/kubernetes/cluster-connector.ts"
import { readCertificate } from "../../../adapters/x509/read-certificate.ts"
import type { CredentialFacts } from "../../../domain/commands/doctor/cluster-facts.ts"
import { noParts } from "../../../domain/commands/doctor/needed-rights.ts"
import { credentialsSecretName, refreshedSecretName } from "../../../domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../../domain/fleet/configuration.ts"
import { credentialsLabel, madeAuth } from "../../../domain/fleet/credentials/cluster-auth.ts"
import {
  type MemberCredentials,
  newestCredentials,
  nothingLearnt
} from "../../../domain/fleet/credentials/member-credentials.ts"
import { readTokenClaims } from "../../../domain/fleet/credentials/token-claims.ts"
import { secrets } from "../../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeObject, Selection } from "../../../ports/kube-api.ts"
import { textUnder } from "../../fleet/found-clusters.ts"
import { readMember } from "../../fleet/read-credentials.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import { examineMadeCredentials } from "./examine-made-credentials.ts"
import type { ExaminedCluster } from "./examined-cluster.ts"
import type { Installation } from "./installation.ts"

const describe = (credentials: MemberCredentials, from: string): CredentialFacts => {
  if (credentials._tag === "BearerToken")
    return { _tag: "Token", from, claims: readTokenClaims(Redacted.value(credentials.token)), renewed: false }
  const certificate = readCertificate(credentials.certificatePem)
  return certificate === undefined
    ? {
        _tag: "Unusable",
        problem: `Key tls.crt of ${from} holds no X.509 certificate.`,
        fix: "Put the PEM of the client certificate there."
      }
    : { _tag: "Certificate", from, validity: certificate.validity }
}

/** The keys of a member's Secret. */
const keysOf = ({ _tag }: MemberConfiguration["auth"]): string =>
  _tag === "Mtls" ? "keys tls.crt and tls.key" : "key bearerToken"

/** Finds Secrets as the operator does: it has no right to get a Secret by name, but to list it. */
const findSecrets = (own: KubeApi, selection: Selection) =>
  Effect.map(
    own.list(secrets, selection),
    ({ items }) =>
      (name: string): KubeObject | undefined =>
        items.find(({ metadata }) => metadata.name === name)
  )

/** The place of a member's Secrets, and the cure if they are not there or unusable. `namespace`: the operator's. */
const placeOf = ({ auth, ...member }: MemberConfiguration, namespace: string) => {
  const own = credentialsSecretName(member.name, sha256Hex)
  if (auth._tag !== "Kubeconfig")
    return {
      secret: own,
      from: `Secret ${namespace}/${own}`,
      selection: { namespace, labelSelector: `${credentialsLabel}=true` },
      fix: `Make it in namespace ${namespace}, with the label ${credentialsLabel}=true and the ${keysOf(auth)}.`
    }
  const { place } = auth
  return place._tag === "Secret"
    ? {
        secret: place.name,
        from: `Secret ${place.namespace}/${place.name}`,
        selection: { namespace: place.namespace, name: place.name },
        fix: `Write another kubeconfig under the key ${place.key}.`
      }
    : { secret: own, from: place.path, selection: undefined, fix: "Write another kubeconfig there." }
}

/** The text of the kubeconfig that a member was found by; `undefined` if it is gone, or was not found by any. */
const kubeconfigText = (
  { auth }: MemberConfiguration,
  secretOf: (name: string) => KubeObject | undefined
): Effect.Effect<string | undefined> => {
  if (auth._tag !== "Kubeconfig") return Effect.succeed(undefined)
  const { place } = auth
  if (place._tag === "File") return Effect.map(readText(place.path), Result.getOrUndefined)
  const secret = secretOf(place.name)
  return Effect.succeed(secret === undefined ? undefined : textUnder(secret, place.key))
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/u.test(text) ? "" : "."}`

/** A member without credentials: its address and its CA. */
const unauthenticated = (member: MemberConfiguration, isDefault: boolean): Omit<ExaminedCluster, "credentials"> => {
  const config = new KubeConfig()
  config.loadFromOptions({
    clusters: [
      {
        name: member.name,
        server: member.server,
        ...(member.certificateAuthority === undefined
          ? {}
          : { caData: Buffer.from(member.certificateAuthority, "utf8").toString("base64") })
      }
    ],
    users: [{ name: "nobody" }],
    contexts: [{ name: member.name, cluster: member.name, user: "nobody" }],
    currentContext: member.name
  })
  return {
    name: member.name,
    part: "member",
    isDefault,
    role: { _tag: "Single" },
    namespace: member.namespace ?? "mirrord",
    agentNamespace: "",
    kept: noParts,
    problems: member.problems,
    config,
    account: undefined
  }
}

/** A member with credentials that are at hand. `from`: their place, for sentences. */
export const memberWith = (
  member: MemberConfiguration,
  isDefault: boolean,
  credentials: MemberCredentials,
  from: string
): ExaminedCluster => ({
  ...unauthenticated(member, isDefault),
  credentials: describe(credentials, from),
  config: memberConfig(member, credentials)
})

/** A member, with the credentials that its Secrets beside the primary's operator hold. */
export const examinedMember = Effect.fnUntraced(function* (
  member: MemberConfiguration,
  isDefault: boolean,
  installation: Pick<Installation, "account" | "namespace" | "own" | "seenFrom">
): Effect.fn.Return<ExaminedCluster> {
  const { namespace, own } = installation
  const { fix: cure, from, secret, selection } = placeOf(member, namespace)
  const names = { secret, refreshed: refreshedSecretName(member.name, sha256Hex) }
  const cluster = unauthenticated(member, isDefault)
  const made = madeAuth(member.auth)
  if (made !== undefined) return { ...cluster, ...(yield* examineMadeCredentials(member, made, installation)) }
  const found = yield* Effect.result(
    selection === undefined ? Effect.succeed(() => undefined) : findSecrets(own, selection)
  )
  if (Result.isFailure(found)) {
    const { detail, reason } = found.failure
    const fix =
      reason === "Forbidden"
        ? "Use a kubeconfig that may read it, or run this as the operator: helm test."
        : "First repair what is wrong with the operator's own cluster."
    return { ...cluster, credentials: { _tag: "Unusable", problem: `Its ${from} cannot be read: ${detail}.`, fix } }
  }
  const now = yield* Clock.currentTimeMillis
  const text = yield* kubeconfigText(member, found.success)
  const secrets = { ...names, secretOf: found.success, kubeconfig: () => text }
  const newest = newestCredentials(readMember(member.auth, secrets), nothingLearnt, now)
  if (Result.isFailure(newest)) {
    return { ...cluster, credentials: { _tag: "Unusable", problem: sentence(newest.failure), fix: cure } }
  }
  const { credentials, tokens } = newest.success
  const isRenewed = tokens !== undefined && tokens.used !== tokens.first
  return memberWith(member, isDefault, credentials, isRenewed ? `Secret ${namespace}/${names.refreshed}` : from)
})
