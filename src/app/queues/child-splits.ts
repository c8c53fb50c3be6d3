/**
 * The splits that primaries ask for: orders them for the children of their sessions, and says on each child how its
 * split stands, and on the default cluster's which queues were made, for the clusters that get them.
 *
 * Not here: carrying splits on (split-controller.ts), and sessions of one cluster, which order theirs as their users
 * connect.
 */

import { Clock, Effect, Result, type Scope } from "effect"
import type { GivenQueue } from "../../domain/queues/observed-split.ts"
import { type SplitState, splitStateNote } from "../../domain/queues/split-state.ts"
import { givenQueues, hasMadeQueues, madeQueuesNote, readWish, wishedWorkload } from "../../domain/queues/split-wish.ts"
import type { StoredSession } from "../../domain/queues/stored-session.ts"
import type { WantedSplit } from "../../domain/queues/wanted-split.ts"
import { pods } from "../../domain/resources/core-kinds.ts"
import { mirrordClusterSessions, type MirrordClusterSession } from "../../domain/resources/mirrord-cluster-session.ts"
import { isBeingDeleted } from "../../domain/resources/object-meta.ts"
import type { WatchedResource } from "../../domain/resources/resource-descriptor.ts"
import { asksForSplit } from "../../domain/sessions/names.ts"
import { configurationComes } from "../../domain/sessions/session-start.ts"
import type { KubeApi, KubeError } from "../../ports/kube-api.ts"
import type { ApiError } from "../api/status.ts"
import { type Controller, makeController, type Requeue } from "../kernel/controller.ts"
import { orIf } from "../kernel/or-if.ts"
import { readCached } from "../kernel/read-cached.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"

/** Milliseconds between two tries of a split that is refused: its configuration may be mended. */
const tryAgain = 15_000

/** How a child without a part in a split stands. */
export type ChildSplitState =
  /** It is looked at. */
  | { readonly _tag: "Pending" }
  /** There is nothing to split, where `mirrord up` asks for whatever there is. */
  | { readonly _tag: "None" }
  | { readonly _tag: "Refused"; readonly code: number; readonly message: string }

export interface ChildSplits {
  readonly started: Effect.Effect<void>
  /** `undefined` for sessions that ask for no split. `session`: the name of the child. */
  readonly stateOf: (session: string) => ChildSplitState | undefined
  /** Looks at a child again whose part in a split has changed. */
  readonly partChanged: (session: string) => void
}

export interface ChildSplitsOptions {
  readonly api: KubeApi
  /** The session's part in a split, by the name of the child; `undefined` while there is none. */
  readonly partOf: (session: string) => StoredSession | undefined
  /** The queues that this cluster has made for a part. */
  readonly madeFor: (part: StoredSession) => ReadonlyArray<GivenQueue>
  readonly stateOf: (part: StoredSession) => SplitState
  readonly check: (wanted: WantedSplit) => Effect.Effect<boolean, ApiError>
  readonly order: (session: MirrordClusterSession, wanted: WantedSplit) => Effect.Effect<void, ApiError>
  readonly changed: (session: string) => void
}

/** Children whose sessions split queues; others count as if they were not there. */
const splittingChildren: WatchedResource<MirrordClusterSession> = {
  ...mirrordClusterSessions,
  keeps: (object) => (asksForSplit(object.metadata) ? object : undefined)
}

/** The split that a child asks for; `undefined` if it cannot be read. */
const wantedBy = ({ metadata, spec }: MirrordClusterSession): WantedSplit | undefined => {
  const wish = readWish(metadata)
  const workload = wish && wishedWorkload(wish, spec)
  return workload && { ...wish, workload, given: givenQueues(metadata) }
}

interface Known {
  readonly since: number
  state: ChildSplitState
}

interface State {
  readonly options: ChildSplitsOptions
  readonly cache: Reflector
  readonly known: Map<string, Known>
}

const unreadable = {
  _tag: "Refused",
  code: 400,
  message: "The split of queues that the primary asks for cannot be read: let both clusters have the same release."
} as const

const withoutCopy = {
  _tag: "Refused",
  code: 404,
  message: "The cluster has no copy of the target, so it splits no queues for its session."
} as const

