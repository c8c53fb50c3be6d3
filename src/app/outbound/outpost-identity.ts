/**
 * The certificate of a member that dials out, in a Secret beside its operator. The key is made here and never leaves
 * this cluster; the first certificate is had for a token, each further one through the tunnel.
 *
 * Not here: when another certificate is asked for (domain/outbound/outpost-plan.ts).
 */

import { Effect, Redacted, Result } from "effect"
import { decodeBase64Text, encodeBase64Text } from "../../domain/fleet/credentials/base64.ts"
import { parseToken } from "../../domain/outbound/bootstrap-token.ts"
import type { CommandSequence } from "../../domain/outbound/command-sequence.ts"
import type { OutpostIdentity } from "../../domain/outbound/outpost-plan.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import { ownerLabel } from "../../domain/sessions/names.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import { DialFailed, TunnelDialler, type TunnelIdentity } from "../../ports/tunnel.ts"
import { orIf } from "../kernel/or-if.ts"
import { CurrentTunnelCertificates, type TunnelCertificates } from "./tunnel-certificates.ts"

export const outpostSecret = "mirrord-outbound-identity"

/** An identity as it is kept, with what the plan needs of it. */
export interface KeptIdentity extends TunnelIdentity {
  readonly known: OutpostIdentity
  /** Id of the token that began it. */
  readonly token: string
  /** The last command of the primary that was accepted. */
  readonly sequence: CommandSequence
}

/** The Secret's place. */
export interface OutpostPlace {
  readonly api: KubeApi
  readonly namespace: string
}

/** An identity of these parts; `undefined` if the certificate is none of a member's. */
const identityOf = (
  { readMember, validityOf }: TunnelCertificates,
  identity: Omit<KeptIdentity, "known">
): KeptIdentity | undefined => {
  const { certificatePem } = identity
  const member = Result.getOrUndefined(readMember(certificatePem))
  const validity = validityOf(certificatePem)
  if (member === undefined || validity === undefined) return undefined
  const life = { from: validity.from ?? 0, until: member.until }
  return { ...identity, known: { id: `${member.keyId} ${life.until}`, name: member.name, life } }
}

/** The identity in the Secret; `undefined` if there is none that can be used. */
export const readIdentity = Effect.fnUntraced(function* ({
  api,
  namespace
}: OutpostPlace): Effect.fn.Return<KeptIdentity | undefined, KubeError> {
  const certificates = yield* CurrentTunnelCertificates
  const secret = yield* api.get(secrets, outpostSecret, namespace).pipe(orIf("NotFound", Effect.undefined))
  const data = secret && Result.getOrUndefined(readResource(secrets, secret))?.data
  const text = (key: string): string => Result.getOrElse(decodeBase64Text(data?.[key] ?? ""), () => "")
  const [certificatePem, keyPem, authoritiesPem] = [text("tls.crt"), text("tls.key"), text("ca.crt")]
  const sequence = { epoch: text("epoch"), number: Number(text("number")) }
  if (keyPem === "" || authoritiesPem === "" || sequence.epoch === "" || !Number.isSafeInteger(sequence.number))
    return undefined
  const pair = { certificatePem, keyPem: Redacted.make(keyPem) }
  return identityOf(certificates, { ...pair, authoritiesPem, token: text("token"), sequence })
})

/** Keeps an identity in place of the one before. */
export const keepIdentity = (
  { api, namespace }: OutpostPlace,
  identity: KeptIdentity
): Effect.Effect<void, KubeError> => {
  const { authoritiesPem, certificatePem, keyPem, sequence, token } = identity
  const { epoch, number } = sequence
  const pair = { "tls.crt": certificatePem, "tls.key": Redacted.value(keyPem) }
  const texts = { ...pair, "ca.crt": authoritiesPem, token, epoch, number: String(number) }
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/tls",
    metadata: { name: outpostSecret, namespace, labels: ownerLabel },
    data: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, encodeBase64Text(text)]))
  }
  return api
    .mergePatch(secrets, outpostSecret, { data: secret.data }, { namespace })
    .pipe(orIf("NotFound", api.create(secrets, secret, namespace)), Effect.asVoid)
}

/** The identity of a certificate that the cell has given for this key; the failure is a clause. */
export const givenIdentity = (
  certificates: TunnelCertificates,
  given: Omit<KeptIdentity, "known">
): Result.Result<KeptIdentity, string> => {
  const identity = identityOf(certificates, given)
  return identity === undefined || !certificates.isPair(given.certificatePem, given.keyPem)
    ? Result.fail("the primary answered with something that is no certificate of a member's tunnel for this key")
    : Result.succeed(identity)
}

/** The way to the primary's redemptions, as the chart's values say it. */
export interface BootstrapSettings {
  readonly token: Redacted.Redacted
  /** Host and port; `undefined` if not set. */
  readonly address: string | undefined
  readonly pin: string | undefined
}

/** The id of a token, by which a token that was used already is known; `undefined` if it is none. */
export const tokenId = (token: Redacted.Redacted): string | undefined =>
  Result.getOrUndefined(parseToken(Redacted.value(token)))?.id

const unusable = (message: string): DialFailed => new DialFailed({ reason: "Refused", message })

/** Trades a token for a certificate. The token may be spent after a failure. */
export const redeemToken = Effect.fnUntraced(function* ({
  address,
  pin,
  token
}: BootstrapSettings): Effect.fn.Return<KeptIdentity, DialFailed, TunnelDialler> {
  const { redeem } = yield* TunnelDialler
  const parsed = yield* Effect.mapError(Effect.fromResult(parseToken(Redacted.value(token))), unusable)
  if (address === undefined || pin === undefined)
    return yield* unusable("the token needs operator.outbound.bootstrap and operator.outbound.pin; set both")
  const certificates = yield* CurrentTunnelCertificates
  const { keyPem, requestPem } = yield* certificates.makeRequest
  const redeemed = yield* redeem({ address, pin, token, requestPem })
  const given = givenIdentity(certificates, { ...redeemed, keyPem, token: parsed.id })
  return yield* Effect.mapError(Effect.fromResult(given), unusable)
})
