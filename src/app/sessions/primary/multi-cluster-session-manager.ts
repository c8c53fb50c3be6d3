/**
 * The MultiClusterSessionManager: brings `MirrordMultiClusterSession`s to life and to an end. Puts the controller
 * together and listens to the cache; `domain/sessions/session-plan.ts` decides.
 */

import { Clock, Effect, FiberSet, Result, type Scope } from "effect"
import {
  mirrordMultiClusterSessions,
  type MirrordMultiClusterSession
} from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { isBeingDeleted } from "../../../domain/resources/object-meta.ts"
import { heartbeat, lastHeartbeat } from "../../../domain/sessions/heartbeat.ts"
import type { AuditedSession } from "../../../domain/sessions/session-act.ts"
import type { SessionAction } from "../../../domain/sessions/session-action.ts"
import { plan } from "../../../domain/sessions/session-plan.ts"
import type { KubeObject } from "../../../ports/kube-api.ts"
import { auditedParent } from "../../kernel/audit.ts"
import { makeBackgroundCalls } from "../../kernel/background-calls.ts"
import type { Controller } from "../../kernel/controller.ts"
import { isHeartbeatOnly } from "../../kernel/heartbeat-only.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { logWarning } from "../../kernel/log.ts"
import { patchStatus } from "../../kernel/mirrored-object.ts"
import { type Heartbeat, makePlannedController, type PlannedTurns } from "../../kernel/planned-controller.ts"
import { readCached, readHeartbeat } from "../../kernel/read-cached.ts"
import type { Reflector } from "../../kernel/reflector.ts"
import { SessionSightings } from "../session-sightings.ts"
import { observeSession } from "./observe-session.ts"
import { performSessionAction } from "./perform-session-action.ts"
import {
  answersFor,
  type ChildAnswers,
  followedParents,
  forgetParent,
  type SessionManagerOptions,
  type SessionManagerState,
  type SessionTurn
} from "./session-manager-state.ts"

export type { SessionManagerOptions } from "./session-manager-state.ts"

export interface SessionManager extends Controller {
  readonly parents: Reflector
  /** The parent as last seen; `undefined` if there is none, or if it cannot be read. */
  readonly parent: (name: string) => MirrordMultiClusterSession | undefined
  /** Whether a session has no client now. */
  readonly isInactive: (parent: MirrordMultiClusterSession, now: number) => boolean
  /** Plans every session again. */
  readonly enqueueAll: () => void
}

/** The audit log's description of a parent, readable or not. */
const auditedObject = (object: KubeObject): AuditedSession => {
  const { name } = object.metadata
  const read = readCached(mirrordMultiClusterSessions, object)
  return Result.isSuccess(read) ? auditedParent(name, read.success.spec) : { session: name }
}

/** Handles a change in the cache of parents. */
const parentChanged = (
  { clock, controller, options: { notifier, ends }, run, sightings }: SessionManagerState,
  object: KubeObject,
  deleted: boolean,
  before: KubeObject | undefined
): void => {
  const now = clock.currentTimeMillisUnsafe()
  const { metadata } = object
  if (!deleted) sightings.saw(object, !controller.cache.synced(), now)
  if (!deleted && isHeartbeatOnly(before, object)) {
    readHeartbeat(mirrordMultiClusterSessions, before, object)
    sightings.sawHeartbeat(object, now)
    return
  }
  if (before !== undefined && !isBeingDeleted(before.metadata) && (deleted || isBeingDeleted(metadata)))
    run(ends.seen(metadata, auditedObject(object)))
  controller.enqueue(metadata.name)
  notifier.notify(metadata.name)
}

/** Logs once per parent that it cannot be read; other sessions are not affected. */
const reportUnreadable = ({ unreadable }: SessionManagerState, name: string, problem: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (unreadable.has(name)) return Effect.void
    unreadable.add(name)
    return logWarning("session ignored", { session: name, problem })
  })

/** The heartbeat for the client's sockets at this replica. A parent that is being deleted needs none. */
const parentHeartbeat = (state: SessionManagerState, { key, now, object, view }: SessionTurn): Heartbeat => {
  const { options, sightings } = state
  if ((object.metadata.deletionTimestamp ?? undefined) !== undefined) return { write: undefined, nextAt: undefined }
  const last = lastHeartbeat(sightings.lastWritten(key), {
    createdSeenAt: sightings.seen(key).created,
    isStarting: view.status?.phase !== "Ready"
  })
  const presence = options.sockets.presence(key)
  const { nextAt, write } = heartbeat(presence, last, now)
  if (!write) return { write: undefined, nextAt }
  const written = Effect.suspend(() => {
    const status = { connectedTimestamp: sightings.write(key, presence, now) }
    return patchStatus(state.controller.place(key), { metadata: { uid: object.metadata.uid }, status })
  })
  return { write: written, nextAt }
}

const turnsOf = (
  state: SessionManagerState
): PlannedTurns<
  MirrordMultiClusterSession,
  ChildAnswers,
  Parameters<typeof plan>[0],
  Exclude<SessionAction, { readonly _tag: "RequeueAt" }>
> => ({
  changed: (object, deleted, before) => parentChanged(state, object, deleted, before),
  forget: (name) => Effect.sync(() => forgetParent(state, name)),
  unreadable: (name, problem) => reportUnreadable(state, name, problem),
  isOver: () => false,
  known: (name, { metadata }) =>
    Effect.sync(() => {
      state.unreadable.delete(name)
      return answersFor(state, metadata)
    }),
  heartbeat: (turn) => parentHeartbeat(state, turn),
  observe: (turn) => observeSession(state, turn),
  plan,
  perform: (turn, action) => performSessionAction(state, turn, action),
  order: "AllAtOnce"
})

export const makeSessionManager = Effect.fnUntraced(function* (
  options: SessionManagerOptions
): Effect.fn.Return<SessionManager, never, Scope.Scope> {
  const leaderSince = yield* Clock.currentTimeMillis
  const known = {
    options,
    leaderSince,
    sightings: new SessionSightings(leaderSince),
    answers: new Map(),
    unreadable: new Set<string>(),
    askedForChildren: new Set<string>(),
    calls: yield* makeBackgroundCalls,
    run: yield* FiberSet.makeRuntime<never>(),
    clock: yield* Clock.Clock
  } satisfies Omit<SessionManagerState, "controller">
  yield* countHolding("followed parents", () => followedParents(known))
  yield* countHolding("calls about children", known.calls.underWay)
  const controller = yield* makePlannedController(
    { name: "MultiClusterSessionManager", api: options.ownApi, resource: mirrordMultiClusterSessions },
    (self) => turnsOf({ ...known, controller: self })
  )
  return {
    parents: controller.cache,
    enqueue: controller.enqueue,
    enqueueAll: () => {
      for (const { metadata } of controller.cache.all()) controller.enqueue(metadata.name)
    },
    parent: controller.view,
    isInactive: ({ metadata: { name }, status }, now) =>
      known.sightings.isInactive(name, status?.connectedTimestamp, options.sockets.presence(name), now)
  }
})
