/**
 * The shape of everything that the operator can do beyond answering its API: sessions in this cluster, sessions over
 * many clusters, and what comes next. Each capability is a folder of its own and one line in operator/capabilities.ts;
 * the operator asks all of them in turn and knows none by name.
 */

import type { Effect, Scope } from "effect"
import type { MirrordClusterSession } from "../../domain/resources/mirrord-cluster-session.ts"
import type { Feature, MirrordOperatorStatus } from "../../domain/resources/mirrord-operator.ts"
import type { ObjectMeta } from "../../domain/resources/object-meta.ts"
import type { ResourceDescriptor } from "../../domain/resources/resource-descriptor.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { SessionInfo } from "../../domain/resources/session.ts"
import type { ConnectParams } from "../../domain/session/connect-request.ts"
import type { ConnectRoute } from "../../domain/session/connect-route.ts"
import type { Requirement } from "../../domain/session/requirement.ts"
import type { AuditedSession } from "../../domain/session/session-act.ts"
import type { SessionId } from "../../domain/session/session-id.ts"
import type { Change } from "../kernel/change-feed.ts"
import type { AcceptedConnection, ConnectRequest } from "./operator-facade.ts"
import type { ApiError } from "./status.ts"

/** A connect request that could be read. */
interface Attempt {
  readonly request: ConnectRequest
  readonly id: SessionId
  readonly params: ConnectParams
}

/** A connect request by its sort: who connects, and to what. */
export type ConnectAttempt =
  /** Somebody without a user certificate links to a child: the operator of a primary. */
  | (Attempt & { readonly _tag: "Child" })
  /** A user, by a verified certificate. */
  | (Attempt & { readonly _tag: ConnectRoute; readonly owner: SessionOwner })

/** A session that users see in lists and may stop. */
export interface ServedSession {
  readonly resource: ResourceDescriptor<unknown>
  readonly metadata: ObjectMeta
  readonly namespace: string
  readonly info: (now: number) => SessionInfo
  /** For the line of the log when it is stopped. */
  readonly audited: AuditedSession
}

/** Sessions of one sort. */
export interface ServedSessions {
  readonly all: () => ReadonlyArray<ServedSession>
  readonly find: (id: SessionId) => ServedSession | undefined
}

/** Every field is a question of the operator's; a capability has those that concern it. Times are epoch ms. */
export interface Capability {
  /** Tells clients what they may ask for. */
  readonly features?: ReadonlyArray<Feature>
  /** Why sessions cannot be served at the moment, one sentence each; every connect is refused with them. */
  readonly problems?: () => ReadonlyArray<string>
  /** Opens when it has read what it serves from. A connect waits for it, for a moment. */
  readonly started?: Effect.Effect<void>
  /** Adds to the status of the `MirrordOperator` object. */
  readonly status?: (now: number) => Partial<MirrordOperatorStatus>
  readonly sessions?: ServedSessions
  /** Hears of what its sessions are planned from. */
  readonly hear?: (change: Change) => void
  /** Must be met before a session in this cluster is ready. Once it changes, `ChildChanged` is to be published. */
  readonly requirement?: (session: MirrordClusterSession) => Requirement
  /** Refuses a connect that it knows to be impossible, such as one whose parameters need what is not there. */
  readonly admit?: (attempt: ConnectAttempt) => Effect.Effect<void, ApiError>
  /** Serves the attempts that are its own; `undefined`: it is not. */
  readonly attach?: (attempt: ConnectAttempt) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope> | undefined
}
