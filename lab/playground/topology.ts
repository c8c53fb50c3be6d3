/** The clusters of a playground and their roles, as data. */

export type TopologyName = "management" | "three-workloads" | "primary-default" | "outbound"

export interface PlaygroundCluster {
  readonly name: string
  readonly isPrimary: boolean
  readonly isDefault: boolean
  /** Whether the demo workload runs in the cluster. */
  readonly hasWorkload: boolean
  /** Whether its operator dials the primary, which has neither its address nor credentials. */
  readonly dialsOut: boolean
  /** Second octet of the cluster's pod addresses, 127.<subnet>.0.0/16. */
  readonly subnet: number
}

export interface Topology {
  readonly name: TopologyName
  readonly managementOnly: boolean
  readonly clusters: ReadonlyArray<PlaygroundCluster>
}

const cluster = (name: string, subnet: number, roles: Partial<PlaygroundCluster> = {}): PlaygroundCluster => ({
  name,
  subnet,
  isPrimary: false,
  isDefault: false,
  hasWorkload: true,
  dialsOut: false,
  ...roles
})

/**
 * `management`: a primary that only manages, and two workload clusters, as in the step-by-step example. `outbound`: the
 * same, but cluster-b dials the primary. `three-workloads`: the same with a third workload cluster. `primary-default`:
 * the primary is itself the default, and one of two workload clusters. `subnet` is the first of three subnets, of four
 * with three workload clusters.
 */
export const topology = (name: TopologyName, subnet: number): Topology =>
  name === "primary-default"
    ? {
        name,
        managementOnly: false,
        clusters: [cluster("cluster-a", subnet, { isPrimary: true, isDefault: true }), cluster("cluster-b", subnet + 1)]
      }
    : {
        name,
        managementOnly: true,
        clusters: [
          cluster("primary", subnet, { isPrimary: true, hasWorkload: false }),
          cluster("cluster-a", subnet + 1, { isDefault: true }),
          cluster("cluster-b", subnet + 2, { dialsOut: name === "outbound" }),
          ...(name === "three-workloads" ? [cluster("cluster-c", subnet + 3)] : [])
        ]
      }
