/**
 * The identity of a cluster: the UID of its namespace `kube-system`, which is made with the cluster and never changes.
 * The first UID that is seen under a cluster's name is pinned to the name; a name and a UID belong together until an
 * administrator removes the pin.
 *
 * Not here: reading UIDs and keeping pins (app/fleet/identity-pins.ts).
 */

import type { ClusterName } from "./cluster-name.ts"

/** The namespace whose UID is the identity of its cluster. */
export const identityNamespace = "kube-system"

/** Name of the ConfigMap with the pins: its keys are clusters' slugs, its values UIDs. */
export const pinsName = "mirrord-operator-cluster-identities"

/** A cluster's answer to the question for its identity. */
export type ToldIdentity =
  | { readonly _tag: "Uid"; readonly uid: string }
  /** It has no such namespace, which every cluster has. */
  | { readonly _tag: "NoNamespace" }
  /** The namespace may not be read. */
  | { readonly _tag: "Untold" }

/** A member that was asked for its identity. */
export interface IdentifiedCluster {
  readonly name: ClusterName
  /** Its key among the pins. */
  readonly slug: string
  readonly found: ToldIdentity
  /** UID of the primary's own cluster, where it is known. */
  readonly own: string | undefined
  /** UIDs by the slugs of clusters. */
  readonly pins: ReadonlyMap<string, string>
  /** Namespace of the pins. */
  readonly namespace: string
}

export type IdentityVerdict =
  | { readonly _tag: "AsPinned" }
  /** It has no pin yet, and gets one. */
  | { readonly _tag: "ToPin"; readonly uid: string }
  /** It does not report its identity, so it is accepted without. */
  | { readonly _tag: "Untold" }
  /** `message`: a clause with cause and cure. */
  | { readonly _tag: "Refused"; readonly message: string }

const uidOfNamespace = `the UID of its namespace ${identityNamespace} is`

/** Whether the reason why a cluster counts as lost is its identity. */
export const isAboutIdentity = (message: string): boolean => message.includes(uidOfNamespace)

const forget = (slug: string, namespace: string): string =>
  `\`kubectl patch configmap ${pinsName} -n ${namespace} --type merge -p '{"data":{"${slug}":null}}'\``

const replaced = (slug: string, namespace: string): string =>
  `correct its server and its credentials, or run ${forget(slug, namespace)} if it was replaced`

const withoutNamespace = ({ namespace, slug }: IdentifiedCluster, pinned: string): string =>
  `it is not the cluster that it was: ${uidOfNamespace} pinned as ${pinned}, and it has no such namespace; ` +
  replaced(slug, namespace)

/** Judges which cluster answers under a member's name. */
export const judgeIdentity = (cluster: IdentifiedCluster): IdentityVerdict => {
  const { name, namespace, own, pins, slug } = cluster
  const pinned = pins.get(slug)
  if (cluster.found._tag !== "Uid")
    return cluster.found._tag === "NoNamespace" && pinned !== undefined
      ? { _tag: "Refused", message: withoutNamespace(cluster, pinned) }
      : { _tag: "Untold" }
  const found = cluster.found.uid
  const subject = `${uidOfNamespace} ${found}`
  if (found === own) {
    const cure = "remove it from the configuration; operator.multiCluster.managementOnly=false serves this cluster"
    return { _tag: "Refused", message: `it is the primary's own cluster: ${subject}, as that of the primary; ${cure}` }
  }
  if (pinned !== undefined && pinned !== found) {
    const message = `it is not the cluster that it was: ${subject}, not ${pinned}; ${replaced(slug, namespace)}`
    return { _tag: "Refused", message }
  }
  const other = [...pins].find(([key, uid]) => uid === found && key !== slug)?.[0]
  if (other !== undefined) {
    const cure = `remove one of the two, or run ${forget(other, namespace)} if ${other} is called ${name} now`
    return { _tag: "Refused", message: `it is cluster ${other}: ${subject}, which is pinned for ${other}; ${cure}` }
  }
  return pinned === undefined ? { _tag: "ToPin", uid: found } : { _tag: "AsPinned" }
}
