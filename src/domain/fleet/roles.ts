/**
 * The role of an operator, and the clusters in which its sessions run, both from its configuration.
 *
 * Not here: the state of these clusters (health.ts).
 */

import * as Order from "effect/Order"
import type { ClusterName } from "./cluster-name.ts"
import type { FleetConfiguration, MemberConfiguration } from "./configuration.ts"

/**
 * The part that an operator plays. There is no "member": every operator has a member's abilities, and nothing in its
 * configuration says that they are used (published-chart.md §2.1), so a member's role is `Single`.
 */
export type Role =
  | { readonly _tag: "Single" }
  | {
      readonly _tag: "Primary"
      /** Runs no workloads itself, so it starts no agents. */
      readonly managementOnly: boolean
      /** Serves the stateful operations itself. */
      readonly isDefault: boolean
    }

/** The role by configuration: without the primary's file an operator is `Single`. */
export const roleOf = (fleet: FleetConfiguration | undefined): Role =>
  fleet === undefined
    ? { _tag: "Single" }
    : { _tag: "Primary", managementOnly: fleet.managementOnly, isDefault: fleet.defaultCluster === fleet.clusterName }

/** One cluster in which sessions run. */
export interface WorkloadCluster {
  readonly name: ClusterName
  readonly isDefault: boolean
  /** How to reach the cluster; missing for the primary itself, which is reached with the operator's own identity. */
  readonly member: MemberConfiguration | undefined
}

/**
 * Where sessions of this primary run: every member, and the primary itself unless it is management-only. Sorted by
 * name.
 */
export const workloadClusters = (fleet: FleetConfiguration): ReadonlyArray<WorkloadCluster> => {
  const own = fleet.managementOnly ? [] : [{ name: fleet.clusterName, member: undefined }]
  return [...own, ...fleet.members.map((member) => ({ name: member.name, member }))]
    .map(({ name, member }) => ({ name, isDefault: name === fleet.defaultCluster, member }))
    .sort(Order.mapInput(Order.String, ({ name }) => name))
}

/** Why this primary cannot serve any session, one sentence each, for `/readyz`. Empty: it can. */
export const fleetProblems = (fleet: FleetConfiguration): ReadonlyArray<string> => {
  if (workloadClusters(fleet).length === 0) {
    return ["No cluster is configured: this primary is management-only and operator.multiCluster.clusters is empty."]
  }
  if (fleet.defaultCluster === undefined) {
    return ["No default cluster is configured: set operator.multiCluster.defaultCluster, or isDefault at one cluster."]
  }
  return []
}
