/**
 * How far a primary is with a cluster that has joined, or has left, by its own object.
 *
 * Not here: reading the object again and again (app/commands/join/await-cluster.ts).
 */

import { isAboutIdentity } from "../../fleet/cluster-identity.ts"
import { type MirrordOperatorStatus, refusedConfiguration } from "../../resources/mirrord-operator.ts"

export type Awaited =
  | { readonly _tag: "Connected"; readonly version: string }
  /** `why`: a clause. */
  | { readonly _tag: "Waiting"; readonly why: string }
  /** Waiting helps nothing. `why`: a clause. */
  | { readonly _tag: "Refused"; readonly why: string }

/** Judges the status of a primary's operator. */
export const awaitedCluster = (status: MirrordOperatorStatus | null | undefined, name: string): Awaited => {
  const refused = refusedConfiguration(status)
  if (refused !== undefined)
    return { _tag: "Refused", why: `the operator does not use its changed configuration: ${refused}` }
  const cluster = status?.connected_clusters?.find((connected) => connected.name === name)
  if (cluster === undefined) return { _tag: "Waiting", why: "the operator has not taken up the entry" }
  if ("connected" in cluster) return { _tag: "Connected", version: cluster.connected.operatorVersion }
  const { message } = cluster.error
  return { _tag: isAboutIdentity(message) ? "Refused" : "Waiting", why: message }
}
