/**
 * Gets a member's next token from the member itself (TokenRequest), tries it, and keeps it in a Secret beside the
 * operator. The user's own Secret is never written: Helm would write it back.
 *
 * Not here: when that is due, and which token is used (domain/fleet/credentials/token-renewal.ts).
 */

import { Clock, Effect, Redacted } from "effect"
import type { MemberConfiguration } from "../../domain/fleet/configuration.ts"
import { encodeBase64Text } from "../../domain/fleet/credentials/base64.ts"
import { credentialsLabel } from "../../domain/fleet/credentials/cluster-auth.ts"
import { memberToken, type MemberToken } from "../../domain/fleet/credentials/member-credentials.ts"
import type { ServiceAccount } from "../../domain/fleet/credentials/token-claims.ts"
import type { TokenRenewal } from "../../domain/fleet/credentials/token-renewal.ts"
import { at } from "../../domain/json.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import { mirrordOperators } from "../../domain/resources/mirrord-operator.ts"
import { ownerLabel } from "../../domain/sessions/names.ts"
import type { ClusterConnector, MemberAccess } from "../../ports/cluster-connector.ts"
import type { KubeApi, KubeError, KubeObject, ResourceRef } from "../../ports/kube-api.ts"
import { retryingApi } from "../kernel/retrying-api.ts"

/** How long a member may take to grant a token, or to answer the first request with it. */
const patience = "20 seconds"

/** The subresource at which a service account's tokens are made. */
const tokensOf = ({ name }: ServiceAccount): ResourceRef => ({
  group: "",
  version: "v1",
  plural: `serviceaccounts/${encodeURIComponent(name)}/token`,
  scope: "Namespaced"
})

const inTime = <A>(what: string, request: Effect.Effect<A, KubeError>): Effect.Effect<A, string> =>
  request.pipe(
    Effect.mapError(({ detail }) => `${what}: ${detail}`),
    Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(`${what}: no answer within ${patience}`) })
  )

/** Whether the API server knows the bearer of a token; what they may do there is no question here. */
const isAccepted = (api: KubeApi): Effect.Effect<void, KubeError> =>
  api.get(mirrordOperators, "operator").pipe(
    Effect.asVoid,
    Effect.catch((error) => (["Unauthorized", "Unreachable"].includes(error.reason) ? Effect.fail(error) : Effect.void))
  )

/** A member whose token is to be renewed. */
export interface RenewedMember {
  readonly connector: ClusterConnector["Service"]
  readonly member: MemberConfiguration
  /** With the token that is used now. */
  readonly access: MemberAccess
}

/** Asks a cluster for a token of an account. `undefined` if the answer holds none. */
export const requestToken = (
  api: KubeApi,
  account: ServiceAccount,
  expirationSeconds: number
): Effect.Effect<Redacted.Redacted | undefined, KubeError> => {
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { name: account.name },
    spec: { expirationSeconds }
  }
  return Effect.map(api.create(tokensOf(account), body, account.namespace), (answer) => {
    const text = at(answer, "status", "token")
    return typeof text === "string" && text !== "" ? Redacted.make(text) : undefined
  })
}

/** Asks for a token, and tries it before it is used. Fails with a clause that names the cause. */
export const grantToken = Effect.fnUntraced(function* (
  { access, connector, member }: RenewedMember,
  { account, expirationSeconds }: Extract<TokenRenewal, { readonly _tag: "At" }>
): Effect.fn.Return<MemberToken, string> {
  const token = yield* inTime("the member grants no token", requestToken(access.api, account, expirationSeconds))
  if (token === undefined) return yield* Effect.fail("the member's answer holds no token")
  const granted = memberToken(token, yield* Clock.currentTimeMillis)
  const tried = Effect.scoped(
    Effect.flatMap(connector.member(member, { _tag: "BearerToken", token: granted.token }), ({ api }) =>
      isAccepted(api)
    )
  )
  yield* inTime("the token that the member has just granted does not work", tried)
  return granted
})

/** The Secret of the operator in which a token is kept. */
export interface TokenSecret {
  /** The API of the operator's own cluster. */
  readonly own: KubeApi
  readonly namespace: string
  readonly name: string
  /** The Secret as it is now. */
  readonly known: KubeObject | undefined
}

/** Keeps a token for the operators after this one. */
export const keepToken = (
  { known, name, namespace, own }: TokenSecret,
  { token }: MemberToken
): Effect.Effect<void, KubeError> => {
  const data = { bearerToken: encodeBase64Text(Redacted.value(token)) }
  const labels = { ...ownerLabel, [credentialsLabel]: "true" }
  const api = retryingApi(own)
  const patch = api.mergePatch(secrets, name, { metadata: { labels }, data }, { namespace })
  if (known !== undefined) return Effect.asVoid(patch)
  const secret = { apiVersion: "v1", kind: "Secret", type: "Opaque", metadata: { name, namespace, labels }, data }
  return api.create(secrets, secret, namespace).pipe(
    // The Secret exists without the label, and so in no list.
    Effect.catch((error) => (error.reason === "AlreadyExists" ? patch : Effect.fail(error))),
    Effect.asVoid
  )
}
