/**
 * Finds the Kubernetes objects that a line of a story speaks of, by session and cluster. Invariants find theirs by
 * reading the objects themselves (`invariants/session-objects.ts`).
 */

import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { jobs, pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { childName, parentName } from "../../../src/domain/sessions/names.ts"
import { sessionId } from "../../../src/domain/sessions/session-id.ts"
import type { ResourceRef, KubeObject } from "../../../src/ports/kube-api.ts"
import { operatorNamespace } from "../world/operator-replica.ts"
import type { SimClient } from "../world/sim-client.ts"
import type { SimCluster } from "../world/world.ts"

/** Kinds of objects that people edit or delete, as `kubectl` lines name them. */
export const objectKinds = ["child", "parent", "job", "pod"] as const
export type ObjectKind = (typeof objectKinds)[number]

export const refOf: Readonly<Record<ObjectKind, ResourceRef>> = {
  child: mirrordClusterSessions,
  parent: mirrordMultiClusterSessions,
  job: jobs,
  pod: pods
}

/** The parent of a session in the primary, if there is one. */
export const parentOf = (primary: SimCluster, client: SimClient): KubeObject | undefined =>
  primary.server.objects.peek(mirrordMultiClusterSessions, parentName(sessionId(client.sessionId)))

/** The child of a session in a cluster, if there is one. */
export const childOf = (cluster: SimCluster, client: SimClient): KubeObject | undefined =>
  cluster.server.objects.peek(
    mirrordClusterSessions,
    childName(parentName(sessionId(client.sessionId)), clusterName(cluster.name), sha256Hex)
  )

/** All objects of a kind in a cluster; of pods and Jobs only those of agents. */
export const allOf = (cluster: Pick<SimCluster, "server">, kind: ObjectKind): ReadonlyArray<KubeObject> =>
  cluster.server.objects
    .peekAll(refOf[kind])
    .filter(({ metadata }) => (kind !== "pod" && kind !== "job") || metadata.namespace === operatorNamespace)
