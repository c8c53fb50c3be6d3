/**
 * The ClusterSession controller of every workload cluster: resolves a session's target, starts agents next to it,
 * reports when they are usable, and ends a session that no client uses. Puts the controller together and listens to the
 * cache; `domain/sessions/child-plan.ts` decides.
 */

import { Clock, Effect, FiberMap, type Scope } from "effect"
import {
  mirrordClusterSessions,
  type MirrordClusterSession
} from "../../../domain/resources/mirrord-cluster-session.ts"
import { isBeingDeleted } from "../../../domain/resources/object-meta.ts"
import {
  type AgentObservation,
  type ChildAction,
  childPlan,
  type ObservedChild
} from "../../../domain/sessions/child-plan.ts"
import { heartbeat, lastHeartbeat } from "../../../domain/sessions/heartbeat.ts"
import { Agents } from "../../../ports/agents.ts"
import type { KubeError, KubeObject } from "../../../ports/kube-api.ts"
import type { Controller } from "../../kernel/controller.ts"
import { isHeartbeatOnly } from "../../kernel/heartbeat-only.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { logWarning } from "../../kernel/log.ts"
import { patchStatus } from "../../kernel/mirrored-object.ts"
import { type Heartbeat, makePlannedController, type PlannedTurns } from "../../kernel/planned-controller.ts"
import { readHeartbeat } from "../../kernel/read-cached.ts"
import type { Reflector } from "../../kernel/reflector.ts"
import { retryingApi } from "../../kernel/retrying-api.ts"
import { SessionSightings } from "../session-sightings.ts"
import { makeAgentWatches } from "./agent-watch.ts"
import { endWithNamespace } from "./end-with-namespace.ts"
import { performChildAction } from "./perform-child-action.ts"
import {
  type ChildTurn,
  type ClusterSessionOptions,
  type ClusterSessionState,
  forgetSession,
  release,
  type SessionAgent,
  type SessionClient,
  sessionChanged,
  type SessionState,
  stateOf
} from "./session-state.ts"
import { makeTargetPods } from "./target-pods.ts"
import type { Placements } from "./target-resolver.ts"

export type { ClusterSessionOptions, SessionAgent } from "./session-state.ts"

export interface ClusterSessionController extends Controller {
  /** Plans a session again of which something beside its object has changed, and wakes its waiters. */
  readonly changed: (name: string) => void
  readonly sessions: Reflector
  readonly session: (name: string) => MirrordClusterSession | undefined
  /** Whether the part of a session over many clusters has ended here with its namespace. */
  readonly hasLeft: (name: string) => boolean
  /** Ends such a part if its namespace is being deleted; the result is whether that is so. */
  readonly endWithNamespace: (session: MirrordClusterSession) => Effect.Effect<boolean, KubeError>
  /** Whether a session has no client now. */
  readonly isInactive: (session: MirrordClusterSession, now: number) => boolean
  /** The agents of a session that is ready; the first is the representative. */
  readonly agents: (name: string) => ReadonlyArray<SessionAgent>
  /** Notes the representative's pod that a client attaches to, and gives that of the attachment before. */
  readonly attaching: (name: string, pod: string) => string | undefined
  /** Asks a client about pods that would join its session, for as long as the scope lives. */
  readonly consult: (name: string, client: SessionClient) => Effect.Effect<void, never, Scope.Scope>
}

/** Handles a change in the cache of sessions. */
const childChanged = (
  state: ClusterSessionState,
  object: KubeObject,
  deleted: boolean,
  before: KubeObject | undefined
): void => {
  const { clock, controller, sightings } = state
  const now = clock.currentTimeMillisUnsafe()
  if (!deleted) sightings.saw(object, !controller.cache.synced(), now)
  if (deleted || !isHeartbeatOnly(before, object)) return sessionChanged(state, object.metadata.name, object)
  readHeartbeat(mirrordClusterSessions, before, object)
  sightings.sawHeartbeat(object, now)
}

/** The heartbeat for the clients' sockets at this replica. */
const childHeartbeat = (state: ClusterSessionState, { key, known, now, view }: ChildTurn): Heartbeat => {
  const { controller, options, sightings } = state
  const last = lastHeartbeat(sightings.lastWritten(key), {
    createdSeenAt: sightings.seen(key).created,
    isStarting: known.agent._tag !== "Ready"
  })
  const presence = options.sockets.presence(key)
  const { nextAt, write } = heartbeat(presence, last, now)
  if (!write) return { write: undefined, nextAt }
  const written = Effect.suspend(() => {
    const status = { connectedTimestamp: sightings.write(key, presence, now) }
    return patchStatus(controller.place(key), { metadata: { uid: view.metadata.uid }, status })
  })
  return { write: written, nextAt }
}

