/**
 * The sessions that users began at members themselves, as the primary shows them and asks members to stop them. They
 * are found in the objects that the primary follows anyway.
 *
 * Not here: children of sessions over many clusters, which are parts of other sessions.
 */

import { Result } from "effect"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { at } from "../../../domain/json.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { sessions } from "../../../domain/resources/session.ts"
import { isOfCi, sessionInfo } from "../../../domain/sessions/session-info.ts"
import type { KubeObject } from "../../../ports/kube-api.ts"
import type { FleetCluster } from "../../fleet/fleet-cluster.ts"
import type { Fleet } from "../../fleet/fleet.ts"
import { auditedChild } from "../../kernel/audit.ts"
import { readCached } from "../../kernel/read-cached.ts"
import type { DistantSession } from "../../services/sessions.ts"

const sessionOf = ({ access, name: cluster }: FleetCluster, object: KubeObject): ReadonlyArray<DistantSession> => {
  if ((at(object, "spec", "multiClusterParentName") ?? undefined) !== undefined) return []
  const read = readCached(mirrordClusterSessions, object)
  const api = access()?.api
  if (api === undefined || Result.isFailure(read)) return []
  const session = read.success
  const { metadata, spec } = session
  return [
    {
      metadata,
      namespace: spec.namespace,
      owner: spec.owner,
      // Only the member knows which ports it steals.
      info: (now) => sessionInfo(session, [], now),
      isOfCi: isOfCi(spec),
      audited: { ...auditedChild(metadata.name, spec), clusters: [cluster] },
      // By the member's operator, which remembers that it is to stay stopped.
      stop: api.delete(sessions, metadata.name)
    }
  ]
}

/** `own`: the primary's own cluster, whose sessions it serves itself. */
export const sessionsOfMembers = ({ clusters }: Fleet, own: ClusterName): ReadonlyArray<DistantSession> =>
  [...clusters.values()]
    .filter(({ name }) => name !== own)
    .flatMap((cluster) => (cluster.children()?.all() ?? []).flatMap((object) => sessionOf(cluster, object)))
