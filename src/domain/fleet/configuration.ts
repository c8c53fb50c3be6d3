/**
 * The configuration of a primary and its fleet, as it was read from the files.
 *
 * Not here: reading it (parse-configuration.ts, parse-members.ts), and the role that follows from it (roles.ts).
 */

import type { ClusterName } from "./cluster-name.ts"
import type { ClusterAuth } from "./credentials/cluster-auth.ts"

/** One member as configured (an entry of `clusters-config.yaml`, published-chart.md §2.4). */
export interface MemberConfiguration {
  readonly name: ClusterName
  /** URL of the API server, as written; `undefined` for a cluster that dials out. */
  readonly server: string | undefined
  /** Namespace of the operator in that cluster, when configured. */
  readonly namespace: string | undefined
  /** PEM of the API server's CA; without it the system's roots are used. */
  readonly certificateAuthority: string | undefined
  readonly auth: ClusterAuth
  /**
   * Problems of this cluster alone, one sentence each: the operator starts, and reports the cluster as an error with
   * these texts instead of connecting.
   */
  readonly problems: ReadonlyArray<string>
}

/** Whether a cluster's operator dials this one, because its API server cannot be reached. */
export const isOutbound = ({ auth }: MemberConfiguration): boolean => auth._tag === "Outbound"

/**
 * When a session counts as started: with the default cluster and all others that are ready by then, or with every
 * member.
 */
export type SessionStart = "default" | "all"

/** Times of a session, in seconds. */
export interface SessionTimes {
  /** How long a session may take to become ready. */
  readonly remoteSessionTimeoutSecs: number
  /** How long a session lives without any client. */
  readonly sessionTtlSecs: number
}

/** The published defaults (`values.yaml`, published-chart.md §2.2). */
export const defaultSessionTimes: SessionTimes = { remoteSessionTimeoutSecs: 300, sessionTtlSecs: 60 }

/** A primary's whole fleet, as configured. */
export interface FleetConfiguration extends SessionTimes {
  /** Name of the cluster that this operator runs in. */
  readonly clusterName: ClusterName
  /** Whether this cluster runs no workloads. */
  readonly managementOnly: boolean
  /** Cluster for stateful operations; missing when the configuration names none, which `/readyz` reports. */
  readonly defaultCluster: ClusterName | undefined
  readonly sessionStart: SessionStart
  /** Sorted by name. The primary is not among them. */
  readonly members: ReadonlyArray<MemberConfiguration>
}

/** A mistake that keeps the operator from starting. */
export interface ConfigurationMistake {
  /** `multicluster-config.yaml` or `clusters-config.yaml`. */
  readonly file: string
  /** Like `clusters[2].authType`; empty for the file as a whole. */
  readonly field: string
  /** The value that was found, shortened; never a credential. */
  readonly value: string
  readonly cure: string
  /** All of it as one sentence. */
  readonly message: string
}
