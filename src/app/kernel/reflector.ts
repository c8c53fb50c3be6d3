import { Effect, Latch, Queue, Random, Ref, type Scope, Stream } from "effect"
import type { KubeApi, KubeError, KubeObject, ResourceRef, Selection } from "../../ports/kube-api.ts"

/** Bounds of the pause before a failed list or watch is tried again, in ms. */
const firstPause = 250
const longestPause = 5_000

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
  /** Why the cluster cannot be read at the moment, if so. */
  readonly problem: () => KubeError | undefined
  /**
   * Reads one object anew, for a caller who has just learnt that it changed: a watch may be open and yet lose changes.
   */
  readonly reread: (name: string, namespace?: string) => Effect.Effect<void>
  /** Takes the answer to a write of one's own, so that the next write is not decided from what was before it. */
  readonly wrote: (answer: KubeObject) => void
  /** Ends a pause after failures at once: somebody else has just seen that the server answers. */
  readonly retryNow: () => void
}

/** Versions that are numbers can be compared; of others nothing is known. */
const isOlder = (object: KubeObject, than: KubeObject | undefined): boolean =>
  than !== undefined &&
  than.metadata.uid === object.metadata.uid &&
  Number(object.metadata.resourceVersion) < Number(than.metadata.resourceVersion)

const keyOf = (name: string, namespace: string | undefined): string =>
  namespace === undefined ? name : `${namespace}/${name}`

/**
 * Keeps a collection in memory for as long as the scope lives. Survives 410 (lists again without emptying the cache in
 * between), dropped watches, bookmarks and unreachable servers; `changed` is called after each change, with the object
 * as it is now or was last, and with what was known of it before. An object that was made anew under its name is first
 * reported as deleted. Level-triggered: a change may be reported more than once.
 */
export const makeReflector = (
  api: KubeApi,
  ref: ResourceRef,
  changed: (object: KubeObject, deleted: boolean, before: KubeObject | undefined) => void,
  selection?: Selection
): Effect.Effect<Reflector, never, Scope.Scope> =>
  Effect.gen(function* () {
    const cache = new Map<string, KubeObject>()
    const synced = yield* Latch.make(false)
    const problem = yield* Ref.make<KubeError | undefined>(undefined)
    let isSynced = false
    /** The newest version that list and watch have told of. */
    let told = ""

    const put = (object: KubeObject): void => {
      const key = keyOf(object.metadata.name, object.metadata.namespace)
      const known = cache.get(key)
      if (known !== undefined && known.metadata.uid !== object.metadata.uid) remove(known)
      const before = cache.get(key)
      if (before !== undefined && before.metadata.resourceVersion === object.metadata.resourceVersion) return
      cache.set(key, object)
      changed(object, false, before)
    }
    const putNewer = (object: KubeObject): void => {
      if (!isOlder(object, cache.get(keyOf(object.metadata.name, object.metadata.namespace)))) put(object)
    }
    /**
     * What a server answered may be ahead of the watch. It is behind where the watch has got further and the cache has
     * no such object: it was deleted meanwhile.
     */
    const putAnswer = (object: KubeObject): void => {
      const { name, namespace, resourceVersion } = object.metadata
      if (cache.has(keyOf(name, namespace)) || !(Number(resourceVersion) <= Number(told))) putNewer(object)
    }
    const remove = (object: KubeObject): void => {
      const key = keyOf(object.metadata.name, object.metadata.namespace)
      const before = cache.get(key)
      // It was made anew meanwhile: only its predecessor is gone.
      if (before === undefined || before.metadata.uid !== object.metadata.uid) return
      cache.delete(key)
      changed(object, true, before)
    }

    const relist = Effect.map(api.list(ref, selection), ({ items, resourceVersion }) => {
      const present = new Set(items.map(({ metadata }) => keyOf(metadata.name, metadata.namespace)))
      for (const [key, object] of cache) if (!present.has(key)) remove(object)
      // A list is the truth, be it older than what was known: a server may have been restored from a backup.
      for (const object of items) put(object)
      told = resourceVersion
      isSynced = true
      synced.openUnsafe()
      return resourceVersion
    })

    let failures = 0
    const wake = yield* Queue.sliding<void>(1)
    const follow = (from: string): Effect.Effect<never, KubeError> =>
      Effect.suspend(() => {
        let version = from
        const once = Effect.suspend(() =>
          Stream.runForEachArray(api.watch(ref, version, selection), (events) =>
            Effect.sync(() => {
              failures = 0
              for (const event of events) {
                if (event._tag === "Bookmark") {
                  version = event.resourceVersion
                  continue
                }
                version = event.object.metadata.resourceVersion ?? version
                told = version
                if (event._tag === "Changed") putNewer(event.object)
                else remove(event.object)
              }
            })
          )
        )
        // A server ends a watch whenever it likes; a short pause keeps a server that ends each at once from being
        // hammered.
        return Effect.forever(
          Effect.andThen(once, () => {
            failures = 0
            return Effect.sleep(firstPause)
          })
        )
      })

    // A list alone proves nothing: where the watch fails each time, listing over and over would be the heaviest load of
    // all.
    const attempt = relist.pipe(
      Effect.tap(() => Ref.set(problem, undefined)),
      Effect.flatMap(follow),
      Effect.catch((error) =>
        Effect.gen(function* () {
          if (error.reason !== "Gone") yield* Ref.set(problem, error)
          const jitter = yield* Random.nextBetween(0.8, 1.2)
          yield* Queue.clear(wake)
          const pause = Math.min(longestPause, firstPause * 2 ** Math.min(failures++, 20)) * jitter
          if (error.retryAfterMs !== undefined) yield* Effect.sleep(error.retryAfterMs)
          yield* Effect.raceFirst(Effect.sleep(pause), Queue.take(wake))
        })
      )
    )
    yield* Effect.forkScoped(Effect.forever(attempt))
    return {
      get: (name, namespace) => cache.get(keyOf(name, namespace)),
      all: () => [...cache.values()],
      synced: () => isSynced,
      awaitSynced: synced.await,
      problem: () => Ref.getUnsafe(problem),
      reread: (name, namespace) =>
        api.get(ref, name, namespace).pipe(
          Effect.map(putAnswer),
          Effect.catch((error) =>
            Effect.sync(() => {
              const object = cache.get(keyOf(name, namespace))
              if (error.reason === "NotFound" && object !== undefined) remove(object)
            })
          )
        ),
      wrote: putAnswer,
      retryNow: () => void Queue.offerUnsafe(wake, undefined)
    }
  })
