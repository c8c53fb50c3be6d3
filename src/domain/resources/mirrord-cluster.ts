/**
 * The virtual object MirrordCluster: a workload cluster of a primary's fleet, as the primary sees it now. It is served
 * and nowhere stored, so it is never out of date and nothing of it stays behind.
 *
 * Not here: its content (fleet/cluster-object.ts).
 */

import * as Schema from "effect/Schema"
import { Condition } from "./condition.ts"
import { ObjectMeta } from "./object-meta.ts"
import { operatorGroup } from "./operator-api.ts"
import type { ResourceDescriptor } from "./resource-descriptor.ts"

export const clusterRoles = ["Primary", "Default"] as const
export type ClusterRole = (typeof clusterRoles)[number]

/** The condition that says whether new sessions take the cluster in. */
export const clusterReady = "Ready"

const MirrordCluster = Schema.Struct({
  metadata: Schema.Struct({ name: ObjectMeta.fields.name }),
  spec: Schema.Struct({
    /** Empty for a cluster that only has traffic. */
    roles: Schema.Array(Schema.Literals(clusterRoles)),
    /** The word of the configuration for how the primary authenticates there; missing for its own cluster. */
    authType: Schema.optionalKey(Schema.String)
  }),
  status: Schema.Struct({
    /** Version of the cluster's operator; missing until it has answered. */
    operatorVersion: Schema.optionalKey(Schema.String),
    /** When the cluster was last asked. */
    lastCheck: Schema.optionalKey(Schema.String),
    /** When the credentials in use end; missing if that is not known. */
    credentialsExpireAt: Schema.optionalKey(Schema.String),
    /** Since when the tunnel of a member that dials out is used; missing while there is none. */
    tunnelSince: Schema.optionalKey(Schema.String),
    /** The pod of the operator's replica that watches the cluster; missing unless replicas share the clusters. */
    replica: Schema.optionalKey(Schema.String),
    /** Sessions over many clusters that run there. */
    sessions: Schema.Int,
    conditions: Schema.Array(Condition)
  })
})
export type MirrordCluster = typeof MirrordCluster.Type

export const mirrordClusters: ResourceDescriptor<MirrordCluster> = {
  group: operatorGroup,
  version: "v1",
  kind: "MirrordCluster",
  plural: "mirrordclusters",
  scope: "Cluster",
  schema: MirrordCluster
}
