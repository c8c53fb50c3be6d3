/**
 * The state that the ClusterSession controller keeps of each session beside its object: how far its target and its
 * agents are. Holds the few functions that keep this state in order; `session-agents.ts` starts the agents,
 * `child-plan.ts` decides.
 */

import { type Clock, Effect, FiberMap } from "effect"
import type { SessionTimes } from "../../../domain/fleet/configuration.ts"
import type { MirrordClusterSession } from "../../../domain/resources/mirrord-cluster-session.ts"
import type { SessionFailure } from "../../../domain/resources/session-failure.ts"
import { parentNameOf } from "../../../domain/sessions/child-owner.ts"
import type { AdmissionObservation, AgentObservation, TargetObservation } from "../../../domain/sessions/child-plan.ts"
import { afterLook, type PodlessTime, podsUnknown } from "../../../domain/sessions/podless.ts"
import { needsAdmission } from "../../../domain/sessions/primary-claim.ts"
import type { Requirement } from "../../../domain/sessions/requirement.ts"
import type { SessionBounds } from "../../../domain/sessions/session-bounds.ts"
import type { AgentPlacement } from "../../../domain/targets/pod-choice.ts"
import type { ProtectedNamespaces } from "../../../domain/targets/protected-namespaces.ts"
import type { AgentHandle, Agents } from "../../../ports/agents.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import type { ApiError } from "../../api/status.ts"
import { auditedChild } from "../../kernel/audit.ts"
import type { EventRecorder } from "../../kernel/event-recorder.ts"
import type { PlannedController, Turn } from "../../kernel/planned-controller.ts"
import type { SessionNotifier } from "../../kernel/session-notifier.ts"
import type { StoppedLedger } from "../../kernel/stopped-ledger.ts"
import type { TlsSettings } from "../../services/tls-settings.ts"
import type { SessionEnds } from "../session-ends.ts"
import type { SessionSightings } from "../session-sightings.ts"
import type { SocketRegistry } from "../socket-registry.ts"
import type { AgentHold, AgentWatches } from "./agent-watch.ts"
import type { AdmitPrimary } from "./primary-lease.ts"
import type { TargetPods } from "./target-pods.ts"
import type { Placements } from "./target-resolver.ts"

export interface ClusterSessionOptions {
  readonly api: KubeApi
  readonly sockets: SocketRegistry
  readonly notifier: SessionNotifier
  readonly ends: SessionEnds
  readonly events: EventRecorder
  readonly defaults: SessionTimes
  /** The longest time of a session without a parent, in seconds. */
  readonly maxSessionSecs: number | undefined
  /** How long the target of a session may be without pods, ms; `undefined` if for ever. */
  readonly podlessMillis?: number | undefined
  readonly stopped: StoppedLedger
  readonly admitPrimary: AdmitPrimary
  /** Whether a primary must say which cluster it is. */
  readonly requirePrimary: boolean
  readonly bounds: SessionBounds
  readonly protectedNamespaces: ProtectedNamespaces
  /** Needs of other capabilities before a session is ready. */
  readonly requirements: (session: MirrordClusterSession) => ReadonlyArray<Requirement>
  /** The ports of a target that serve TLS, for the agent beside a container. */
  readonly stealTls: TlsSettings["Service"]["stealTls"]
}

/** One agent of a session. `pod` names it as a member in the router; the first agent is the representative. */
export interface SessionAgent {
  readonly pod: string
  readonly handle: AgentHandle
  readonly hold: Pick<AgentHold, "health" | "failed" | "leftPortOpen" | "rounds">
  /** The container that it works on; `undefined` for a targetless one. */
  readonly placement: AgentPlacement | undefined
}

export interface RunningAgent extends SessionAgent {
  readonly hold: AgentHold
  /** Epoch ms. */
  readonly startedAt: number
}

/** A client of a session, as far as it decides which pods may join. */
export interface SessionClient {
  /** Why a policy of the pod forbids what the client does now, as the end of a sentence; `undefined` if none does. */
  readonly forbidden: (placement: AgentPlacement) => Effect.Effect<string | undefined, ApiError>
  /** Adds a message to the client's log. */
  readonly warn: (message: string) => void
}

