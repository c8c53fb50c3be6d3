/**
 * Finds clusters by Secrets beside the operator that hold kubeconfigs. The name of a Secret is the name of its cluster,
 * as for multicluster-runtime's provider.
 *
 * Not here: reading a kubeconfig (domain/fleet/kubeconfig.ts), and who joins the fleet (domain/fleet/
 * provided-clusters.ts).
 */

import { Effect, Option, Result, type Scope } from "effect"
import { documentOf } from "../../adapters/files/configuration-files.ts"
import { type KubeconfigCluster, readKubeconfig } from "../../domain/fleet/kubeconfig.ts"
import { kubeconfigKey, kubeconfigLabel, type ProvidedCluster } from "../../domain/fleet/provided-clusters.ts"
import { asObject, asString } from "../../domain/json.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeObject } from "../../ports/kube-api.ts"
import { logWarning } from "../kernel/log.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"

/** How often the log says that the Secrets cannot be read. */
const tellEvery = "30 seconds"

/** Clusters that are found while the operator runs. */
export interface ProvidedClusters {
  readonly all: () => ReadonlyArray<ProvidedCluster>
  /** The Secret that a cluster was found by. */
  readonly secret: (name: string) => KubeObject | undefined
  /** Calls back after each change, until the returned function is called. */
  readonly listen: (changed: () => void) => () => void
}

/** Text of the kubeconfig in a Secret; nothing if it has none. */
const textOf = (secret: KubeObject): string => {
  const found = asString(asObject(secret["data"])[kubeconfigKey])
  return found === undefined ? "" : Buffer.from(found, "base64").toString("utf8")
}

/** The cluster of a Secret's kubeconfig; the failure is a clause. */
export const readKubeconfigSecret = (secret: KubeObject): Result.Result<KubeconfigCluster, string> =>
  Result.mapError(
    readKubeconfig(documentOf(textOf(secret))),
    (problem) => `key ${kubeconfigKey} of its Secret ${secret.metadata.name} is unusable: ${problem}`
  )

/** The cluster that a Secret is for, whatever it holds. */
export const providedBy = (secret: KubeObject): ProvidedCluster => {
  const { name, namespace } = secret.metadata
  const read = readKubeconfigSecret(secret)
  const fingerprint = sha256Hex(textOf(secret)).slice(0, 16)
  return {
    from: `Secret ${namespace}/${name}`,
    name,
    member: {
      server: Result.isSuccess(read) ? read.success.server : "",
      namespace: undefined,
      certificateAuthority: Result.isSuccess(read) ? read.success.certificateAuthority : undefined,
      auth: { _tag: "Kubeconfig", secret: name, fingerprint },
      problems: Result.isSuccess(read) ? [] : [`${read.failure}.`]
    }
  }
}

/** The Secrets with kubeconfigs. `namespace`: that of the operator. */
export const kubeconfigSelection = (namespace: string) => ({ namespace, labelSelector: `${kubeconfigLabel}=true` })

/** Waits for the first list: without it, the sessions of clusters that are not found yet would lose them. */
const awaitFirstList = ({ awaitSynced, problem }: Reflector): Effect.Effect<void> =>
  Effect.timeoutOption(awaitSynced, tellEvery).pipe(
    Effect.tap((known) =>
      Option.isSome(known)
        ? Effect.void
        : logWarning("kubeconfig Secrets are not known, and the operator waits for them", {
            problem: problem()?.message ?? "no answer yet"
          })
    ),
    Effect.repeat({ until: Option.isSome }),
    Effect.asVoid
  )

/** Follows the Secrets of the operator's namespace while the scope lives; completes when they are known. */
export const kubeconfigSecrets = (
  api: KubeApi,
  namespace: string
): Effect.Effect<ProvidedClusters, never, Scope.Scope> =>
  Effect.gen(function* () {
    const listeners = new Set<() => void>()
    const found = new Map<string, ProvidedCluster>()
    const changed = (secret: KubeObject, deleted: boolean): void => {
      if (deleted) found.delete(secret.metadata.name)
      else found.set(secret.metadata.name, providedBy(secret))
      for (const listener of listeners) listener()
    }
    const reflector = yield* makeReflector(api, secrets, changed, kubeconfigSelection(namespace))
    yield* awaitFirstList(reflector)
    return {
      all: () => [...found.values()],
      secret: (name) => reflector.get(name, namespace),
      listen: (listener) => {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      }
    }
  })
