/**
 * A member as `braid doctor` examines it: address from the configuration, credentials from its Secret.
 *
 * Not here: connecting to it (observe-cluster.ts).
 */

import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Redacted, Result } from "effect"
import { memberConfig } from "../../../adapters/kubernetes/cluster-connector.ts"
import { readCertificate } from "../../../adapters/x509/read-certificate.ts"
import { credentialsLabel } from "../../../domain/credentials/cluster-auth.ts"
import { readTokenClaims } from "../../../domain/credentials/token-claims.ts"
import type { CredentialFacts } from "../../../domain/doctor/cluster-facts.ts"
import { noParts } from "../../../domain/doctor/needed-rights.ts"
import { credentialsSecretName } from "../../../domain/fleet/cluster-name.ts"
import type { MemberConfiguration } from "../../../domain/fleet/configuration.ts"
import { secrets } from "../../../domain/resources/core-kinds.ts"
import type { MemberCredentials } from "../../../ports/cluster-connector.ts"
import type { KubeApi, KubeObject } from "../../../ports/kube-api.ts"
import { readCredentials } from "../../fleet/member-credentials.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import type { ExaminedCluster } from "./examined-cluster.ts"

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

/** Finds the Secret by its label, as the operator does: the operator has no right to get a Secret by name. */
const findSecret = (own: KubeApi, namespace: string, name: string) =>
  Effect.map(
    own.list(secrets, { namespace, labelSelector: `${credentialsLabel}=true` }),
    ({ items }): KubeObject | undefined => items.find(({ metadata }) => metadata.name === name)
  )

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/u.test(text) ? "" : "."}`

/** A member, with the credentials that its Secret beside the primary's operator holds. */
export const examinedMember = (
  member: MemberConfiguration,
  isDefault: boolean,
  own: KubeApi,
  namespace: string
): Effect.Effect<ExaminedCluster> =>
  Effect.gen(function* () {
    const secretName = credentialsSecretName(member.name, sha256Hex)
    const from = `Secret ${namespace}/${secretName}`
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
    const cluster = {
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
    } as const
    if (member.auth._tag === "Eks" || member.auth._tag === "Aks") {
      return { ...cluster, credentials: { _tag: "Unsupported", authType: member.auth._tag.toLowerCase() } }
    }
    const secret = yield* Effect.result(findSecret(own, namespace, secretName))
    if (Result.isFailure(secret)) {
      const { detail, reason } = secret.failure
      const fix =
        reason === "Forbidden"
          ? "Use a kubeconfig that may read it, or run this as the operator: helm test."
          : "First repair what is wrong with the operator's own cluster."
      return { ...cluster, credentials: { _tag: "Unusable", problem: `Its ${from} cannot be read: ${detail}.`, fix } }
    }
    const credentials = readCredentials(member, secretName, secret.success)
    if (Result.isFailure(credentials)) {
      const keys = member.auth._tag === "Mtls" ? "keys tls.crt and tls.key" : "key bearerToken"
      const fix = `Make it in namespace ${namespace}, with the label ${credentialsLabel}=true and the ${keys}.`
      return { ...cluster, credentials: { _tag: "Unusable", problem: sentence(credentials.failure), fix } }
    }
    return {
      ...cluster,
      credentials: describe(credentials.success, from),
      config: memberConfig(member, credentials.success)
    }
  })
