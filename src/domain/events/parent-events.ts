/**
 * Which Events a change of a session over many clusters is worth, for `kubectl describe`.
 *
 * Not here: writing Events (app/kernel/event-recorder.ts), and sessions in one cluster (child-events.ts).
 */

import { quotation } from "../clean-text.ts"
import type {
  ClusterSessionStatus,
  MirrordMultiClusterSession,
  SessionPhase
} from "../resources/mirrord-multi-cluster-session.ts"
import type { SessionEvent } from "./event-catalogue.ts"

/** How one cluster stands in a session. `LeftOut`: not ready, and the status says why. */
type Standing =
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Awaited" }
  | { readonly _tag: "LeftOut"; readonly why: string }

const standingOf = (entry: ClusterSessionStatus | undefined): Standing => {
  if (entry?.ready === true) return { _tag: "Ready" }
  return entry?.error === undefined ? { _tag: "Awaited" } : { _tag: "LeftOut", why: quotation(entry.error) }
}

const isSame = (a: Standing, b: Standing): boolean =>
  a._tag === b._tag && (a._tag !== "LeftOut" || b._tag !== "LeftOut" || a.why === b.why)

const entriesOf = (parent: MirrordMultiClusterSession): Readonly<Record<string, ClusterSessionStatus>> =>
  parent.status?.clusterSessions ?? {}

/** All clusters as text, the default one marked. */
const clustersText = ({ spec }: MirrordMultiClusterSession): string =>
  spec.clusters.map((cluster) => (cluster === spec.defaultCluster ? `${cluster} (default)` : cluster)).join(", ")

const readyText = (parent: MirrordMultiClusterSession): string => {
  const standings = Object.entries(entriesOf(parent)).map(([cluster, entry]) => ({
    cluster,
    standing: standingOf(entry)
  }))
  const without = standings.flatMap(({ cluster, standing }) => (standing._tag === "Ready" ? [] : [cluster]))
  const count = `${standings.length - without.length} of ${standings.length} clusters ready`
  return without.length === 0
    ? `The session is ready: ${count}.`
    : `The session is ready: ${count}, without ${without.join(", ")}.`
}

const phaseEvent = (phase: SessionPhase, after: MirrordMultiClusterSession): SessionEvent => {
  const { spec, status } = after
  switch (phase) {
    case "Initializing":
      return {
        reason: "Accepted",
        message: `A session for ${spec.targetAlias} in namespace ${spec.namespace}, in clusters ${clustersText(after)}.`
      }
    case "Pending":
      return { reason: "Pending", message: `The session is being prepared in clusters ${clustersText(after)}.` }
    case "Ready":
      return { reason: "Ready", message: readyText(after) }
    case "Failed":
      return { reason: "Failed", message: status?.closed ?? "The session failed; look at the operator's log." }
    case "Terminating":
      return {
        reason: "Terminating",
        message: `The session is being ended; what belongs to it in clusters ${clustersText(after)} is deleted first.`
      }
  }
}

const clusterEvent = (
  cluster: string,
  before: Standing,
  after: Standing,
  parent: MirrordMultiClusterSession
): SessionEvent => {
  const isDefault = cluster === parent.spec.defaultCluster
  if (after._tag === "Ready")
    return {
      reason: "ClusterReady",
      cluster,
      message: `${isDefault ? "The default cluster" : "Cluster"} ${cluster} is ready.`
    }
  if (isDefault) {
    const why = after._tag === "LeftOut" ? after.why : "it is being started again"
    const message =
      `The default cluster ${cluster} cannot be used: ${why}. Environment, files, DNS and outgoing connections ` +
      "wait for it, and the session fails if it stays away; check that cluster and its operator."
    return { reason: "DefaultClusterLost", cluster, message }
  }
  if (after._tag === "LeftOut") {
    const message =
      `Cluster ${cluster} takes no part in the session for now: ${after.why}. Check that cluster; it joins by ` +
      "itself as soon as it is ready."
    return { reason: "ClusterLeftOut", cluster, message }
  }
  const name = entriesOf(parent)[cluster]?.sessionName
  const where = name === undefined ? "" : `: mirrordclustersessions ${name} there says why`
  return before._tag === "Ready"
    ? {
        reason: "ClusterNotReady",
        cluster,
        message: `Cluster ${cluster} is not ready any more and is waited for${where}.`
      }
    : { reason: "ClusterAwaited", cluster, message: `Cluster ${cluster} is waited for again${where}.` }
}

/**
 * The Events between two versions of a multi-cluster session: one for a new phase, and one for each cluster whose
 * standing changed. Heartbeats and new messages are no Events, and conditions follow from phase and clusters. A session
 * that fails has one Event, which says why and names the cluster.
 */
export const parentEvents = (
  before: MirrordMultiClusterSession,
  after: MirrordMultiClusterSession
): ReadonlyArray<SessionEvent> => {
  const phase = after.status?.phase
  const isNewPhase = phase !== undefined && phase !== before.status?.phase
  const ofPhase = isNewPhase ? [phaseEvent(phase, after)] : []
  if (phase === "Failed") return ofPhase
  const entriesBefore = entriesOf(before)
  const ofClusters = Object.entries(entriesOf(after)).flatMap(([cluster, entry]): ReadonlyArray<SessionEvent> => {
    const standingBefore = standingOf(entriesBefore[cluster])
    const standing = standingOf(entry)
    return isSame(standingBefore, standing) ? [] : [clusterEvent(cluster, standingBefore, standing, after)]
  })
  // The clusters that led to a phase come before the phase.
  return phase === "Initializing" ? [...ofPhase, ...ofClusters] : [...ofClusters, ...ofPhase]
}
