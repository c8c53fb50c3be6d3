import type { ClusterName, Sha256Hex } from "../fleet/cluster-name.ts"
import type { SessionStart, SessionTimes } from "../fleet/configuration.ts"
import type { MirrordMultiClusterSession } from "../resources/mirrord-multi-cluster-session.ts"
import type { ChildObservation } from "./child-observation.ts"
import type { SocketPresence } from "./liveness.ts"

/** Whether a cluster can be worked with, as the fleet sees it. */
export interface ClusterReach {
  readonly reachable: boolean
  /** Why not, one sentence. */
  readonly error: string | undefined
  /** When the look at it was begun that says so, epoch ms; nothing where it is known without one. */
  readonly askedAt?: number
}

/** Settings of sessions, from the fleet's configuration. */
export interface SessionSettings extends SessionTimes {
  readonly sessionStart: SessionStart
}

/** Everything from which the next step of one multi-cluster session is decided. Times are epoch ms. */
export interface ObservedSession {
  /** The parent, or nothing when there is none. */
  readonly parent: MirrordMultiClusterSession | undefined
  /** By cluster; a cluster that is missing here has not been looked at. */
  readonly children: ReadonlyMap<ClusterName, ChildObservation>
  readonly fleet: {
    /** Used where the parent's spec names no default cluster. */
    readonly defaultCluster: ClusterName | undefined
    /** Every configured workload cluster; one that is missing here is no longer configured. */
    readonly clusters: ReadonlyMap<ClusterName, ClusterReach>
  }
  readonly settings: SessionSettings
  /**
   * When this process saw the parent first, by its own clock: those of hosts differ (failures.md §4.12). A parent that
   * was there before it counts as a moment older than {@link leaderSince}.
   */
  readonly createdSeenAt: number
  /** When this process saw first that the parent is being deleted, if it is. */
  readonly deletedSeenAt: number | undefined
  /** When this process saw first that the session has failed, if it has. */
  readonly failedSeenAt: number | undefined
  /** When this process became leader and could write. */
  readonly leaderSince: number
  /** The client's sockets at this replica. */
  readonly sockets: SocketPresence
  /**
   * When this process saw `connectedTimestamp` change last, where it knows; takes the place of the timestamp's own
   * value.
   */
  readonly heartbeatSeenAt: number | undefined
  /** Names of this parent's children that the ledger of debts holds. */
  readonly debts: ReadonlySet<string>
  readonly sha256Hex: Sha256Hex
}
