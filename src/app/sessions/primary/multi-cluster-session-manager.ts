import { Clock, Effect, FiberSet, Result, type Scope } from "effect"
import { childOwedEvent, expiredEvent } from "../../../domain/events/deed-events.ts"
import { parentEvents } from "../../../domain/events/parent-events.ts"
import { type ClusterName, type Sha256Hex, clusterName } from "../../../domain/fleet/cluster-name.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import {
  mirrordMultiClusterSessions,
  type MirrordMultiClusterSession
} from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { isBeingDeleted, timestamp } from "../../../domain/resources/object-meta.ts"
import { type ChildObservation, observeChild } from "../../../domain/session/child-observation.ts"
import { childOwner } from "../../../domain/session/child-owner.ts"
import { heartbeat } from "../../../domain/session/heartbeat.ts"
import { childAnnotations } from "../../../domain/session/names.ts"
import type { ObservedSession, SessionSettings } from "../../../domain/session/observed-session.ts"
import type { SessionAction } from "../../../domain/session/session-action.ts"
import type { SessionFailure } from "../../../domain/session/session-failure.ts"
import { plan } from "../../../domain/session/session-plan.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../../ports/kube-api.ts"
import { type Fleet, type FleetCluster } from "../../fleet/fleet.ts"
import { auditedParent } from "../../kernel/audit.ts"
import type { Changes } from "../../kernel/changes.ts"
import { type Controller, makeController, type Requeue } from "../../kernel/controller.ts"
import type { EventRecorder } from "../../kernel/event-recorder.ts"
import { isHeartbeatOnly } from "../../kernel/heartbeat-only.ts"
import { held } from "../../kernel/holdings.ts"
import { logWarning } from "../../kernel/log.ts"
import { readCached } from "../../kernel/read-cached.ts"
import { makeReflector, type Reflector } from "../../kernel/reflector.ts"
import { SessionClock } from "../session-clock.ts"
import type { SessionEnds } from "../session-ends.ts"
import type { SocketRegistry } from "../socket-registry.ts"
import type { DebtLedger } from "./debt-ledger.ts"

/** How long a call to one cluster may take before the others go on without it, in ms. */
const callTimeout = 10_000
/** Before a call to a cluster that failed is thought about again, in ms. */
const afterFailure = 1_000

export interface SessionManagerOptions {
  readonly local: KubeApi
  readonly fleet: Fleet
  readonly defaultCluster: ClusterName | undefined
  readonly settings: SessionSettings
  readonly sockets: SocketRegistry
  readonly debts: DebtLedger
  readonly changes: Changes
  readonly ends: SessionEnds
  readonly events: EventRecorder
  readonly sha256Hex: Sha256Hex
}

export interface SessionManager extends Controller {
  readonly parents: Reflector
  /** The parent as last seen, or nothing: none, or not readable. */
  readonly parent: (name: string) => MirrordMultiClusterSession | undefined
  /** Plans every session again. */
  readonly enqueueAll: () => void
}

/** What an API server said itself about a child that it does not have. */
type ChildAnswer =
  | { readonly _tag: "Gone" }
  | { readonly _tag: "Refused"; readonly at: number; readonly failure: SessionFailure }

/** Whether a parent made a child, be the rest of the child unreadable. */
const isChildOf = ({ metadata: { name, uid = "" } }: KubeObject, child: KubeObject): boolean => {
  const parentName = (child["spec"] as { readonly multiClusterParentName?: string } | null | undefined)
    ?.multiClusterParentName
  return (
    childOwner({ parentName, parentUid: child.metadata.annotations?.[childAnnotations.parentUid] }, { name, uid }) ===
    "This"
  )
}

/** Whether all children of a parent are to go, whichever of them was seen. */
const isEnding = ({ metadata, status }: KubeObject): boolean =>
  isBeingDeleted(metadata) || (status as { readonly phase?: unknown } | null | undefined)?.phase === "Failed"

/** Why a create was refused for good: 4xx, but not a conflict or "too many requests". */
const refusal = (error: KubeError): SessionFailure | undefined => {
  if (error.code === undefined || error.code < 400 || error.code >= 500) return undefined
  if (error.reason === "Conflict" || error.reason === "TooManyRequests" || error.reason === "Unauthorized")
    return undefined
  return { reason: error.reason === "Forbidden" ? "Forbidden" : "Error", message: error.detail }
}

/**
 * The MultiClusterSessionManager: brings `MirrordMultiClusterSession`s to life and to an end. What is to be done is
 * decided in `domain/session/session-plan.ts`; here the world is observed and the actions are carried out.
 */
