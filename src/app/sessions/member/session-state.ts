import { type Clock, Effect, FiberMap } from "effect"
import type { SessionTimes } from "../../../domain/fleet/configuration.ts"
import {
  mirrordClusterSessions,
  type MirrordClusterSession
} from "../../../domain/resources/mirrord-cluster-session.ts"
import { parentNameOf } from "../../../domain/session/child-owner.ts"
import type { AgentObservation, TargetObservation } from "../../../domain/session/child-plan.ts"
/**
 * What the ClusterSession controller knows of each session beside its object: where its target and its agents stand.
 * State and the few functions that keep it in order; how agents are started stands in `session-agents.ts`.
 */
import type { Requirement } from "../../../domain/session/requirement.ts"
import type { SessionFailure } from "../../../domain/session/session-failure.ts"
import type { AgentHandle, Agents } from "../../../ports/agents.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { auditedChild } from "../../kernel/audit.ts"
import type { EventRecorder } from "../../kernel/event-recorder.ts"
import type { PlannedController, Turn } from "../../kernel/planned-controller.ts"
import type { SessionNotifier } from "../../kernel/session-notifier.ts"
import type { SessionEnds } from "../session-ends.ts"
import type { SessionSightings } from "../session-sightings.ts"
import type { SocketRegistry } from "../socket-registry.ts"
import type { Placements } from "./target-resolver.ts"

export interface ClusterSessionOptions {
  readonly api: KubeApi
  readonly sockets: SocketRegistry
  readonly notifier: SessionNotifier
  readonly ends: SessionEnds
  readonly events: EventRecorder
  readonly defaults: SessionTimes
  /** Needs of other capabilities before a session is ready. */
  readonly requirements: (session: MirrordClusterSession) => ReadonlyArray<Requirement>
}

/** One agent of a session: `pod` names its member in the router, the first one is the representative. */
export interface SessionAgent {
  readonly pod: string
  readonly handle: AgentHandle
}

export interface RunningAgent extends SessionAgent {
  /** The container that it works on; nothing for a targetless one. */
  readonly containerId: string | undefined
  /** An idle connection: an agent without any client exits (agent.md §3.4). */
  readonly hold: FrameChannel
  /** Epoch ms. */
  readonly startedAt: number
}

/** What this process knows of one session beside its object. */
export interface SessionState {
  /** As it was when this process began with it. */
  readonly session: MirrordClusterSession
  target: TargetObservation<Placements>
  agent: AgentObservation
  /** Those whose hold is open; the first is the representative. */
  agents: ReadonlyArray<RunningAgent>
  /** Attempts in a row that failed. */
  failures: number
}

/** What the controller knows of all sessions. */
export interface ClusterSessionState {
  readonly options: ClusterSessionOptions
  /** The sessions as cached, and the way to another turn. */
  readonly controller: PlannedController<MirrordClusterSession>
  readonly agents: Agents["Service"]
  /** `options.api` for what a client waits for: it retries. */
  readonly retryingApi: KubeApi
  /** When this process began to see sockets, epoch ms. */
  readonly operatorSince: number
  readonly sightings: SessionSightings
  /** By name of the session. */
  readonly sessions: Map<string, SessionState>
  /** Starts and refreshes of agents that are under way, by name of the session and by {@link refreshOf} it. */
  readonly tasks: FiberMap.FiberMap<string>
  /** Begins such a task in the place of the one before. */
  readonly run: (task: string, effect: Effect.Effect<void>) => unknown
  readonly clock: Clock.Clock
}

/** One turn about one session. */
export type ChildTurn = Turn<MirrordClusterSession, SessionState>

/** Beside the task of a session's start. No session has a space in its name. */
export const refreshOf = (name: string): string => `refresh ${name}`

/** Closes the idle connections that keep a session's agents. */
export const release = (session: SessionState): void => {
  for (const { hold } of session.agents) hold.close()
  session.agents = []
}

/** Something about a session changed. Links wait for a child by its parent's name. */
export const sessionChanged = (
  { controller, options: { notifier } }: ClusterSessionState,
  name: string,
  object = controller.cache.get(name)
): void => {
  controller.enqueue(name)
  notifier.notify(name)
  const parent = object === undefined ? undefined : parentNameOf(object)
  if (parent !== undefined) notifier.notify(parent)
}

export const forgetSession = (
  { options: { ends, sockets }, sessions, sightings, tasks }: ClusterSessionState,
  name: string
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const known = sessions.get(name)
    sessions.delete(name)
    if (known !== undefined) release(known)
    sightings.forget(name)
    sockets.forget(name)
    // A primary's children end by its deletions; the primary has the line of their session.
    const isOwn = known !== undefined && (known.session.spec.multiClusterParentName ?? undefined) === undefined
    const audited = isOwn ? ends.seen(known.session.metadata, auditedChild(name, known.session.spec)) : Effect.void
    return audited.pipe(
      Effect.andThen(FiberMap.remove(tasks, refreshOf(name))),
      Effect.andThen(FiberMap.remove(tasks, name))
    )
  })

const newSession = (session: MirrordClusterSession): SessionState => ({
  session,
  target: { _tag: "Unresolved" },
  agent: { _tag: "None" },
  agents: [],
  failures: 0
})

/** A session that was made anew under its name has other agents: those of the old one go with their owner. */
export const stateOf = (
  state: ClusterSessionState,
  name: string,
  session: MirrordClusterSession
): Effect.Effect<SessionState> =>
  Effect.gen(function* () {
    const known = state.sessions.get(name)
    if (known !== undefined && known.session.metadata.uid === session.metadata.uid) return known
    if (known !== undefined) yield* forgetSession(state, name)
    const fresh = newSession(session)
    state.sessions.set(name, fresh)
    return fresh
  })

/** One more attempt in a row failed, at `at`. */
export const failedAttempt = (session: SessionState, failure: SessionFailure, at: number) =>
  ({ _tag: "Failed", at, failures: ++session.failures, failure }) as const

/** Writes the fields of a session's status that a patch names. */
export const patchSessionStatus = (
  { options: { api } }: ClusterSessionState,
  name: string,
  patch: { readonly metadata: object; readonly status: object }
): Effect.Effect<KubeObject, KubeError> =>
  api.mergePatch(mirrordClusterSessions, name, patch, { subresource: "status" })
