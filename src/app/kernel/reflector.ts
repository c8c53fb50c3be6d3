/**
 * Keeps a collection of one cluster in memory by list and watch. Decides nothing from the objects; controllers and the
 * fleet do.
 */

import { Cause, Effect, Latch, Metric, Queue, Random, type Scope, Stream } from "effect"
import type { WatchedResource } from "../../domain/resources/resource-descriptor.ts"
import {
  type KubeApi,
  type KubeError,
  type KubeObject,
  keptPart,
  type Selection,
  type WatchEvent
} from "../../ports/kube-api.ts"
import { type ListHealth, watchList } from "./failing-lists.ts"
import { logError } from "./log.ts"
import { counter, countOne } from "./metrics.ts"
import { hearWatch } from "./watch-lags.ts"

/** Bounds of the pause before a failed list or watch is tried again, in ms. */
const firstPause = 250
const maxPause = 5_000
/** Watches that may fail in a row, with a list in between, until the collection counts as one that cannot be read. */
const maxWatchFailures = 5

/** A cache of one collection in one cluster, kept by list and watch. */
export interface Reflector {
  readonly get: (name: string, namespace?: string) => KubeObject | undefined
  readonly all: () => ReadonlyArray<KubeObject>
  /**
   * Whether a complete list was ever read. Before that absence proves nothing, and nothing may be deleted because of
   * it.
   */
  readonly synced: () => boolean
  readonly awaitSynced: Effect.Effect<void>
  /** The reason why the cluster cannot be read at the moment, if so. */
  readonly problem: () => KubeError | undefined
  /** Reads one object again, for a caller who has just learnt of a change: a watch may be open and yet lose changes. */
  readonly reread: (name: string, namespace?: string) => Effect.Effect<void>
  /** Takes the answer to one's own write, so that the next write is decided from it and not from the version before. */
  readonly wrote: (answer: KubeObject) => void
  /** Ends a pause after failures at once, because the server was just seen to answer. */
  readonly retryNow: () => void
}

/** Compares versions that are numbers; other versions are never older. */
const isOlder = (object: KubeObject, than: KubeObject | undefined): boolean =>
  than !== undefined &&
  than.metadata.uid === object.metadata.uid &&
  Number(object.metadata.resourceVersion) < Number(than.metadata.resourceVersion)

const keyOf = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : `${namespace}/${name}`

/**
 * Called after each change, with the object's new or last version, and with the version that was cached before. A throw
 * is logged and changes nothing: the watch must go on for all other objects.
 */
type Changed = (object: KubeObject, deleted: boolean, before: KubeObject | undefined) => void

/** A collection whose kind says what is kept of its objects. */
type WatchedRef = Omit<WatchedResource<unknown>, "schema" | "kind">

/** The counters of watches that begin again, by cause; shown from the start. */
const restartCounters = Effect.fnUntraced(function* ({ plural }: WatchedRef) {
  const of = (cause: string) => counter("braid_watch_restarts_total", { resource: plural, cause })
  const counters = { ended: of("ended"), failed: of("failed") }
  for (const one of Object.values(counters)) yield* Metric.update(one, 0)
  return counters
})

interface ReflectorState {
  readonly api: KubeApi
  readonly ref: WatchedRef
  readonly selection: Selection | undefined
  readonly changed: Changed
  /** By {@link keyOf}. */
  readonly cache: Map<string, KubeObject>
  /** Opens after the first complete list. */
  readonly synced: Latch.Latch
  /** An element ends the pause after a failure. */
  readonly wake: Queue.Queue<void>
  readonly restarts: Effect.Success<ReturnType<typeof restartCounters>>
  /** Called when list or watch has brought something. */
  readonly heard: () => void
  /** Hears of each failure, and of each list. */
  readonly health: ListHealth
  isSynced: boolean
  /** Whether the last list has succeeded. */
  isRead: boolean
  /** Watches in a row that failed before they brought anything. */
  watchFailures: number
  problem: KubeError | undefined
  /** The newest version that list and watch have brought. */
  newestVersion: string
  /** Consecutive failures of list and watch. */
  failures: number
}

