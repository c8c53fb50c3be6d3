/**
 * The token that a member may join with, and the keys that it may dial with, as its primary keeps them. Both are in the
 * member's Secret, so that `braid leave` takes both away.
 *
 * Not here: the decisions (domain/outbound).
 */

import { createHash, timingSafeEqual } from "node:crypto"
import { Clock, Effect, Redacted, Result } from "effect"
import { type ClusterName, credentialsSecretName } from "../../domain/fleet/cluster-name.ts"
import { admittedKeysData, readAdmittedKeys, sinceKey, withNextKey } from "../../domain/outbound/admitted-keys.ts"
import {
  type BootstrapToken,
  parseToken,
  readStoredToken,
  spentTokenData
} from "../../domain/outbound/bootstrap-token.ts"
import { tunnelLife } from "../../domain/outbound/certificate-plan.ts"
import { judgeRedemption, postponedRedemption, refusedRedemption } from "../../domain/outbound/redemption.ts"
import { renewCommand } from "../../domain/outbound/renew-command.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { type MemberCertificate, type Redeemed, type Redemption, RedemptionRefused } from "../../ports/tunnel.ts"
import type { InTurn } from "../kernel/keyed-mutex.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { orIf } from "../kernel/or-if.ts"
import type { Reflector } from "../kernel/reflector.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import type { TunnelAuthority } from "./authority.ts"
import { CurrentTunnelCertificates } from "./tunnel-certificates.ts"

export interface MembersOptions {
  readonly api: KubeApi
  readonly namespace: string
  /** The authority of the moment. */
  readonly authority: () => Pick<TunnelAuthority, "bundlePem" | "certificatePem" | "keyPem" | "sequence">
  /** Hours for which a member's certificate is valid. */
  readonly certificateHours: number
  /** Whether the fleet has a cluster of this name that dials out. */
  readonly isConfigured: (name: ClusterName) => boolean
  /** The Secrets of members. */
  readonly cache: Reflector
  /** For changes of keys, by the names of members. */
  readonly inTurn: InTurn
}

const dataOf = (secret: KubeObject | undefined) => secret && Result.getOrUndefined(readResource(secrets, secret))?.data

/** The name of the Secret of a member. */
export const secretNameOf = (name: ClusterName): string => credentialsSecretName(name, sha256Hex)

const keysOf = ({ cache, namespace }: MembersOptions, name: ClusterName): ReadonlyArray<string> =>
  readAdmittedKeys(dataOf(cache.get(secretNameOf(name), namespace)))

/** Whether a member has joined: it has had a certificate, and may dial with it while it lasts. */
export const hasJoined = (members: MembersOptions, name: ClusterName): boolean => keysOf(members, name).length > 0

/** Why a certificate is refused although the authority signed it, a sentence; `undefined` if it is not. */
export const refusalOf = (members: MembersOptions, { keyId, name }: MemberCertificate): string | undefined => {
  if (!members.isConfigured(name))
    return (
      `The primary's fleet has no cluster ${name} that dials out: add it there with authType outbound, or set ` +
      "operator.outbound.enabled to false here."
    )
  return keysOf(members, name).includes(keyId)
    ? undefined
    : `The primary does not admit this key of cluster ${name}: it has left, or has joined again with another key. ` +
        `Run ${renewCommand(name)}, and give this cluster the token.`
}

const sign = Effect.fnUntraced(function* (
  { authority, certificateHours }: MembersOptions,
  name: ClusterName,
  requestPem: string
): Effect.fn.Return<{ readonly certificatePem: string; readonly keyId: string }, string> {
  const { readMember, signOutpost } = yield* CurrentTunnelCertificates
  const life = tunnelLife(yield* Clock.currentTimeMillis, certificateHours)
  const certificatePem = yield* signOutpost(authority(), { name, requestPem, life })
  const { keyId } = yield* Effect.fromResult(readMember(certificatePem))
  return { certificatePem, keyId }
})

const write = (
  { api, cache, namespace }: MembersOptions,
  name: ClusterName,
  patch: { readonly metadata?: object; readonly data: object }
): Effect.Effect<void, KubeError> =>
  Effect.map(api.mergePatch(secrets, secretNameOf(name), patch, { namespace }), cache.wrote)

const isSameHash = (secret: string, hash: string): boolean => {
  const shown = createHash("sha256").update(secret).digest()
  const known = Buffer.from(hash, "hex")
  return known.length === shown.length && timingSafeEqual(shown, known)
}

/** Compared with where no token is stored, so that a wrong id takes as long as a wrong secret. */
const noHash = "0".repeat(64)

const judged = Effect.fnUntraced(function* (members: MembersOptions, token: BootstrapToken) {
  const { api, isConfigured, namespace } = members
  const found = yield* api.get(secrets, secretNameOf(token.name), namespace).pipe(
    orIf("NotFound", Effect.undefined),
    Effect.mapError(({ detail }) =>
      postponedRedemption(`the Secret of cluster ${token.name} cannot be read: ${detail}`)
    )
  )
  const known = readStoredToken(dataOf(found))
  const stored = known?.id === token.id ? known : undefined
  const isSame = isSameHash(token.secret, stored?.hash ?? noHash)
  const now = yield* Clock.currentTimeMillis
  yield* Effect.fromResult(judgeRedemption({ token, stored, isSame, joined: isConfigured(token.name), now }))
  return found?.metadata.resourceVersion
})