/** The knowledge of this process about one session, beside its object. */
export interface SessionState {
  /** The object as it was when this process first saw it. */
  readonly session: MirrordClusterSession
  admission: AdmissionObservation
  target: TargetObservation<Placements>
  /** The knowledge about the target's pods. */
  pods: PodlessTime
  /** When a pod of the target was first seen to change since the last look, epoch ms; `undefined` if none was. */
  podsChangedAt: number | undefined
  agent: AgentObservation
  /** Agents whose idle connection is open; the first is the representative. */
  agents: ReadonlyArray<RunningAgent>
  /** The clients that are connected now. */
  readonly clients: Set<SessionClient>
  /** Why pods of the target are left out for their policies, by container. */
  leftOut: ReadonlyMap<string, string>
  /** The pod of the representative when a client attached last. */
  servedBy: string | undefined
  /** Agents that are being started, as the bounds count them. */
  starting: ReadonlySet<string>
  /** Whether its namespace was being deleted when it was last asked for. */
  hasLeft: boolean
  /** Attempts in a row that failed. */
  failures: number
  /**
   * The last agent that was given up: when, epoch ms, and its container until the session has started over without it.
   */
  givenUp: { readonly at: number; readonly containerId: string | undefined } | undefined
}

/** The controller's state: the sessions that it follows, and the parts that it works with. */
export interface ClusterSessionState {
  readonly options: ClusterSessionOptions
  /** The controller itself: its cache of sessions and its queue of turns. */
  readonly controller: PlannedController<MirrordClusterSession>
  readonly agents: Agents["Service"]
  readonly watches: AgentWatches
  readonly targetPods: TargetPods
  /** `options.api` with retries, for calls that a client waits for. */
  readonly retryingApi: KubeApi
  /** When this process began to see sockets, epoch ms. */
  readonly operatorSince: number
  readonly sightings: SessionSightings
  /** By name of the session. */
  readonly sessions: Map<string, SessionState>
  /** Running starts of agents, by name of the session, and running refreshes, by {@link refreshOf} it. */
  readonly tasks: FiberMap.FiberMap<string>
  /** Begins a task; replaces a running task of the same key. */
  readonly run: (task: string, effect: Effect.Effect<void>) => unknown
  readonly clock: Clock.Clock
}

/** One turn about one session. */
export type ChildTurn = Turn<MirrordClusterSession, SessionState>

/** Key of the refresh task. Session names contain no space, so it cannot collide with the start task's key. */
export const refreshOf = (name: string): string => `refresh ${name}`

/** Closes the idle connections that keep a session's agents. */
export const release = (session: SessionState): void => {
  for (const { hold } of session.agents) hold.close()
  session.agents = []
}

/** Plans a changed session again and wakes its waiters. Links wait for a child under its parent's name. */
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
  { options: { ends, sockets }, sessions, sightings, targetPods, tasks }: ClusterSessionState,
  name: string
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const known = sessions.get(name)
    sessions.delete(name)
    if (known !== undefined) release(known)
    sightings.forget(name)
    sockets.forget(name)
    targetPods.forget(name)
    // Children are deleted by their primary, which writes the audit line; only our own sessions get one here.
    const isOwn = known !== undefined && (known.session.spec.multiClusterParentName ?? undefined) === undefined
    const audited = isOwn ? ends.seen(known.session.metadata, auditedChild(name, known.session.spec)) : Effect.void
    return audited.pipe(
      Effect.andThen(FiberMap.remove(tasks, refreshOf(name))),
      Effect.andThen(FiberMap.remove(tasks, name))
    )
  })

export const newSession = (session: MirrordClusterSession, requirePrimary = false): SessionState => ({
  session,
  admission: { _tag: needsAdmission(session, requirePrimary) ? "Unasked" : "Admitted" },
  target: { _tag: "Unresolved" },
  pods: podsUnknown,
  podsChangedAt: undefined,
  agent: { _tag: "None" },
  agents: [],
  clients: new Set(),
  leftOut: new Map(),
  servedBy: undefined,
  starting: new Set(),
  hasLeft: false,
  failures: 0,
  givenUp: undefined
})

/**
 * The state of a session. A session created again under the same name starts afresh: Kubernetes deletes the agents of
 * the old object with their owner.
 */
export const stateOf = Effect.fnUntraced(function* (
  state: ClusterSessionState,
  name: string,
  session: MirrordClusterSession
): Effect.fn.Return<SessionState> {
  const known = state.sessions.get(name)
  if (known !== undefined && known.session.metadata.uid === session.metadata.uid) return known
  if (known !== undefined) yield* forgetSession(state, name)
  const fresh = newSession(session, state.options.requirePrimary)
  state.sessions.set(name, fresh)
  return fresh
})

/** One more attempt in a row failed, at `at`. */
export const failedAttempt = (session: SessionState, failure: SessionFailure, at: number) =>
  ({ _tag: "Failed", at, failures: ++session.failures, failure }) as const

/** Records what a look for the target's pods found. */
export const lookedForPods = (session: SessionState, target: TargetObservation<Placements>): void => {
  session.target = target
  if (target._tag === "Resolved") session.hasLeft = false
  if (target._tag === "Resolved") session.pods = afterLook(session.pods, { _tag: "Found" })
  if (target._tag === "Failed")
    session.pods = afterLook(session.pods, { _tag: "Failed", at: target.at, ...target.failure })
}
