/**
 * The content of `braid clusters`: one row for each cluster of a primary's fleet, from the operator's object and, as
 * far as it may be read, from its configuration and its Secrets.
 *
 * Not here: reading them, and the layout of a table (text-table.ts).
 */

import type { AuthType } from "../credentials/cluster-auth.ts"
import { spanText } from "../credentials/validity.ts"
import type { MirrordOperator } from "../resources/mirrord-operator.ts"
import { operatorOverview } from "./operator-overview.ts"
import { sessionsHere } from "./sessions-here.ts"

/** The part of a cluster in the fleet: the primary's own, the default one, or neither. */
export type ClusterRole = "primary" | "primary, default" | "default" | "member"

/** A cluster as the configuration and the Secrets say. */
export interface KnownCluster {
  readonly name: string
  readonly role: ClusterRole
  /** How the primary proves who it is there; nothing for its own cluster. */
  readonly auth: AuthType | "kubeconfig" | undefined
  /** End of the credentials that are used now, epoch ms; nothing if they have none, or if it is not known. */
  readonly expiresAt: number | undefined
  /** Why there are no usable credentials. */
  readonly problem: string | undefined
}

/** A cluster as `braid clusters` shows it; docs/operations.md describes its JSON. */
export interface ClusterRow {
  readonly name: string
  readonly ready: boolean
  /** Nothing where the configuration may not be read. */
  readonly role: ClusterRole | undefined
  readonly auth: KnownCluster["auth"]
  readonly expiresAt: number | undefined
  /** Version of the cluster's operator. */
  readonly version: string | undefined
  /** Sessions that run there, as far as their primary counts them. */
  readonly sessions: number
  /** Why it is not ready. */
  readonly reason: string | undefined
}

/** A cluster as the operator's object shows it. */
type Seen = Pick<ClusterRow, "ready" | "reason" | "version">

const notTakenUp: Seen = {
  ready: false,
  reason: "the operator has not taken it up, or has no usable credentials for it",
  version: undefined
}

/** A row for each cluster that the operator or its configuration knows, by name. */
export const clusterRows = (
  operator: MirrordOperator,
  known: ReadonlyArray<KnownCluster>
): ReadonlyArray<ClusterRow> => {
  const { clusters, version } = operatorOverview(operator)
  const seen = new Map<string, Seen>(
    clusters.map(({ name, reason, state, version: theirs }) => [
      name,
      { ready: state === "connected", reason, version: theirs }
    ])
  )
  const facts = new Map(known.map((cluster) => [cluster.name, cluster]))
  const sessions = operator.status?.multi_cluster_sessions ?? []
  const row = (name: string): ClusterRow => {
    const fact = facts.get(name)
    const isOwn = fact?.role.startsWith("primary") === true
    const state = seen.get(name) ?? (isOwn ? { ready: true, reason: undefined, version } : notTakenUp)
    const many = sessions.filter((session) => session.clusters.includes(name)).length
    return {
      name,
      ...state,
      // The operator's own words come first: it is what uses the credentials.
      reason: state.ready ? undefined : (seen.get(name)?.reason ?? fact?.problem ?? state.reason),
      role: fact?.role,
      auth: fact?.auth,
      expiresAt: fact?.expiresAt,
      sessions: isOwn ? many + sessionsHere(operator.status).length : many
    }
  }
  return [...new Set([...seen.keys(), ...facts.keys()])].toSorted().map(row)
}

export const clusterHeader = ["NAME", "READY", "ROLE", "AUTH", "EXPIRES", "VERSION", "SESSIONS", "REASON"] as const

/** A row as cells, in the order of {@link clusterHeader}. */
export const clusterCells = (
  { auth, expiresAt, name, ready, reason, role, sessions, version }: ClusterRow,
  now: number
): ReadonlyArray<string> => [
  name,
  ready ? "True" : "False",
  role ?? "",
  auth ?? "",
  expiresAt === undefined ? "" : expiresAt <= now ? "ended" : `in ${spanText(expiresAt - now)}`,
  version ?? "",
  String(sessions),
  reason ?? ""
]
