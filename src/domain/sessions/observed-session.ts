/**
 * Everything from which a primary decides about one multi-cluster session, as plain data.
 *
 * Not here: observing it (app/sessions/primary), and the decision (session-plan.ts).
 */

import type { ClusterName, Sha256Hex } from "../fleet/cluster-name.ts"
import type { SessionStart, SessionTimes } from "../fleet/configuration.ts"
import type { MirrordMultiClusterSession } from "../resources/mirrord-multi-cluster-session.ts"
import type { ChildObservation } from "./child-observation.ts"
import type { SocketPresence } from "./liveness.ts"

/** Whether a cluster can be worked with, as the fleet sees it. */
export interface ClusterReach {
  readonly reachable: boolean
  /** Whether that is a guess: it is not known yet how the cluster is. */
  readonly isConnecting?: true
  /** Why not, one sentence. */
  readonly error: string | undefined
  /** When the check that says so began, epoch ms; missing where no check was needed. */
  readonly askedAt?: number
}

/** Settings of sessions, from the fleet's configuration and the operator's environment. */
export interface SessionSettings extends SessionTimes {
  readonly sessionStart: SessionStart
  /** The longest time of a session, in seconds; `undefined` if there is no bound. */
  readonly maxSessionSecs?: number | undefined
  /** The primary's identity towards members; `undefined` if it cannot be read. */
  readonly primaryUid?: string | undefined
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
   * When this process first saw the parent, by its own clock, since the clocks of hosts differ (failures.md §4.12). A
   * parent from before this process counts as a moment older than {@link leaderSince}.
   */
  readonly createdSeenAt: number
  /** When this process first saw that the parent is being deleted, if it is. */
  readonly deletedSeenAt: number | undefined
  /** When this process first saw that the session has failed, if it has. */
  readonly failedSeenAt: number | undefined
  /** When this process became leader and could write. */
  readonly leaderSince: number
  /** The client's sockets at this replica. */
  readonly sockets: SocketPresence
  /**
   * When this process last saw `connectedTimestamp` change, if it did. It replaces the timestamp itself, which another
   * host's clock wrote.
   */
  readonly heartbeatSeenAt: number | undefined
  /** Names of this parent's children that the ledger of debts holds. */
  readonly debts: ReadonlySet<string>
  readonly sha256Hex: Sha256Hex
}
