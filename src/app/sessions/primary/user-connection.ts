/**
 * One connection of a user to a session over many clusters, in its two states: asked for, and linked to members. Types
 * only; `primary-sessions.ts` makes such connections, `serve-user.ts` serves them.
 */

import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import type { MemberName } from "../../../domain/relay/member.ts"
import type { MirrordMultiClusterSession } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import type { SessionOwner } from "../../../domain/resources/session-shapes.ts"
import type { ConnectParams } from "../../../domain/sessions/connect-request.ts"
import type { SessionId } from "../../../domain/sessions/session-id.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import type { askedBy } from "../../api/asked-by.ts"
import type { ConnectRequest } from "../../api/operator-facade.ts"
import type { FleetCluster } from "../../fleet/fleet-cluster.ts"
import type { Fleet } from "../../fleet/fleet.ts"
import type { SessionNotifier } from "../../kernel/session-notifier.ts"
import type { StoppedLedger } from "../../kernel/stopped-ledger.ts"
import type { Interceptions } from "../../relay/interceptions.ts"
import type { SessionLocks, SessionLockTable } from "../../relay/session-locks.ts"
import type { AskLimits, HeldLimits } from "../../services/session-limits.ts"
import type { SessionEnds } from "../session-ends.ts"
import type { SocketRegistry } from "../socket-registry.ts"
import type { SessionManager } from "./multi-cluster-session-manager.ts"

export interface PrimarySessionsOptions {
  readonly ownApi: KubeApi
  readonly clusterName: ClusterName
  readonly defaultCluster: ClusterName | undefined
  readonly manager: SessionManager
  readonly fleet: Fleet
  readonly sockets: SocketRegistry
  readonly locks: SessionLockTable
  readonly notifier: SessionNotifier
  readonly ends: SessionEnds
  readonly stopped: StoppedLedger
  readonly remoteSessionTimeoutSecs: number
  /** Asks for the limits that this cluster sets for whole sessions. */
  readonly limits: AskLimits
  readonly interceptions: Interceptions
  /** Whether stolen requests get a header with the key of their session. */
  readonly addsSessionKey: boolean
}

/** A connection that a user has asked for. */
export interface UserConnection {
  readonly request: ConnectRequest
  readonly id: SessionId
  /** Name of the session's parent. */
  readonly name: string
  readonly owner: SessionOwner
  readonly params: ConnectParams
  /** The caller, as the audit log describes it. */
  readonly asked: ReturnType<typeof askedBy>
  /** The cluster that each link leads to, as it was in the fleet then. */
  readonly leadsTo: WeakMap<FrameChannel, FleetCluster>
}

/** A connection that can be served. */
export interface LinkedConnection extends UserConnection {
  /** The parent as it was when its default cluster was linked. */
  readonly parent: MirrordMultiClusterSession
  readonly defaultCluster: ClusterName
  /** Links to members that were ready, the default among them. */
  readonly connected: ReadonlyMap<MemberName, FrameChannel>
  /** Whether the status said, when the client came, that a client had been connected. Two at once may both see none. */
  readonly wasServed: boolean
  readonly locks: SessionLocks
  /** The limits for the session as a whole; each member has its own for what happens there. */
  readonly limits: HeldLimits
  /** Sentences for the user about members that refuse the session. */
  readonly refusals: ReadonlyArray<string>
  /** Whether the client has connected again since. */
  readonly hasYounger: () => boolean
  /** The connect, in its trace. */
  readonly traceparent?: string | undefined
}