const keyOfObject = ({ metadata }: KubeObject): string => keyOf(metadata.name, metadata.namespace)

const remove = (state: ReflectorState, object: KubeObject): void => {
  const key = keyOfObject(object)
  const before = state.cache.get(key)
  // The object was created again under its name: only its predecessor is gone.
  if (before === undefined || before.metadata.uid !== object.metadata.uid) return
  state.cache.delete(key)
  state.changed(keptPart(state.ref, object) ?? before, true, before)
}

const put = (state: ReflectorState, whole: KubeObject): void => {
  const object = keptPart(state.ref, whole)
  if (object === undefined) return remove(state, whole)
  const key = keyOfObject(object)
  const known = state.cache.get(key)
  if (known !== undefined && known.metadata.uid !== object.metadata.uid) remove(state, known)
  const before = state.cache.get(key)
  if (before !== undefined && before.metadata.resourceVersion === object.metadata.resourceVersion) return
  state.cache.set(key, object)
  state.changed(object, false, before)
}

const putNewer = (state: ReflectorState, object: KubeObject): void => {
  if (!isOlder(object, state.cache.get(keyOfObject(object)))) put(state, object)
}

/**
 * Takes an object from an answer of the server, which may be ahead of the watch. If the watch is ahead and the cache
 * has no such object, then it was deleted since.
 */
const putAnswer = (state: ReflectorState, object: KubeObject): void => {
  const isBehind = Number(object.metadata.resourceVersion) <= Number(state.newestVersion)
  if (state.cache.has(keyOfObject(object)) || !isBehind) putNewer(state, object)
}

/** Makes the cache equal to a list, and returns the list's version. */
const takeList = (
  state: ReflectorState,
  { items, resourceVersion }: { readonly items: ReadonlyArray<KubeObject>; readonly resourceVersion: string }
): string => {
  const present = new Set(items.map(keyOfObject))
  // A copy, since a listener may put objects into the cache at once, and the list knows nothing of those.
  for (const [key, object] of [...state.cache]) if (!present.has(key)) remove(state, object)
  // A list counts even if it is older than the cache: a server may have been restored from a backup.
  for (const object of items) put(state, object)
  state.newestVersion = resourceVersion
  state.heard()
  state.isSynced = true
  state.synced.openUnsafe()
  return resourceVersion
}

/** Brings the cache from one version to the version of the last event, which is returned. */
const takeEvents = (state: ReflectorState, from: string, events: ReadonlyArray<WatchEvent>): string => {
  let version = from
  for (const event of events) {
    if (event._tag === "Bookmark") {
      version = event.resourceVersion
      continue
    }
    version = event.object.metadata.resourceVersion ?? version
    state.newestVersion = version
    if (event._tag === "Changed") putNewer(state, event.object)
    else remove(state, event.object)
  }
  return version
}

/** A watch has brought something, or has ended as watches do. */
const watchWorks = (state: ReflectorState): Effect.Effect<void> => {
  const isNews = state.watchFailures > 0
  state.failures = 0
  state.watchFailures = 0
  return isNews ? state.health.read : Effect.void
}

/** Watches from a version on, again and again, until a watch fails. */
const follow = (state: ReflectorState, from: string): Effect.Effect<never, KubeError> =>
  Effect.suspend(() => {
    const { api, ref, selection } = state
    let version = from
    const once = Effect.suspend(() =>
      Stream.runForEachArray(api.watch(ref, version, selection), (events) =>
        Effect.suspend(() => {
          state.heard()
          version = takeEvents(state, version, events)
          return watchWorks(state)
        })
      )
    )
    // A server ends a watch whenever it likes; a short pause protects a server that ends every watch at once.
    return Effect.forever(
      Effect.andThen(once, () =>
        Effect.andThen(Effect.andThen(watchWorks(state), countOne(state.restarts.ended)), Effect.sleep(firstPause))
      )
    )
  })

