import { Effect, Result, Schema, type Scope } from "effect"
import { configMaps } from "../../domain/resources/core-kinds.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { FrontProxy } from "../api/caller.ts"
import { logWarning } from "../log.ts"

/** How often the cluster's answer is read again, and how often while there is none. */
const refreshEvery = "1 minute"
const retryEvery = "1 second"

const Names = Schema.fromJsonString(Schema.Array(Schema.String))

/** Who the API server's front proxy is, kept up to date while the scope lives; `undefined` until it is known. */
export const watchFrontProxy = (api: KubeApi): Effect.Effect<() => FrontProxy | undefined, never, Scope.Scope> =>
  Effect.gen(function* () {
    let known: FrontProxy | undefined
    const refresh = Effect.gen(function* () {
      const object = yield* api.get(configMaps, "extension-apiserver-authentication", "kube-system")
      const configMap = readResource(configMaps, object)
      const data = (Result.isSuccess(configMap) ? configMap.success.data : undefined) ?? {}
      const certificateAuthority = data["requestheader-client-ca-file"]
      if (certificateAuthority === undefined) return
      const names = Schema.decodeUnknownResult(Names)(data["requestheader-allowed-names"] ?? "[]")
      known = { certificateAuthority, allowedNames: Result.isSuccess(names) ? names.success : [] }
    }).pipe(Effect.catch((error) => logWarning("the front proxy's CA cannot be read", { problem: error.message })))
    yield* refresh
    yield* Effect.forkScoped(
      Effect.forever(Effect.andThen(Effect.suspend(() => Effect.sleep(known === undefined ? retryEvery : refreshEvery)), () => refresh))
    )
    return () => known
  })