const redeem = Effect.fnUntraced(function* (members: MembersOptions, { requestPem, token: text }: Redemption) {
  const token = yield* Effect.mapError(Effect.fromResult(parseToken(Redacted.value(text))), refusedRedemption)
  const resourceVersion = yield* judged(members, token)
  const { bundlePem: authoritiesPem, sequence } = members.authority()
  const { certificatePem, keyId } = yield* Effect.mapError(sign(members, token.name, requestPem), (reason) => ({
    ...refusedRedemption(reason),
    answer: `${reason}.`
  }))
  // One write spends the token and admits the key; another redemption of the same token comes too late for it.
  const patch = { metadata: { resourceVersion }, data: { ...spentTokenData, ...admittedKeysData([keyId]) } }
  yield* Effect.mapError(members.inTurn(token.name, write(members, token.name, patch)), ({ detail }) =>
    postponedRedemption(`the token of cluster ${token.name} could not be spent: ${detail}`)
  )
  return { name: token.name, redeemed: { certificatePem, authoritiesPem, sequence } }
})

/** Gives a certificate for a token. The log says who got it, or precisely why it was refused. */
export const redeemToken = (
  members: MembersOptions,
  redemption: Redemption
): Effect.Effect<Redeemed, RedemptionRefused> =>
  redeem(members, redemption).pipe(
    Effect.tap(({ name }) => logInfo("cluster has joined by its token", { cluster: name, from: redemption.from })),
    Effect.map(({ redeemed }) => redeemed),
    Effect.tapError(({ reason }) => logWarning("token is refused", { from: redemption.from, problem: reason })),
    Effect.mapError(({ answer, mayPass }) => new RedemptionRefused({ message: answer, mayPass }))
  )

/** The keys of a member after a change; the same ones if there is nothing to change, or a clause why there is none. */
type ChangeOfKeys = (keys: ReadonlyArray<string>) => Result.Result<ReadonlyArray<string>, string>

/** Changes the keys in the Secret as it is now. A clause in the success says why there is no change. */
const changeKeysNow = Effect.fnUntraced(function* (members: MembersOptions, name: ClusterName, change: ChangeOfKeys) {
  const { api, namespace } = members
  const secret = yield* api.get(secrets, secretNameOf(name), namespace)
  const { resourceVersion } = secret.metadata
  const keys = readAdmittedKeys(dataOf(secret))
  const next = change(keys)
  if (Result.isFailure(next)) return next.failure
  if (next.success === keys) return undefined
  yield* write(members, name, { metadata: { resourceVersion }, data: admittedKeysData(next.success) })
  return undefined
})

/** Changes the keys of a member, after the change before is seen. The failure is a clause. */
const changeKeys = (members: MembersOptions, name: ClusterName, change: ChangeOfKeys): Effect.Effect<void, string> => {
  const changing = changeKeysNow(members, name, change).pipe(
    // A token may be made or spent at the same time.
    Effect.retry({ times: 3, while: ({ reason }) => reason === "Conflict" }),
    Effect.mapError(({ detail }) => detail),
    Effect.flatMap((problem) => (problem === undefined ? Effect.void : Effect.fail(problem)))
  )
  return members.inTurn(
    name,
    Effect.suspend(() => {
      const keys = keysOf(members, name)
      const next = change(keys)
      // Most tunnels change nothing, and cost no request.
      return Result.isSuccess(next) && next.success === keys ? Effect.void : changing
    })
  )
}

/**
 * Gives a member another certificate, for the key of this request. Its present key stays until another is used. One
 * that was shut out while the request was under way gets none, or a stolen key would outlive the token that is to end
 * it. The failure is a clause.
 */
export const renewCertificate = Effect.fnUntraced(function* (
  members: MembersOptions,
  { keyId: present, name }: Pick<MemberCertificate, "keyId" | "name">,
  requestPem: string
): Effect.fn.Return<{ readonly certificatePem: string; readonly keyId: string }, string> {
  const signed = yield* sign(members, name, requestPem)
  yield* changeKeys(members, name, (keys) =>
    keys.includes(present)
      ? Result.succeed(withNextKey(keys, signed.keyId))
      : Result.fail("the primary admits the key of this tunnel no more")
  ).pipe(Effect.mapError((problem) => `the key is not kept: ${problem}`))
  return signed
})

/** Shuts out the keys before that of a tunnel that stands. */
export const shutOutFormerKeys = (members: MembersOptions, { keyId, name }: MemberCertificate): Effect.Effect<void> =>
  changeKeys(members, name, (keys) => Result.succeed(sinceKey(keys, keyId))).pipe(
    Effect.catch((problem) => logWarning("the former key of a member is still admitted", { cluster: name, problem }))
  )
