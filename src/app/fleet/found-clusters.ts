/**
 * The clusters that one provider has found so far, each with the Secret that it was found by.
 *
 * Not here: finding them (kubeconfig-secrets.ts, cluster-api-clusters.ts).
 */

import { Result } from "effect"
import { documentOf } from "../../adapters/files/configuration-files.ts"
import { type KubeconfigCluster, readKubeconfig } from "../../domain/fleet/kubeconfig.ts"
import type { ProvidedCluster } from "../../domain/fleet/provided-clusters.ts"
import { asString, at } from "../../domain/json.ts"
import type { KubeObject } from "../../ports/kube-api.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"

/** Clusters that are found while the operator runs. */
export interface ProvidedClusters {
  readonly all: () => ReadonlyArray<ProvidedCluster>
  /** The Secret that a cluster was found by. `name`: of the cluster. */
  readonly secret: (name: string) => KubeObject | undefined
  /** Calls back after each change, until the returned function is called. */
  readonly listen: (changed: () => void) => () => void
}

/** Text of the kubeconfig under a Secret's key; nothing if it has none. */
const textOf = (secret: KubeObject, key: string): string => {
  const found = asString(at(secret, "data", key))
  return found === undefined ? "" : Buffer.from(found, "base64").toString("utf8")
}

/** The cluster of a Secret's kubeconfig; the failure is a clause. */
export const readKubeconfigSecret = (secret: KubeObject, key: string): Result.Result<KubeconfigCluster, string> =>
  Result.mapError(
    readKubeconfig(documentOf(textOf(secret, key))),
    (problem) => `key ${key} of its Secret ${secret.metadata.name} is unusable: ${problem}`
  )

/** A provider's use of Secrets. */
export interface SecretUse {
  /** Key of the kubeconfig. */
  readonly key: string
  /** The object that a cluster is found by, of this name and namespace. */
  readonly from: (name: string, namespace: string) => string
}

/** The cluster that a Secret is for, whatever it holds. `name`: of the cluster. */
export const providedBy = (secret: KubeObject, name: string, { from, key }: SecretUse): ProvidedCluster => {
  const { name: secretName, namespace = "" } = secret.metadata
  const read = readKubeconfigSecret(secret, key)
  const fingerprint = sha256Hex(textOf(secret, key)).slice(0, 16)
  return {
    from: from(name, namespace),
    name,
    member: {
      server: Result.isSuccess(read) ? read.success.server : "",
      namespace: undefined,
      certificateAuthority: Result.isSuccess(read) ? read.success.certificateAuthority : undefined,
      auth: { _tag: "Kubeconfig", secret: secretName, namespace, key, fingerprint },
      problems: Result.isSuccess(read) ? [] : [`${read.failure}.`]
    }
  }
}

/** The clusters of one provider, by their names; its listeners hear of each change. */
export class FoundClusters implements ProvidedClusters {
  readonly #found = new Map<string, { readonly cluster: ProvidedCluster; readonly secret: KubeObject }>()
  readonly #listeners = new Set<() => void>()
  readonly #use: SecretUse

  constructor(use: SecretUse) {
    this.#use = use
  }

  readonly all = (): ReadonlyArray<ProvidedCluster> => [...this.#found.values()].map(({ cluster }) => cluster)
  readonly secret = (name: string): KubeObject | undefined => this.#found.get(name)?.secret
  readonly listen = (changed: () => void): (() => void) => {
    this.#listeners.add(changed)
    return () => void this.#listeners.delete(changed)
  }

  /** Takes a cluster's Secret as it is now; `undefined`: the cluster is found no more. */
  set(name: string, secret: KubeObject | undefined): void {
    if (secret === undefined) this.#found.delete(name)
    else this.#found.set(name, { cluster: providedBy(secret, name, this.#use), secret })
    for (const listener of this.#listeners) listener()
  }
}
