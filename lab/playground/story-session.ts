/** How a story opens its session at the primary, with the strict client of lab/client. */

import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Random, type Scope } from "effect"
import { makeKubeApi } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { protocolVersion } from "../../src/domain/protocol/version.ts"
import { sessionId, type SessionId } from "../../src/domain/sessions/session-id.ts"
import { boundMinutes } from "../client/bound.ts"
import type { ClientFailed } from "../client/client-failed.ts"
import { requestUserCertificate } from "../client/request-user-certificate.ts"
import { openSessionClient, type SessionClient, type SessionClientOptions } from "../client/session-client.ts"
import type { AnyPlayground } from "./local-cluster.ts"
import { workloadNamespace } from "./manifests.ts"

const boundMs = boundMinutes * 60_000
/** Real clients ping every 30 s, and wait as long for an answer; here a loaded machine is no lost connection. */
export const clientOptions = (kind: "cli" | "intproxy") =>
  ({
    kind,
    version: protocolVersion,
    pingInterval: 10_000,
    maxSilence: boundMs,
    startIdleTimeout: boundMs,
    reconnect: true
  }) as const

/** The session of a story. */
export interface StorySession {
  readonly id: SessionId
  /** Of its user, for `x-client-der`. */
  readonly certificate: string
  readonly client: SessionClient
}

/** Opens a session of a new id. Its connection ends with the scope. */
export const openStorySession = (
  { primary }: AnyPlayground,
  asked: Pick<SessionClientOptions, "target" | "parameters">
): Effect.Effect<StorySession, ClientFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const id = sessionId(
      (BigInt(yield* Random.nextIntBetween(0, 2 ** 32)) << 32n) | BigInt(yield* Random.nextIntBetween(0, 2 ** 32))
    )
    const { kubeconfigPath } = primary.cluster
    const config = new KubeConfig()
    config.loadFromFile(kubeconfigPath)
    const api = yield* makeKubeApi(config, primary.description.name)
    const certificate = yield* requestUserCertificate(api, "playground")
    const client = yield* openSessionClient({
      ...asked,
      kubeconfigPath,
      namespace: workloadNamespace,
      sessionId: id,
      certificate,
      client: clientOptions("intproxy")
    })
    return { id, certificate, client }
  })
