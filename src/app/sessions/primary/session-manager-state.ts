/**
 * The state that the MultiClusterSessionManager keeps beside its parents' objects, and the names of its parts. Holds
 * the few functions that keep this state in order; `observe-session.ts` reads it, `perform-session-action.ts` acts on
 * it.
 */

import type { Clock, Effect, Fiber } from "effect"
import type { ClusterName, Sha256Hex } from "../../../domain/fleet/cluster-name.ts"
import type { MirrordMultiClusterSession } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import type { ObjectMeta } from "../../../domain/resources/object-meta.ts"
import type { SessionFailure } from "../../../domain/resources/session-failure.ts"
import type { SessionSettings } from "../../../domain/sessions/observed-session.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import type { Fleet } from "../../fleet/fleet.ts"
import type { BackgroundCalls } from "../../kernel/background-calls.ts"
import type { EventRecorder } from "../../kernel/event-recorder.ts"
import { memoryOf, type PlannedController, type Turn } from "../../kernel/planned-controller.ts"
import type { SessionNotifier } from "../../kernel/session-notifier.ts"
import type { StoppedLedger } from "../../kernel/stopped-ledger.ts"
import type { SessionEnds } from "../session-ends.ts"
import type { SessionSightings } from "../session-sightings.ts"
import type { SocketRegistry } from "../socket-registry.ts"
import type { DebtLedger } from "./debt-ledger.ts"

export interface SessionManagerOptions {
  readonly ownApi: KubeApi
  readonly fleet: Fleet
  readonly defaultCluster: ClusterName | undefined
  readonly settings: SessionSettings
  readonly sockets: SocketRegistry
  readonly debts: DebtLedger
  readonly stopped: StoppedLedger
  readonly notifier: SessionNotifier
  readonly ends: SessionEnds
  readonly events: EventRecorder
  readonly sha256Hex: Sha256Hex
}

/** An API server's own word about a child that it does not have. */
export type ChildAnswer =
  | { readonly _tag: "Gone" }
  | { readonly _tag: "Refused"; readonly at: number; readonly failure: SessionFailure }

/**
 * The answers of API servers about the children of one parent, by {@link childKey}. Caches lag behind these answers.
 */
export type ChildAnswers = Map<string, ChildAnswer>

export interface SessionManagerState {
  readonly options: SessionManagerOptions
  /** The controller itself: its cache of parents and its queue of turns. */
  readonly controller: PlannedController<MirrordMultiClusterSession>
  /** When this process became leader, epoch ms. */
  readonly leaderSince: number
  readonly sightings: SessionSightings
  /** By name of the parent. A parent created again under the same name starts without answers. */
  readonly answers: Map<string, { readonly uid: string | undefined; readonly answers: ChildAnswers }>
  /** Names of parents that were logged as unreadable. */
  readonly unreadable: Set<string>
  /** UIDs of parents for which this process has asked an API server to create a child. */
  readonly askedForChildren: Set<string>
  /** Calls about children, by {@link childKey}. */
  readonly calls: BackgroundCalls
  /** Runs an effect in the background; no turn waits for it. */
  readonly run: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly clock: Clock.Clock
}

/** One turn about one parent. */
export type SessionTurn = Turn<MirrordMultiClusterSession, ChildAnswers>

export const childKey = (cluster: ClusterName, child: string): string => `${cluster}/${child}`

export const answersFor = ({ answers }: SessionManagerState, { name, uid }: ObjectMeta): ChildAnswers =>
  memoryOf(answers, name, { uid, answers: new Map() }).answers

export const forgetParent = (state: SessionManagerState, name: string): void => {
  state.askedForChildren.delete(state.answers.get(name)?.uid ?? "")
  state.sightings.forget(name)
  state.options.sockets.forget(name)
  state.answers.delete(name)
  state.unreadable.delete(name)
}

/** How many parents the state holds entries for. */
export const followedParents = ({
  answers,
  askedForChildren,
  sightings,
  unreadable
}: Omit<SessionManagerState, "controller">): number =>
  Math.max(sightings.size, answers.size, unreadable.size, askedForChildren.size)