/** How far the agents are, and whether the representative answers. */
const observedAgent = ({ agent, agents }: SessionState): AgentObservation => {
  const [representative] = agents
  const isSilent = representative !== undefined && representative.hold.health()._tag !== "Serving"
  return agent._tag === "Ready" && isSilent ? { ...agent, silent: representative.handle.name } : agent
}

/** Everything from which the next step of one session is decided. */
const observedChild = (
  { operatorSince, options, sightings }: ClusterSessionState,
  { key, known, now, view }: ChildTurn
): ObservedChild<Placements> => ({
  pods: known.pods,
  podsChangedAt: known.podsChangedAt,
  podlessMillis: options.podlessMillis,
  child: view,
  admission: known.admission,
  createdSeenAt: sightings.seen(key).created,
  target: known.target,
  agent: observedAgent(known),
  sockets: options.sockets.presence(key),
  heartbeatSeenAt: sightings.heartbeatSeen(key, view.status?.connectedTimestamp, now),
  operatorSince,
  defaults: options.defaults,
  maxSessionSecs: options.maxSessionSecs,
  requirements: options.requirements(view)
})

const turnsOf = (
  state: ClusterSessionState
): PlannedTurns<
  MirrordClusterSession,
  SessionState,
  ObservedChild<Placements>,
  Exclude<ChildAction<Placements>, { readonly _tag: "RequeueAt" }>
> => ({
  changed: (object, deleted, before) => childChanged(state, object, deleted, before),
  forget: (name) => forgetSession(state, name),
  unreadable: (name, problem) => logWarning("session ignored", { session: name, problem }),
  isOver: ({ metadata }) => isBeingDeleted(metadata),
  known: (name, session) => stateOf(state, name, session),
  heartbeat: (turn) => childHeartbeat(state, turn),
  observe: (turn) => observedChild(state, turn),
  plan: childPlan,
  perform: (turn, action) => performChildAction(state, turn, action),
  order: "InOrder"
})

export const makeClusterSessionController = Effect.fnUntraced(function* (
  options: ClusterSessionOptions
): Effect.fn.Return<ClusterSessionController, never, Agents | Scope.Scope> {
  const agents = yield* Agents
  const operatorSince = yield* Clock.currentTimeMillis
  const tasks = yield* FiberMap.make<string>()
  const sessions = new Map<string, SessionState>()
  const known = {
    options,
    agents,
    watches: yield* makeAgentWatches(agents),
    targetPods: yield* makeTargetPods(options.api),
    retryingApi: retryingApi(options.api),
    operatorSince,
    sightings: new SessionSightings(operatorSince),
    sessions,
    tasks,
    run: yield* FiberMap.runtime(tasks)<never>(),
    clock: yield* Clock.Clock
  } satisfies Omit<ClusterSessionState, "controller">
  yield* countHolding("followed sessions", () => Math.max(known.sightings.size, sessions.size))
  yield* countHolding("connections that keep agents", () =>
    [...sessions.values()].reduce((sum, session) => sum + session.agents.length, 0)
  )
  yield* Effect.addFinalizer(() => Effect.sync(() => sessions.forEach(release)))
  const controller = yield* makePlannedController(
    { name: "ClusterSession", api: options.api, resource: mirrordClusterSessions },
    (self) => turnsOf({ ...known, controller: self })
  )
  return {
    hasLeft: (name) => sessions.get(name)?.hasLeft === true,
    endWithNamespace: (session) => endWithNamespace({ ...known, controller }, session),
    enqueue: controller.enqueue,
    changed: (name) => sessionChanged({ ...known, controller }, name),
    sessions: controller.cache,
    session: controller.view,
    isInactive: ({ metadata: { name }, status }, now) =>
      known.sightings.isInactive(name, status?.connectedTimestamp, options.sockets.presence(name), now),
    agents: (name) => sessions.get(name)?.agents ?? [],
    attaching: (name, pod) => {
      const session = sessions.get(name)
      const before = session?.servedBy
      if (session !== undefined) session.servedBy = pod
      return before
    },
    consult: (name, client) =>
      Effect.acquireRelease(
        Effect.sync(() => sessions.get(name)?.clients.add(client)),
        (clients) => Effect.sync(() => clients?.delete(client))
      )
  }
})