/** Tells the primary by annotations of the child; those that are there already are not written again. */
const tell = (
  { options: { api } }: State,
  { metadata }: MirrordClusterSession,
  notes: Readonly<Record<string, string>>
): Effect.Effect<void, KubeError> => {
  const news = Object.entries(notes).filter(([name, text]) => metadata.annotations?.[name] !== text)
  return news.length === 0
    ? Effect.void
    : api
        .mergePatch(mirrordClusterSessions, metadata.name, {
          // Heartbeats are written all the time, and change nothing about it.
          metadata: { uid: metadata.uid, annotations: Object.fromEntries(news) }
        })
        .pipe(Effect.asVoid, orIf("NotFound", Effect.void))
}

/** Whether a child has its target. A cluster that has made no copy splits no queues for the copy's session either. */
const hasTarget = (api: KubeApi, { spec }: MirrordClusterSession): Effect.Effect<boolean, KubeError> =>
  (spec.copyTarget ?? undefined) === undefined
    ? Effect.succeed(true)
    : api
        .get(pods, spec.target?.name ?? "", spec.namespace)
        .pipe(Effect.as(true), orIf("NotFound", Effect.succeed(false)))

/** Orders the split of a child, if there is one to order. */
const orderFor = Effect.fnUntraced(function* (
  { options: { api, check, order } }: State,
  child: MirrordClusterSession,
  known: Known
): Effect.fn.Return<ChildSplitState, KubeError> {
  const wanted = wantedBy(child)
  if (wanted === undefined) return unreadable
  if (wanted.isAutomatic && wanted.given?.length === 0) return { _tag: "None" }
  if (!(yield* hasTarget(api, child))) return withoutCopy
  const asked = check(wanted).pipe(Effect.tap((is) => (is ? order(child, wanted) : Effect.void)))
  const found = yield* Effect.result(asked)
  if (Result.isSuccess(found)) return { _tag: found.success ? "Pending" : "None" }
  const { code, message } = found.failure
  const isEarly = code === 404 && (yield* Clock.currentTimeMillis) < known.since + configurationComes
  return isEarly ? { _tag: "Pending" } : { _tag: "Refused", code, message }
})

const reconcile = Effect.fnUntraced(function* (state: State, name: string): Effect.fn.Return<Requeue, KubeError> {
  const { cache, known, options } = state
  const object = cache.get(name)
  const child = object === undefined ? undefined : Result.getOrUndefined(readCached(splittingChildren, object))
  if (child === undefined || isBeingDeleted(child.metadata)) {
    known.delete(name)
    return undefined
  }
  const since = yield* Clock.currentTimeMillis
  const one: Known = known.get(name) ?? { since, state: { _tag: "Pending" } }
  known.set(name, one)
  const isMaker = givenQueues(child.metadata) === undefined
  const isUntold = isMaker && !hasMadeQueues(child.metadata)
  const part = options.partOf(name)
  if (part !== undefined) {
    const { phase } = part.wanted
    const isMade = isUntold && (phase === "resourcesReady" || phase === "ready")
    yield* tell(state, child, {
      ...(isMade && madeQueuesNote(options.madeFor(part))),
      ...splitStateNote(options.stateOf(part))
    })
    // The heartbeats of the child bring it here again, and with them what has become of its pods.
    return undefined
  }
  const before = one.state
  one.state = yield* orderFor(state, child, one)
  if (one.state._tag === "None" && isUntold) yield* tell(state, child, madeQueuesNote([]))
  if (one.state._tag !== before._tag) options.changed(name)
  return one.state._tag === "None" ? undefined : { after: one.state._tag === "Refused" ? tryAgain : 1_000 }
})

/** Serves the wishes of primaries for as long as the scope lives. */
export const makeChildSplits = Effect.fnUntraced(function* (
  options: ChildSplitsOptions
): Effect.fn.Return<ChildSplits, never, Scope.Scope> {
  const known: State["known"] = new Map()
  const made: { controller: Controller | undefined } = { controller: undefined }
  const enqueue = (session: string): void => made.controller?.enqueue(session)
  const cache = yield* makeReflector(options.api, splittingChildren, ({ metadata }) => enqueue(metadata.name))
  made.controller = yield* makeController({
    name: "ChildSplit",
    reconcile: (name) => reconcile({ options, cache, known }, name)
  })
  return {
    started: cache.awaitSynced,
    stateOf: (session) =>
      cache.get(session) === undefined ? undefined : (known.get(session)?.state ?? { _tag: "Pending" }),
    partChanged: (session) => {
      if (cache.get(session) !== undefined) enqueue(session)
    }
  }
})
