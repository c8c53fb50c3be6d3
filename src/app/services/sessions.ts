/**
 * The sessions that users see and may stop, of all capabilities that have sessions: a capability provides those before
 * it with its own.
 */

import { Context, type Effect } from "effect"
import type { ObjectMeta } from "../../domain/resources/object-meta.ts"
import type { ResourceDescriptor } from "../../domain/resources/resource-descriptor.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { SessionInfo } from "../../domain/resources/session.ts"
import type { AuditedSession } from "../../domain/sessions/session-act.ts"
import type { SessionId } from "../../domain/sessions/session-id.ts"
import type { SeenSession } from "../../domain/usage/seen-session.ts"
import type { KubeError } from "../../ports/kube-api.ts"
import type { StoppedLedger } from "../kernel/stopped-ledger.ts"

/** A session that users see in lists and may stop. */
export interface ServedSession {
  readonly resource: ResourceDescriptor<unknown>
  readonly metadata: ObjectMeta
  readonly namespace: string
  readonly owner: SessionOwner
  readonly info: (now: number) => SessionInfo
  /** Whether it was started in a CI run. */
  readonly isOfCi: boolean
  /** The record of its use; `undefined` if its object does not say when it began. */
  readonly use: () => SeenSession | undefined
  /** Whether it has no client now. */
  readonly isInactive: (now: number) => boolean
  /** The session's part of the audit line when it is stopped. */
  readonly audited: AuditedSession
}

/** A session that users see here and that another operator serves. */
export interface DistantSession extends Pick<
  ServedSession,
  "metadata" | "namespace" | "owner" | "info" | "isOfCi" | "audited"
> {
  /** Asks that operator to stop it; missing where it has to be stopped there. */
  readonly stop?: Effect.Effect<void, KubeError>
  /** Ends this cluster's part of it if its namespace is being deleted; the result is whether that is so. */
  readonly endWithNamespace?: Effect.Effect<boolean, KubeError>
}

/** Sessions of one sort. */
export interface ServedSessions {
  readonly all: () => ReadonlyArray<ServedSession>
  /** Name of the object of the session with this id. */
  readonly nameOf: (id: SessionId) => string
  /** The session whose object has this name. */
  readonly find: (name: string) => ServedSession | undefined
  /** Which of them were stopped, and stay so. */
  readonly stopped: StoppedLedger
}

export class Sessions extends Context.Service<
  Sessions,
  {
    /** By their sort. Those of one cluster come before those over many. */
    readonly served: ReadonlyArray<ServedSessions>
    /** Those that other operators serve. A session that this operator serves as well may be among them. */
    readonly distant: () => ReadonlyArray<DistantSession>
  }
>()("braid/app/Sessions") {}