const pauseAfter = Effect.fnUntraced(function* (state: ReflectorState, error: KubeError): Effect.fn.Return<void> {
  yield* countOne(state.restarts.failed)
  const isOfWatch = state.isRead
  if (isOfWatch) state.watchFailures++
  // A watch from a version that is forgotten is no trouble: a list comes next.
  if (error.reason !== "Gone" || !isOfWatch) state.problem = error
  if (!isOfWatch || state.watchFailures > maxWatchFailures) yield* state.health.failed(error)
  const jitter = yield* Random.nextBetween(0.8, 1.2)
  yield* Queue.clear(state.wake)
  const pause = Math.min(maxPause, firstPause * 2 ** Math.min(state.failures++, 20)) * jitter
  if (error.retryAfterMs !== undefined) yield* Effect.sleep(error.retryAfterMs)
  yield* Effect.raceFirst(Effect.sleep(pause), Queue.take(state.wake))
})

/** Lists and watches until either fails, then pauses. */
const listAndWatch = (state: ReflectorState): Effect.Effect<void> =>
  Effect.suspend(() => {
    state.isRead = false
    return state.api.list(state.ref, state.selection)
  }).pipe(
    Effect.map((list) => takeList(state, list)),
    Effect.tap(() =>
      Effect.suspend(() => {
        state.problem = undefined
        state.isRead = true
        return state.watchFailures > maxWatchFailures ? Effect.void : state.health.read
      })
    ),
    // A list alone does not reset the failures: if every watch failed, listing over and over would be the heaviest load
    // of all.
    Effect.flatMap((version) => follow(state, version)),
    Effect.catch((error) => pauseAfter(state, error))
  )

const reread = (state: ReflectorState, name: string, namespace: string | undefined): Effect.Effect<void> =>
  state.api.get(state.ref, name, namespace).pipe(
    Effect.map((object) => putAnswer(state, object)),
    Effect.catch((error) =>
      Effect.sync(() => {
        const object = state.cache.get(keyOf(name, namespace))
        if (error.reason === "NotFound" && object !== undefined) remove(state, object)
      })
    )
  )

/**
 * Keeps a collection in memory for as long as the scope lives. Survives 410 (lists again without emptying the cache in
 * between), dropped watches, bookmarks and unreachable servers. An object that was created again under its name is
 * first reported as deleted. Level-triggered: a change may be reported more than once.
 */
export const makeReflector = Effect.fnUntraced(function* (
  api: KubeApi,
  ref: WatchedRef,
  changed: Changed,
  selection?: Selection
): Effect.fn.Return<Reflector, never, Scope.Scope> {
  const context = yield* Effect.context<never>()
  const state: ReflectorState = {
    api,
    ref,
    selection,
    changed: (object, deleted, before) => {
      try {
        changed(object, deleted, before)
      } catch (defect) {
        const details = { resource: ref.plural, name: object.metadata.name, defect: Cause.pretty(Cause.die(defect)) }
        Effect.runForkWith(context)(logError("a change was not handled", details))
      }
    },
    cache: new Map(),
    synced: yield* Latch.make(false),
    wake: yield* Queue.sliding<void>(1),
    restarts: yield* restartCounters(ref),
    heard: yield* hearWatch(api.cluster),
    health: yield* watchList(api.cluster, ref),
    isSynced: false,
    isRead: false,
    watchFailures: 0,
    problem: undefined,
    newestVersion: "",
    failures: 0
  }
  yield* Effect.forkScoped(Effect.forever(listAndWatch(state)))
  return {
    get: (name, namespace) => state.cache.get(keyOf(name, namespace)),
    all: () => [...state.cache.values()],
    synced: () => state.isSynced,
    awaitSynced: state.synced.await,
    problem: () => state.problem,
    reread: (name, namespace) => reread(state, name, namespace),
    wrote: (answer) => putAnswer(state, answer),
    retryNow: () => void Queue.offerUnsafe(state.wake, undefined)
  }
})
