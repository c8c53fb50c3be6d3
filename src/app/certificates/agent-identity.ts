/**
 * The operator as agents know it: its key towards them, from a Secret that is made once per installation and shared by
 * every replica, so that a new leader can connect to the agents of the leader before.
 *
 * Not here: what a certificate says (adapters/x509/agent-certificate.ts), and which agents can be used
 * (domain/agents/agent-transport.ts).
 */

import { Clock, Effect, Redacted, Result } from "effect"
import type { AgentIdentity } from "../../adapters/agents/agent-starter.ts"
import {
  type AgentKey,
  makeAgentCertificate,
  makeAgentKey,
  readAgentCertificate,
  readAgentKey
} from "../../adapters/x509/agent-certificate.ts"
import { agentCertificateLife } from "../../domain/agents/agent-transport.ts"
import { decodeBase64Text, encodeBase64Text } from "../../domain/fleet/credentials/base64.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import { ownerLabel } from "../../domain/sessions/names.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../ports/kube-api.ts"

export const agentKeySecret = "mirrord-operator-agent-tls"
const keyEntry = "tls.key"

const readKey = (secret: KubeObject, cluster: string): Effect.Effect<AgentKey, KubeError> => {
  const read = Result.getOrUndefined(readResource(secrets, secret))
  const text = Result.getOrUndefined(decodeBase64Text(read?.data?.[keyEntry] ?? ""))
  const key = text === undefined ? undefined : readAgentKey(Redacted.make(text))
  return key === undefined
    ? Effect.fail(
        new KubeError({
          cluster,
          operation: `read Secret ${agentKeySecret}`,
          reason: "Invalid",
          detail:
            `its entry ${keyEntry} is no private key on the curve P-256; delete the Secret, and the operator makes ` +
            "another"
        })
      )
    : Effect.succeed(key)
}

const createKey = Effect.fnUntraced(function* (
  api: KubeApi,
  namespace: string
): Effect.fn.Return<KubeObject, KubeError> {
  const keyPem = yield* Effect.promise(() => makeAgentKey())
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    type: "Opaque",
    metadata: { name: agentKeySecret, namespace, labels: ownerLabel },
    data: { [keyEntry]: encodeBase64Text(Redacted.value(keyPem)) }
  }
  return yield* api.create(secrets, secret, namespace)
})

const identityOf = (key: AgentKey): AgentIdentity => ({
  keyPem: key.keyPem,
  issue: (agent) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.promise(() => makeAgentCertificate(key, agent, agentCertificateLife(now)))
    ),
  read: (certificatePem) => readAgentCertificate(certificatePem, key)
})

/** The identity of the key in the Secret; the key is made at its first use. Of several that make it the first wins. */
export const ensureAgentIdentity = (api: KubeApi, namespace: string): Effect.Effect<AgentIdentity, KubeError> => {
  const get = api.get(secrets, agentKeySecret, namespace)
  return get.pipe(
    Effect.catch((error) => (error.reason === "NotFound" ? createKey(api, namespace) : Effect.fail(error))),
    Effect.catch((error) => (error.reason === "AlreadyExists" ? get : Effect.fail(error))),
    Effect.flatMap((secret) => readKey(secret, api.cluster)),
    Effect.map(identityOf)
  )
}