export const makeSessionManager = (options: SessionManagerOptions): Effect.Effect<SessionManager, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { changes, debts, ends, events, fleet, local, settings, sockets } = options
    const leaderSince = yield* Clock.currentTimeMillis
    const times = new SessionClock(leaderSince)
    /**
     * What API servers themselves answered about the children of a parent, by `<cluster>/<name>`. Caches lag behind it.
     */
    const answered = new Map<string, { readonly uid: string; readonly answers: Map<string, ChildAnswer> }>()
    const unreadable = new Set<string>()
    /** UIDs of parents whose children were recorded by this process. */
    const recorded = new Set<string>()

    yield* held("followed parents", () => Math.max(times.size, answered.size, unreadable.size, recorded.size))

    const childKey = (cluster: ClusterName, name: string): string => `${cluster}/${name}`

    /** The answers for one parent; a parent that was made anew under the name starts without any. */
    const answersFor = (parent: string, uid: string): Map<string, ChildAnswer> => {
      const known = answered.get(parent)
      if (known?.uid === uid) return known.answers
      const answers = new Map<string, ChildAnswer>()
      answered.set(parent, { uid, answers })
      return answers
    }

    const observeCluster = (
      cluster: FleetCluster,
      name: string,
      answers: ReadonlyMap<string, ChildAnswer>
    ): ChildObservation => {
      const children = cluster.children()
      const since = cluster.unreadableSince()
      const known = answers.get(childKey(cluster.name, name))
      if (children === undefined || !children.synced() || since !== undefined) {
        // What its API server itself said holds also while the list cannot be read.
        if (known?._tag === "Gone") return { _tag: "Absent", confirmed: true }
        return { _tag: "Unknown", since: since ?? leaderSince }
      }
      const object = children.get(name)
      if (object !== undefined) {
        const child = readCached(mirrordClusterSessions, object)
        if (Result.isSuccess(child)) return observeChild(child.success)
        return { _tag: "Refused", at: leaderSince, failure: { reason: "Error", message: child.failure.message } }
      }
      if (known?._tag === "Refused") return known
      return { _tag: "Absent", confirmed: known?._tag === "Gone" }
    }

    const observe = (name: string, parent: MirrordMultiClusterSession, now: number): ObservedSession => {
      const answers = answersFor(name, parent.metadata.uid ?? "")
      const seen = times.seen(name)
      const recorded = Object.entries(parent.status?.clusterSessions ?? {}).map(([cluster, { sessionName }]) => ({
        cluster: clusterName(cluster),
        sessionName
      }))
      const children = recorded.flatMap(
        ({ cluster, sessionName }): ReadonlyArray<readonly [ClusterName, ChildObservation]> => {
          const known = fleet.clusters.get(cluster)
          return known === undefined ? [] : [[cluster, observeCluster(known, sessionName, answers)]]
        }
      )
      return {
        parent,
        children: new Map(children),
        fleet: {
          defaultCluster: options.defaultCluster,
          clusters: new Map([...fleet.clusters].map(([cluster, { reach }]) => [cluster, reach()]))
        },
        settings,
        createdSeenAt: seen.created,
        deletedSeenAt: seen.deleted,
        failedSeenAt: seen.failed,
        leaderSince,
        sockets: sockets.presence(name),
        heartbeatSeenAt: times.heartbeatSeen(name, parent.status?.connectedTimestamp, now),
        debts: debts.names(parent.metadata.uid),
        sha256Hex: options.sha256Hex
      }
    }

    const patchParent = (name: string, patch: object, status: boolean): Effect.Effect<KubeObject, KubeError> =>
      local.mergePatch(mirrordMultiClusterSessions, name, patch, status ? { subresource: "status" } : {})

    const patchStatus = (
      name: string,
      parent: KubeObject,
      { patch, precondition }: Extract<SessionAction, { readonly patch: unknown }>
    ) =>
      Effect.tap(patchParent(name, { metadata: precondition, status: patch }, true), (after) =>
        Effect.sync(() => {
          parents.wrote(after)
          const before = readCached(mirrordMultiClusterSessions, parent)
          if (Result.isSuccess(before)) events.changed(mirrordMultiClusterSessions, before.success, after, parentEvents)
        })
      )

    const audited = (name: string, parent: KubeObject) => {
      const read = readCached(mirrordMultiClusterSessions, parent)
      return Result.isSuccess(read) ? auditedParent(name, read.success.spec) : { session: name }
    }

    const call = yield* FiberSet.makeRuntime<never>()
    /** Children about which a call is under way; `again`: something more was to be done meanwhile. */
    const calls = new Map<string, { again: boolean }>()
    yield* held("calls about children", () => calls.size)

    /**
     * A call about one child. The session goes on meanwhile: a cluster that is slow or silent holds up no other. One
     * call per child at a time; afterwards the session is planned again unless the watch will tell.
     */
    const onCluster = (
      session: string,
      cluster: ClusterName,
      child: string,
      use: (api: KubeApi) => Effect.Effect<"TellsWatch" | "PlanAgain", KubeError>
    ): Effect.Effect<void> =>
      Effect.sync(() => {
        const access = fleet.clusters.get(cluster)?.access()
        if (access === undefined) return
        const key = childKey(cluster, child)
        const underWay = calls.get(key)
        if (underWay !== undefined) {
          underWay.again = true
          return
        }
        const state = { again: false }
        calls.set(key, state)
        const late = new KubeError({
          cluster,
          operation: "call",
          reason: "Unreachable",
          detail: `no answer within ${callTimeout} ms`
        })
        call(
          use(access.api).pipe(
            Effect.timeoutOrElse({ duration: callTimeout, orElse: () => Effect.fail(late) }),
            Effect.catch((error) =>
              logWarning("call to a cluster failed", { session, problem: error.message }).pipe(
                Effect.andThen(Effect.sleep(Math.max(afterFailure, error.retryAfterMs ?? 0))),
                Effect.as("PlanAgain" as const)
              )
            ),
            Effect.map((then) => {
              calls.delete(key)
              if (state.again || then === "PlanAgain") enqueue(session)
            })
          )
        )
      })

    const perform = (name: string, parent: KubeObject, action: SessionAction): Effect.Effect<unknown, KubeError> => {
      switch (action._tag) {
        case "AddFinalizer": {
          const finalizers = [...(parent.metadata.finalizers ?? []), action.finalizer]
          return patchParent(name, { metadata: { ...action.precondition, finalizers } }, false)
        }
        case "RemoveFinalizer": {
          const finalizers = (parent.metadata.finalizers ?? []).filter((one) => one !== action.finalizer)
          return patchParent(name, { metadata: { ...action.precondition, finalizers } }, false).pipe(
            Effect.catch((error) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error)))
          )
        }
        case "RecordChild":
          return Effect.tap(patchStatus(name, parent, action), () =>
            Effect.sync(() => {
              // Nobody can have made them yet, unless somebody wiped a status in which they stood before.
              const { uid = "" } = parent.metadata
              if (recorded.has(uid) || times.seen(name).created < leaderSince) return
              recorded.add(uid)
              const answers = answersFor(name, parent.metadata.uid ?? "")
              for (const { childName, cluster } of action.children)
                answers.set(childKey(cluster, childName), { _tag: "Gone" })
            })
          )
        case "PatchStatus":
          // Its deletion may have begun before this process led, and then the watch tells of no change.
          return action.patch.phase === "Terminating"
            ? Effect.andThen(patchStatus(name, parent, action), ends.seen(parent.metadata, audited(name, parent)))
            : patchStatus(name, parent, action)
        case "CreateChild": {
          const { child, cluster } = action
          const key = childKey(cluster, child.metadata.name)
          const answers = answersFor(name, parent.metadata.uid ?? "")
          const body = { apiVersion: "mirrord.metalbear.co/v1alpha", kind: "MirrordClusterSession", ...child }
          return onCluster(name, cluster, child.metadata.name, (api) => {
            // Before the call: it may get through although its answer does not, and then nothing is known to be gone
            // any more.
            answers.delete(key)
            return api.create(mirrordClusterSessions, body).pipe(
              Effect.as("TellsWatch" as const),
              Effect.catch((error) =>
                Effect.flatMap(Clock.currentTimeMillis, (at) => {
                  if (error.reason === "AlreadyExists") return Effect.succeed("TellsWatch" as const)
                  const failure = refusal(error)
                  if (failure === undefined) return Effect.fail(error)
                  answers.set(key, { _tag: "Refused", at, failure })
                  return Effect.succeed("PlanAgain" as const)
                })
              )
            )
          })
        }
        case "DeleteChild": {
          const key = childKey(action.cluster, action.childName)
          const answers = answersFor(name, parent.metadata.uid ?? "")
          // A name alone may mean a successor by now: what is deleted is told by its uid.
          const isMeant = (child: KubeObject): boolean =>
            child.metadata.uid === action.uid ||
            ((action.uid === undefined || isEnding(parent)) && isChildOf(parent, child))
          // The cache may show for long what is not there any more.
          const gone = Effect.suspend(() => {
            answers.set(key, { _tag: "Gone" })
            const reread = fleet.clusters.get(action.cluster)?.children()?.reread(action.childName) ?? Effect.void
            return Effect.as(reread, "PlanAgain" as const)
          })
          return onCluster(name, action.cluster, action.childName, (api) => {
            const remove = (uid: string) =>
              Effect.as(api.delete(mirrordClusterSessions, action.childName, { uid }), "TellsWatch" as const)
            const look = Effect.flatMap(api.get(mirrordClusterSessions, action.childName), (child) =>
              isMeant(child) ? remove(child.metadata.uid ?? "") : gone
            )
            return (action.uid === undefined ? look : remove(action.uid)).pipe(
              Effect.catch((error) => (error.reason === "Conflict" ? look : Effect.fail(error))),
              Effect.catch((error) => (error.reason === "NotFound" ? gone : Effect.fail(error)))
            )
          })
        }
        case "RecordDebt":
          return Effect.tap(debts.record(action.cluster, action.childName, action.parentUid), () =>
            Effect.sync(() =>
              events.record(mirrordMultiClusterSessions, parent, childOwedEvent(action.cluster, action.childName))
            )
          )
        case "DeleteParent":
          return ends
            .end(parent.metadata, local.delete(mirrordMultiClusterSessions, name, { uid: action.precondition.uid }), {
              act: "ended",
              cause: "Expired",
              ...audited(name, parent),
              message: action.why
            })
            .pipe(
              Effect.map(() => events.record(mirrordMultiClusterSessions, parent, expiredEvent(action.why))),
              Effect.catch((error) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error)))
            )
        case "RequeueAt":
          return Effect.void
      }
    }

    const forget = (name: string): void => {
      recorded.delete(answered.get(name)?.uid ?? "")
      times.forget(name)
      sockets.forget(name)
      answered.delete(name)
      unreadable.delete(name)
    }

    /** Says once per object that it cannot be read; everything else goes on. */
    const reportUnreadable = (name: string, message: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (unreadable.has(name)) return Effect.void
        unreadable.add(name)
        return logWarning("session ignored", { session: name, problem: message })
      })

    const reconcile = (name: string): Effect.Effect<Requeue, KubeError> =>
      Effect.gen(function* () {
        const cached = parents.get(name)
        if (cached === undefined) {
          forget(name)
          return undefined
        }
        let object = cached
        let parent = readCached(mirrordMultiClusterSessions, object)
        if (Result.isFailure(parent)) {
          yield* reportUnreadable(name, parent.failure.message)
          return undefined
        }
        unreadable.delete(name)
        const now = yield* Clock.currentTimeMillis
        const beat = heartbeat(sockets.presence(name), times.lastWritten(name), now)
        const alive = (object.metadata.deletionTimestamp ?? undefined) === undefined
        if (beat.write && alive) {
          times.wrote(name, now)
          // What follows is decided from the answer: any decision from the cache would conflict with this very write.
          object = yield* patchParent(
            name,
            { metadata: { uid: object.metadata.uid }, status: { connectedTimestamp: timestamp(now) } },
            true
          )
          parent = readCached(mirrordMultiClusterSessions, object)
          if (Result.isFailure(parent)) return undefined
        }
        const actions = plan(observe(name, parent.success, now), now)
        const results = yield* Effect.forEach(actions, (action) => Effect.result(perform(name, object, action)), {
          concurrency: "unbounded"
        })
        const failures = results.flatMap((result) => (Result.isFailure(result) ? [result.failure] : []))
        const serious = failures.find(({ reason }) => reason !== "Conflict")
        if (serious !== undefined) return yield* serious
        if (failures.length > 0) {
          yield* parents.reread(name)
          return "Conflict"
        }
        const dueTimes = actions.flatMap((action) => (action._tag === "RequeueAt" ? [action.at] : []))
        const next = Math.min(...dueTimes, ...(beat.nextAt !== undefined && alive ? [beat.nextAt] : []))
        return Number.isFinite(next) ? { after: Math.max(1, next - now) } : undefined
      })

    const { enqueue } = yield* makeController({ name: "MultiClusterSessionManager", reconcile })
    const clock = yield* Clock.Clock
    const parents = yield* makeReflector(local, mirrordMultiClusterSessions, (object, deleted, before) => {
      const now = clock.currentTimeMillisUnsafe()
      if (!deleted) times.saw(object, !parents.synced(), now)
      if (!deleted && isHeartbeatOnly(before, object)) {
        const { connectedTimestamp } = object["status"] as { readonly connectedTimestamp?: string | null }
        times.heartbeatSeen(object.metadata.name, connectedTimestamp, now)
        return
      }
      const { metadata } = object
      if (before !== undefined && !isBeingDeleted(before.metadata) && (deleted || isBeingDeleted(metadata)))
        call(ends.seen(metadata, audited(metadata.name, object)))
      enqueue(metadata.name)
      changes.notify(metadata.name)
    })
    return {
      parents,
      enqueue,
      enqueueAll: () => {
        for (const { metadata } of parents.all()) enqueue(metadata.name)
      },
      parent: (name) => {
        const object = parents.get(name)
        const parent = object === undefined ? undefined : readCached(mirrordMultiClusterSessions, object)
        return parent !== undefined && Result.isSuccess(parent) ? parent.success : undefined
      }
    }
  })
