/**
 * The clusters that a provider has found so far, each with the kubeconfig that it was found by, if there is one.
 *
 * Not here: finding them (cluster-providers.ts).
 */

import { Redacted, Result } from "effect"
import { documentOf } from "../../adapters/files/configuration-files.ts"
import { type KubeconfigPlace, kubeconfigTitle } from "../../domain/fleet/credentials/cluster-auth.ts"
import { type KubeconfigCluster, readKubeconfig } from "../../domain/fleet/kubeconfig.ts"
import type { ProvidedCluster } from "../../domain/fleet/provided-clusters.ts"
import { asString, at } from "../../domain/json.ts"
import type { KubeObject } from "../../ports/kube-api.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"

/** A kubeconfig that is for one cluster. */
export interface FoundKubeconfig {
  /** The object or file that the cluster is found by, such as `Secret mirrord/b`. */
  readonly from: string
  readonly place: KubeconfigPlace
  readonly text: string
}

/** Clusters that are found while the operator runs. */
export interface ProvidedClusters {
  readonly all: () => ReadonlyArray<ProvidedCluster>
  /** The text of the kubeconfig that a cluster was found by. `name`: of the cluster. */
  readonly kubeconfig: (name: string) => string | undefined
  /** Why clusters may be missing, one sentence each. */
  readonly problems: () => ReadonlyArray<string>
  /** Calls back after each change, until the returned function is called. */
  readonly listen: (changed: () => void) => () => void
}

/** Text under a Secret's key; `undefined` if it has none. */
export const textUnder = (secret: KubeObject, key: string): string => {
  const found = asString(at(secret, "data", key))
  return found === undefined ? "" : Buffer.from(found, "base64").toString("utf8")
}

/** The cluster of a kubeconfig; the failure is a clause. */
export const readFoundKubeconfig = (place: KubeconfigPlace, text: string): Result.Result<KubeconfigCluster, string> =>
  Result.mapError(
    readKubeconfig(documentOf(text), place._tag === "File" ? place.context : undefined),
    (problem) => `${kubeconfigTitle(place)} is unusable: ${problem}`
  )

/** A provider's use of Secrets. */
export interface SecretUse {
  /** Key of the kubeconfig. */
  readonly key: string
  /** The object that a cluster is found by, of this name and namespace. */
  readonly from: (name: string, namespace: string) => string
}

/** The kubeconfig in a Secret. `name`: of its cluster. */
export const inSecret = (secret: KubeObject, name: string, { from, key }: SecretUse): FoundKubeconfig => {
  const { name: secretName, namespace = "" } = secret.metadata
  return {
    from: from(name, namespace),
    place: { _tag: "Secret", name: secretName, namespace, key },
    text: textUnder(secret, key)
  }
}

/** All that counts in a kubeconfig: a file may hold other contexts. */
const contentOf = (read: Result.Result<KubeconfigCluster, string>): string => {
  if (Result.isFailure(read)) return read.failure
  const { certificateAuthority, credentials, server } = read.success
  const secret =
    credentials._tag === "BearerToken"
      ? [Redacted.value(credentials.token)]
      : [credentials.certificatePem, Redacted.value(credentials.keyPem)]
  return JSON.stringify([server, certificateAuthority, ...secret])
}

/** The cluster that a kubeconfig is for, whatever it holds. `name`: of the cluster. */
export const providedBy = (name: string, { from, place, text }: FoundKubeconfig): ProvidedCluster => {
  const read = readFoundKubeconfig(place, text)
  return {
    from,
    name,
    member: {
      server: Result.isSuccess(read) ? read.success.server : "",
      namespace: undefined,
      certificateAuthority: Result.isSuccess(read) ? read.success.certificateAuthority : undefined,
      auth: { _tag: "Kubeconfig", place, fingerprint: sha256Hex(contentOf(read)).slice(0, 16) },
      problems: Result.isSuccess(read) ? [] : [`${read.failure}.`]
    }
  }
}

/** The clusters of one provider, by their names; its listeners hear of each change. */
export class FoundClusters implements ProvidedClusters {
  readonly #found = new Map<string, { readonly cluster: ProvidedCluster; readonly text: string | undefined }>()
  readonly #listeners = new Set<() => void>()
  #problems: ReadonlyArray<string> = []

  readonly all = (): ReadonlyArray<ProvidedCluster> => [...this.#found.values()].map(({ cluster }) => cluster)
  readonly kubeconfig = (name: string): string | undefined => this.#found.get(name)?.text
  readonly problems = (): ReadonlyArray<string> => this.#problems
  readonly listen = (changed: () => void): (() => void) => {
    this.#listeners.add(changed)
    return () => void this.#listeners.delete(changed)
  }

  /** Takes a cluster's kubeconfig as it is now; `undefined` if the cluster is found no more. */
  set(name: string, found: FoundKubeconfig | undefined): void {
    this.#put(name, found)
    this.#tell()
  }

  /** Takes a cluster without a kubeconfig as it is now; `undefined` if the cluster is found no more. */
  setCluster(name: string, cluster: ProvidedCluster | undefined): void {
    if (cluster === undefined) this.#found.delete(name)
    else this.#found.set(name, { cluster, text: undefined })
    this.#tell()
  }

  /** Takes all clusters, and what keeps others away. */
  replace(all: ReadonlyMap<string, FoundKubeconfig>, problems: ReadonlyArray<string>): void {
    for (const name of [...this.#found.keys()]) if (!all.has(name)) this.#put(name, undefined)
    for (const [name, found] of all) this.#put(name, found)
    this.#problems = problems
    this.#tell()
  }

  #put(name: string, found: FoundKubeconfig | undefined): void {
    if (found === undefined) this.#found.delete(name)
    else this.#found.set(name, { cluster: providedBy(name, found), text: found.text })
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
