/**
 * Reads the authority for users' certificates from its Secret, which is made once per installation and shared by every
 * replica. user-identity.ts signs with it.
 */

import { randomBytes } from "node:crypto"
import { Clock, Effect, Schema } from "effect"
import { makeUserAuthority, readUserAuthority, type UserAuthority } from "../../adapters/x509/user-certificates.ts"
import { encodeBase64Text } from "../../domain/fleet/credentials/base64.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import { ownerLabel } from "../../domain/sessions/names.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../ports/kube-api.ts"

export const userAuthoritySecret = "mirrord-operator-user-authority"

const Data = Schema.Struct({ "tls.crt": Schema.String, "tls.key": Schema.String })

const read = (secret: KubeObject, cluster: string): Effect.Effect<UserAuthority, KubeError> =>
  Effect.try({
    try: () => {
      const data = Schema.decodeUnknownSync(Data)(secret["data"])
      const text = (value: string): string => Buffer.from(value, "base64").toString("utf8")
      return readUserAuthority(text(data["tls.crt"]), text(data["tls.key"]))
    },
    catch: () =>
      new KubeError({
        cluster,
        operation: `read Secret ${userAuthoritySecret}`,
        reason: "Invalid",
        detail:
          "it holds no certificate and key; delete it, and the operator makes a new one (users then get new " +
          "certificates)"
      })
  })

/**
 * The authority for users' certificates, from its Secret; created at the first start. Replicas that start together end
 * up with the same authority: the first create wins.
 */
export const ensureUserAuthority = (api: KubeApi, namespace: string): Effect.Effect<UserAuthority, KubeError> =>
  api.get(secrets, userAuthoritySecret, namespace).pipe(
    Effect.catch((error) =>
      error.reason !== "NotFound"
        ? Effect.fail(error)
        : Effect.gen(function* () {
            const made = makeUserAuthority(yield* Clock.currentTimeMillis, randomBytes(16))
            const secret = {
              apiVersion: "v1",
              kind: "Secret",
              type: "kubernetes.io/tls",
              metadata: { name: userAuthoritySecret, namespace, labels: ownerLabel },
              data: {
                "tls.crt": encodeBase64Text(made.certificatePem),
                "tls.key": encodeBase64Text(made.keyPem)
              }
            }
            return yield* api
              .create(secrets, secret, namespace)
              .pipe(
                Effect.catch((refused) =>
                  refused.reason === "AlreadyExists"
                    ? api.get(secrets, userAuthoritySecret, namespace)
                    : Effect.fail(refused)
                )
              )
          })
    ),
    Effect.flatMap((secret) => read(secret, api.cluster))
  )
