/**
 * The authority that signs the certificates of tunnels and nothing else, from its Secret, which is made when a primary
 * takes tunnels for the first time.
 */

import { Clock, Effect, Redacted, Result } from "effect"
import { isPair, type KeptCertificate, makeTunnelAuthority, pinOf } from "../../adapters/x509/tunnel-certificates.ts"
import { decodeBase64Text, encodeBase64Text } from "../../domain/fleet/credentials/base64.ts"
import { authorityLife } from "../../domain/outbound/certificate-plan.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import { ownerLabel } from "../../domain/sessions/names.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../ports/kube-api.ts"

export const tunnelAuthoritySecret = "mirrord-outbound-authority"

/** An authority, and its pin, which the members know it by: SHA-256 of its public key, hex. */
export interface TunnelAuthority extends KeptCertificate {
  readonly pin: string
}

const readPair = (secret: KubeObject): TunnelAuthority | undefined => {
  const data = Result.getOrUndefined(readResource(secrets, secret))?.data
  const text = (key: string): string => Result.getOrElse(decodeBase64Text(data?.[key] ?? ""), () => "")
  const [certificatePem, keyPem] = [text("tls.crt"), Redacted.make(text("tls.key"))]
  return isPair(certificatePem, keyPem) ? { certificatePem, keyPem, pin: pinOf(certificatePem) } : undefined
}

const create = Effect.fnUntraced(function* (api: KubeApi, namespace: string): Effect.fn.Return<KubeObject, KubeError> {
  const life = authorityLife(yield* Clock.currentTimeMillis)
  const made = yield* Effect.promise(() => makeTunnelAuthority(life))
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/tls",
    metadata: { name: tunnelAuthoritySecret, namespace, labels: ownerLabel },
    data: {
      "tls.crt": encodeBase64Text(made.certificatePem),
      "tls.key": encodeBase64Text(Redacted.value(made.keyPem))
    }
  }
  return yield* api.create(secrets, secret, namespace)
})

/** The authority in the Secret, as it is now. */
export const readTunnelAuthority = (api: KubeApi, namespace: string): Effect.Effect<TunnelAuthority, KubeError> =>
  Effect.flatMap(api.get(secrets, tunnelAuthoritySecret, namespace), (secret) => {
    const pair = readPair(secret)
    return pair === undefined
      ? Effect.fail(
          new KubeError({
            cluster: api.cluster,
            operation: `read Secret ${tunnelAuthoritySecret}`,
            reason: "Invalid",
            detail:
              "it holds no certificate with its key; delete it, and the operator makes another, for which each " +
              "member needs braid join --renew"
          })
        )
      : Effect.succeed(pair)
  })

/** The authority, made at its first use. Of several that make it the first wins. */
export const ensureTunnelAuthority = (api: KubeApi, namespace: string): Effect.Effect<TunnelAuthority, KubeError> => {
  const read = readTunnelAuthority(api, namespace)
  return read.pipe(
    Effect.catch((error) =>
      error.reason === "NotFound"
        ? create(api, namespace).pipe(
            Effect.catch((refused) => (refused.reason === "AlreadyExists" ? Effect.void : Effect.fail(refused))),
            Effect.andThen(read)
          )
        : Effect.fail(error)
    )
  )
}
