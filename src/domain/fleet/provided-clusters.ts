/**
 * Clusters that a primary finds by itself, beside those of its configuration: which there may be, and which of them
 * join the fleet.
 *
 * Not here: finding them (app/fleet/cluster-providers.ts).
 */

import * as Order from "effect/Order"
import type { AccessProvider } from "./access-providers.ts"
import {
  clusterName,
  clusterNameProblem,
  type ClusterName,
  clusterSlug,
  collidingSlugs,
  type Sha256Hex
} from "./cluster-name.ts"
import type { FleetConfiguration, MemberConfiguration } from "./configuration.ts"

/** The ways to find clusters; `operator.multiCluster.providers` chooses some. */
export const clusterProviders = [
  "kubeconfigSecrets",
  "kubeconfigFile",
  "kubeconfigDirectory",
  "clusterApi",
  "clusterProfile"
] as const
export type ClusterProvider = (typeof clusterProviders)[number]

/** How a primary looks for clusters. */
export interface ClusterSearch {
  /** The first of two that find a cluster of the same name has it. Empty: clusters are configured only. */
  readonly providers: ReadonlyArray<ClusterProvider>
  /** Namespace of the `Cluster` objects of Cluster API. */
  readonly clusterApiNamespace: string
  /** Path of the kubeconfig whose contexts are clusters. */
  readonly kubeconfigFile: string
  /** Path of the directory of kubeconfigs. */
  readonly kubeconfigDirectory: string
  /** Namespace of the `ClusterProfile` objects. */
  readonly clusterProfileNamespace: string
  /** The programs that give credentials for the clusters of `ClusterProfile` objects. */
  readonly accessProviders: ReadonlyArray<AccessProvider>
}

/** Label of the Secrets that hold kubeconfigs; its value is `"true"`. It is the label of multicluster-runtime. */
export const kubeconfigLabel = "sigs.k8s.io/multicluster-runtime-kubeconfig"
/** Key of such a Secret. */
export const kubeconfigKey = "kubeconfig"

/** A cluster that was found. */
export interface ProvidedCluster {
  /** The object that it was found by, such as `Secret mirrord/b`. */
  readonly from: string
  readonly name: string
  readonly member: Omit<MemberConfiguration, "name">
}

/** A fleet with the clusters that were found. */
export interface ProvidedFleet {
  readonly configuration: FleetConfiguration
  /** Why a cluster that was found is not in the fleet, one sentence each. */
  readonly refused: ReadonlyArray<string>
}

/** The clusters that have a name already, by their slugs. */
type Taken = Map<string, { readonly name: ClusterName; readonly from: string }>

const byName = Order.mapInput(Order.String, ({ name }: { readonly name: string }) => name)

/** Why a cluster cannot have its name; a clause. */
const nameProblem = (name: string, taken: Taken, sha256Hex: Sha256Hex): string | undefined => {
  const problem = clusterNameProblem(name)
  if (problem !== undefined) return `${problem}; give it another name`
  const [other] = collidingSlugs(clusterName(name), sha256Hex).flatMap((slug) => taken.get(slug) ?? [])
  return other === undefined
    ? undefined
    : `its name collides with that of cluster ${other.name} of ${other.from}; rename one of the two`
}

/**
 * Adds clusters that were found, by the order of their names. A name belongs to the configuration first: a Secret
 * cannot replace a cluster that an administrator has written down.
 */
export const withProvided = (
  configured: FleetConfiguration,
  provided: ReadonlyArray<ProvidedCluster>,
  sha256Hex: Sha256Hex
): ProvidedFleet => {
  const taken: Taken = new Map()
  const take = (name: ClusterName, from: string): void => void taken.set(clusterSlug(name, sha256Hex), { name, from })
  take(configured.clusterName, "the primary itself")
  for (const { name } of configured.members) take(name, "the configuration")
  const members = [...configured.members]
  const refused: Array<string> = []
  for (const { from, member, name } of provided.toSorted(byName)) {
    const problem = nameProblem(name, taken, sha256Hex)
    if (problem === undefined) {
      members.push({ ...member, name: clusterName(name) })
      take(clusterName(name), from)
    } else refused.push(`Cluster ${name} of ${from} is not used: ${problem}.`)
  }
  members.sort(byName)
  return { configuration: { ...configured, members }, refused }
}
