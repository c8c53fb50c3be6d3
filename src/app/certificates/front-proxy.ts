/**
 * Reads the API server's front proxy from its ConfigMap and watches it. api/caller.ts judges whether a connection is
 * the front proxy's.
 */

import { Effect, Result, type Scope } from "effect"
import { readBundle } from "../../adapters/x509/certificate-bundle.ts"
import { readFrontProxy } from "../../domain/fleet/credentials/front-proxy.ts"
import { configMaps } from "../../domain/resources/core-kinds.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeObject } from "../../ports/kube-api.ts"
import type { FrontProxySource, KnownFrontProxy } from "../api/caller.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { makeReflector } from "../kernel/reflector.ts"

/** How long the start waits for the ConfigMap; until it is read, requests are refused. */
const patience = "5 seconds"

const frontProxyOf = (object: KubeObject): Result.Result<KnownFrontProxy, string> =>
  Result.flatMap(
    Result.flatMap(
      Result.mapError(readResource(configMaps, object), ({ message }) => message),
      ({ data }) => readFrontProxy(data ?? {})
    ),
    (proxy) =>
      Result.try({
        try: () => ({ ...proxy, authorities: readBundle(proxy.certificateAuthority) }),
        catch: (cause) =>
          `requestheader-client-ca-file: ${cause instanceof Error ? cause.message : String(cause)}; it must be ` +
          "certificates in PEM"
      })
  )

/**
 * The identity of the API server's front proxy, watched while the scope lives; unknown until it was read once. A
 * ConfigMap that cannot be read, or is gone, changes nothing: a mistake in it must not lock out the API server.
 */
export const watchFrontProxy = Effect.fnUntraced(function* (
  api: KubeApi
): Effect.fn.Return<FrontProxySource, never, Scope.Scope> {
  const listeners = new Set<() => void>()
  const run = Effect.runForkWith(yield* Effect.context<never>())
  let known: KnownFrontProxy | undefined
  const changed = (object: KubeObject, deleted: boolean): void => {
    const read = deleted ? Result.fail("it was deleted") : frontProxyOf(object)
    if (Result.isFailure(read)) {
      run(
        logWarning("ConfigMap kube-system/extension-apiserver-authentication cannot be used; what it said last holds", {
          problem: read.failure
        })
      )
      return
    }
    known = read.success
    run(
      logInfo("the front proxy is known", {
        authorities: known.authorities.length,
        names: known.allowedNames.join(",")
      })
    )
    for (const listener of listeners) listener()
  }
  const reflector = yield* makeReflector(api, configMaps, changed, {
    namespace: "kube-system",
    name: "extension-apiserver-authentication"
  })
  yield* Effect.timeoutOption(reflector.awaitSynced, patience)
  const problem = reflector.problem()
  if (problem !== undefined) yield* logWarning("the front proxy's CA cannot be read", { problem: problem.message })
  yield* Effect.addFinalizer(() => Effect.sync(() => listeners.clear()))
  return { known: () => known, listen: (listener) => void listeners.add(listener) }
})
