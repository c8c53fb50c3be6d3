/**
 * Observes one session of a primary before it is planned: the parent, the children in the caches of the fleet, the
 * answers of API servers and the client's sockets. Reads only; `domain/sessions` decides what follows.
 */

import { Result } from "effect"
import { clusterName, type ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { type ChildObservation, observeChild } from "../../../domain/sessions/child-observation.ts"
import type { ObservedSession } from "../../../domain/sessions/observed-session.ts"
import type { FleetCluster } from "../../fleet/fleet-cluster.ts"
import { readCached } from "../../kernel/read-cached.ts"
import { type ChildAnswers, childKey, type SessionManagerState, type SessionTurn } from "./session-manager-state.ts"

const observeCluster = (
  { leaderSince }: SessionManagerState,
  cluster: FleetCluster,
  name: string,
  answers: Readonly<Pick<ChildAnswers, "get">>
): ChildObservation => {
  const children = cluster.children()
  const since = cluster.unreadableSince()
  const known = answers.get(childKey(cluster.name, name))
  if (children === undefined || !children.synced() || since !== undefined) {
    // The API server's own answer holds even while its list cannot be read.
    if (known?._tag === "Gone") return { _tag: "Absent", confirmed: true }
    return { _tag: "Unknown", since: since ?? leaderSince }
  }
  const object = children.get(name)
  if (object !== undefined) {
    const child = readCached(mirrordClusterSessions, object)
    if (Result.isSuccess(child)) return observeChild(child.success)
    return { _tag: "Refused", at: leaderSince, failure: { reason: "Error", message: child.failure.message } }
  }
  if (known?._tag === "Refused") return known
  return { _tag: "Absent", confirmed: known?._tag === "Gone" }
}

/**
 * The children that the parent's status names: in the clusters that are configured, and in others where they are known
 * to be gone.
 */
const observeChildren = (
  state: SessionManagerState,
  { known, view }: SessionTurn
): ReadonlyMap<ClusterName, ChildObservation> => {
  const { clusters } = state.options.fleet
  return new Map(
    Object.entries(view.status?.clusterSessions ?? {}).flatMap(
      ([name, { sessionName }]): ReadonlyArray<readonly [ClusterName, ChildObservation]> => {
        const its = clusterName(name)
        const cluster = clusters.get(its)
        if (cluster !== undefined) return [[its, observeCluster(state, cluster, sessionName, known)]]
        const isGone = known.get(childKey(its, sessionName))?._tag === "Gone"
        return isGone ? [[its, { _tag: "Absent", confirmed: true }]] : []
      }
    )
  )
}

/** Everything from which the next step of one session is decided. */
export const observeSession = (state: SessionManagerState, turn: SessionTurn): ObservedSession => {
  const { leaderSince, options, sightings } = state
  const { debts, defaultCluster, fleet, settings, sha256Hex, sockets } = options
  const { key: name, now, view } = turn
  const seen = sightings.seen(name)
  return {
    parent: view,
    children: observeChildren(state, turn),
    fleet: {
      defaultCluster,
      clusters: new Map([...fleet.clusters].map(([cluster, { reach }]) => [cluster, reach()]))
    },
    settings,
    createdSeenAt: seen.created,
    deletedSeenAt: seen.deleted,
    failedSeenAt: seen.failed,
    leaderSince,
    sockets: sockets.presence(name),
    heartbeatSeenAt: sightings.heartbeatSeen(name, view.status?.connectedTimestamp, now),
    debts: debts.names(view.metadata.uid),
    sha256Hex
  }
}
