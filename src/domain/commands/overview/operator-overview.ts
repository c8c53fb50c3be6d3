/**
 * The content of `braid status`: the operator and the clusters of its fleet, as data and as tables.
 *
 * Not here: reading the operator's object.
 */

import { spanText } from "../../fleet/credentials/validity.ts"
import { endingCredentials, type MirrordOperator, refusedConfiguration } from "../../resources/mirrord-operator.ts"
import { timeOf } from "../../resources/object-meta.ts"
import { sessionsHere } from "./sessions-here.ts"
import { textTable } from "./text-table.ts"

/** A cluster of a primary's fleet, as its operator sees it. */
export interface FleetRow {
  readonly name: string
  readonly state: "connected" | "error"
  /** Version of the cluster's operator. */
  readonly version: string | undefined
  /** When the cluster was last asked, epoch ms. */
  readonly checkedAt: number | undefined
  readonly reason: string | undefined
}

/** The content of `braid status`; docs/operating/commands.md describes its JSON. */
export interface OperatorOverview {
  readonly version: string
  readonly protocolVersion: string | undefined
  readonly isPrimary: boolean
  /** Whether primaries may use the cluster. */
  readonly isMember: boolean
  /** Sessions over many clusters, and sessions of this cluster alone. */
  readonly sessions: { readonly multiCluster: number; readonly here: number }
  /** The clusters of a primary; empty for other operators. */
  readonly clusters: ReadonlyArray<FleetRow>
  /** Why a primary does not use its changed configuration; `undefined` if it does. */
  readonly refusedConfiguration: string | undefined
  /** Which credentials for clusters end soon and are not renewed. */
  readonly endingCredentials: string | undefined
}

/** The overview that the operator's object gives. */
export const operatorOverview = ({ spec, status }: MirrordOperator): OperatorOverview => ({
  version: spec.operator_version,
  protocolVersion: spec.protocol_version ?? undefined,
  isPrimary: (spec.supported_features ?? []).includes("MultiClusterPrimary"),
  isMember: spec.multi_cluster_member ?? false,
  sessions: { multiCluster: status?.multi_cluster_sessions?.length ?? 0, here: sessionsHere(status).length },
  clusters: (status?.connected_clusters ?? [])
    .map((cluster): FleetRow => {
      const base = { name: cluster.name, checkedAt: timeOf(cluster.lastCheck) }
      return "connected" in cluster
        ? { ...base, state: "connected", version: cluster.connected.operatorVersion, reason: undefined }
        : { ...base, state: "error", version: undefined, reason: cluster.error.message }
    })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  refusedConfiguration: refusedConfiguration(status),
  endingCredentials: endingCredentials(status)
})

/** The part that an operator has in a fleet. */
const partOf = ({ isMember, isPrimary }: OperatorOverview): string => {
  if (isPrimary) return "primary"
  return isMember ? "member" : "one cluster"
}

/** The overview for a person. */
export const overviewLines = (overview: OperatorOverview, now: number): ReadonlyArray<string> => {
  const { clusters, endingCredentials: ending, isPrimary, protocolVersion, sessions, version } = overview
  const { refusedConfiguration: refused } = overview
  return [
    ...textTable([
      ["OPERATOR", "PROTOCOL", "PART", "SESSIONS"],
      [version, protocolVersion ?? "", partOf(overview), String(sessions.multiCluster + sessions.here)]
    ]),
    ...(isPrimary
      ? [
          "",
          ...textTable([
            ["CLUSTER", "STATE", "OPERATOR", "CHECKED", "REASON"],
            ...clusters.map(({ checkedAt, name, reason, state, version: theirs }) => [
              name,
              state,
              theirs ?? "",
              checkedAt === undefined ? "" : `${spanText(now - checkedAt)} ago`,
              reason ?? ""
            ])
          ])
        ]
      : []),
    ...(ending === undefined ? [] : ["", ending]),
    ...(refused === undefined ? [] : ["", `The changed configuration is not used, the last good one stays: ${refused}`])
  ]
}
