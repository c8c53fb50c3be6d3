/**
 * The shape of everything that the operator can do beyond answering its API: sessions in this cluster, sessions over
 * many clusters, and what comes next. Each capability is a layer in a folder of its own and one line in
 * operator/capabilities.ts; the operator asks all of them in turn and knows none by name.
 *
 * Not here: what one capability needs of another. Each such need is a service of this room, which the other's layer
 * provides.
 */

import { Context, Effect, type Scope } from "effect"
import type { MirrordClusterSession } from "../../domain/resources/mirrord-cluster-session.ts"
import type { Feature, MirrordOperatorStatus } from "../../domain/resources/mirrord-operator.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { ConnectParams } from "../../domain/sessions/connect-request.ts"
import type { ConnectRoute } from "../../domain/sessions/connect-route.ts"
import type { Requirement } from "../../domain/sessions/requirement.ts"
import type { SessionId } from "../../domain/sessions/session-id.ts"
import type { AcceptedConnection, ConnectRequest } from "../api/operator-facade.ts"
import type { ApiError } from "../api/status.ts"
import { type Change, Changes } from "../kernel/change-feed.ts"

/** A connect request that could be read. */
interface Attempt {
  readonly request: ConnectRequest
  readonly id: SessionId
  readonly params: ConnectParams
}

/** A connect request by its sort: the client, and the kind of session that it connects to. */
export type ConnectAttempt =
  /** A client without a user certificate links to a child: the operator of a primary. */
  | (Attempt & { readonly _tag: "Child" })
  /** A user connects, with a verified certificate. */
  | (Attempt & { readonly _tag: ConnectRoute; readonly owner: SessionOwner })

/** The status of the `MirrordOperator` object without sessions and statistics, which the operator makes by itself. */
export type FurtherStatus = Omit<Partial<MirrordOperatorStatus>, "sessions" | "statistics">

/**
 * The questions that the operator asks each capability; a capability answers those that concern it. Times are epoch ms.
 */
export interface Capability {
  /** Features that clients may ask for. */
  readonly features?: () => ReadonlyArray<Feature>
  /** The reasons why sessions cannot be served at the moment, one sentence each; every connect is refused with them. */
  readonly problems?: () => ReadonlyArray<string>
  /** Completes when the capability has read what it serves from. A connect waits for it, for a moment. */
  readonly started?: Effect.Effect<void>
  /** The capability's part of the status of the `MirrordOperator` object. */
  readonly status?: (now: number) => FurtherStatus
  /** Takes a change from which its sessions are planned. */
  readonly hear?: (change: Change) => void
  /**
   * A requirement that must be met before a session in this cluster is ready. When it changes, the capability publishes
   * `ChildChanged`.
   */
  readonly requirement?: (session: MirrordClusterSession) => Requirement
  /** Refuses a connect that is impossible, such as a connect whose parameters need something that is not there. */
  readonly admit?: (attempt: ConnectAttempt) => Effect.Effect<void, ApiError>
  /** Serves an attempt of the capability's own sort; `undefined` for other attempts. */
  readonly attach?: (attempt: ConnectAttempt) => Effect.Effect<AcceptedConnection, ApiError, Scope.Scope> | undefined
}

/** The capabilities that have been made so far, in the order in which they are asked. Each layer adds its own. */
export class Capabilities extends Context.Service<Capabilities, ReadonlyArray<Capability>>()(
  "braid/app/Capabilities"
) {}

/** Adds a capability to those before it, and subscribes it to changes at once. Its layer provides the result. */
export const withCapability = Effect.fnUntraced(function* (capability: Capability) {
  const earlier = yield* Capabilities
  const changes = yield* Changes
  if (capability.hear !== undefined) changes.subscribe(capability.hear)
  return Context.make(Capabilities, [...earlier, capability])
})
