/**
 * The skeleton of a controller whose decisions are a pure plan. A turn reads one object from the cache, observes, plans
 * and performs. The caller says how to observe, plan and perform; this file knows no kind of resource.
 */

import { Clock, Effect, Result, type Scope } from "effect"
import type { ResourceDescriptor, WatchedResource } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError, KubeObject, Selection } from "../../ports/kube-api.ts"
import { type Controller, makeController, type Requeue } from "./controller.ts"
import { isHeartbeatOnly } from "./heartbeat-only.ts"
import type { WatchedPlace } from "./mirrored-object.ts"
import { readCached, readHeartbeat } from "./read-cached.ts"
import { makeReflector, type Reflector } from "./reflector.ts"

/** The resource of a controller, and where its objects are. */
export interface ControlledResource<T> {
  /** The controller's name in the log. */
  readonly name: string
  readonly api: KubeApi
  readonly resource: WatchedResource<T>
  readonly selection?: Selection
}

/** One turn about one object. `Known`: the memory of the process about the object, from turn to turn. */
export interface Turn<T, Known> {
  readonly key: string
  /** The object as cached, or as this turn's heartbeat answered. */
  readonly object: KubeObject
  /** The fields of `object` that its kind names. */
  readonly view: T
  readonly known: Known
  /** When the turn began, epoch ms. */
  readonly now: number
}

/** A write at a fixed rate. The turn goes on with its answer, because the cached object is older. */
export interface Heartbeat {
  /** `undefined` while no write is due. */
  readonly write: Effect.Effect<KubeObject, KubeError> | undefined
  /** When the next write is due, epoch ms. */
  readonly nextAt: number | undefined
}

/** The action of a plan that the skeleton performs itself: another turn at a time, epoch ms. */
interface RequeueAt {
  readonly _tag: "RequeueAt"
  readonly at: number
}

/** The functions of a controller's turns. All are called for one key at a time. */
export interface PlannedTurns<T, Known, Observation, Action extends { readonly _tag: string }> {
  /**
   * The cache has changed. `object`: its new version, or its last version after a deletion; `before`: its cached
   * version.
   */
  readonly changed: (object: KubeObject, deleted: boolean, before: KubeObject | undefined) => void
  /** The object does not exist, or not any more. */
  readonly forget: (key: string) => Effect.Effect<void>
  /** The object cannot be read as its kind. It is left alone until it changes. */
  readonly unreadable: (key: string, problem: string) => Effect.Effect<void>
  /** Whether the object is forgotten while it is still there, such as when its deletion has begun. */
  readonly isOver: (view: T) => boolean
  readonly known: (key: string, view: T) => Effect.Effect<Known>
  readonly heartbeat?: (turn: Turn<T, Known>) => Heartbeat
  readonly observe: (turn: Turn<T, Known>) => Observation
  readonly plan: (observation: Observation, now: number) => ReadonlyArray<Action | RequeueAt>
  readonly perform: (turn: Turn<T, Known>, action: Action) => Effect.Effect<unknown, KubeError>
  /** `AllAtOnce`: no action waits for another. `InOrder`: an action that fails is the last one of its turn. */
  readonly order: "AllAtOnce" | "InOrder"
}

export interface PlannedController<T> extends Controller {
  readonly cache: Reflector
  /** The object as cached; `undefined` if there is none, or if it cannot be read. */
  readonly view: (key: string) => T | undefined
  /** Where the object is or would be. */
  readonly place: (key: string) => WatchedPlace
}

/**
 * The memory about this very object. The memory about an earlier object of its name is dropped. `fresh`: the memory
 * about an object that was not seen before.
 */
export const memoryOf = <Known extends { readonly uid: string | undefined }>(
  memory: Map<string, Known>,
  key: string,
  fresh: Known
): Known => {
  const known = memory.get(key)
  if (known !== undefined && known.uid === fresh.uid) return known
  memory.set(key, fresh)
  return fresh
}

/** The key of an object: `name`, or `namespace/name`. */
export const keyOfObject = ({ metadata: { name, namespace } }: KubeObject): string =>
  namespace === undefined ? name : `${namespace}/${name}`

const addressOf = (key: string): readonly [name: string, namespace?: string] => {
  const slash = key.indexOf("/")
  return slash === -1 ? [key] : [key.slice(slash + 1), key.slice(0, slash)]
}

const isRequeue = <Action extends { readonly _tag: string }>(action: Action | RequeueAt): action is RequeueAt =>
  action._tag === "RequeueAt"

/** Performs a plan and returns the failures. A conflict does not keep the other actions from being performed. */
const performAll = <T, Known, Observation, Action extends { readonly _tag: string }>(
  turns: PlannedTurns<T, Known, Observation, Action>,
  turn: Turn<T, Known>,
  actions: ReadonlyArray<Action>
): Effect.Effect<ReadonlyArray<KubeError>> => {
  // Most turns are about a heartbeat, and nothing follows from them.
  if (actions.length === 0) return Effect.succeed([])
  if (turns.order === "InOrder") {
    return Effect.forEach(actions, (action) => turns.perform(turn, action), { discard: true }).pipe(
      Effect.match({ onFailure: (error) => [error], onSuccess: () => [] })
    )
  }
  return Effect.forEach(actions, (action) => Effect.result(turns.perform(turn, action)), {
    concurrency: "unbounded"
  }).pipe(Effect.map((results) => results.flatMap((result) => (Result.isFailure(result) ? [result.failure] : []))))
}

/** The answer to a write as the cache has taken it: the reading of an object is remembered for that very object. */
const asCached = (cache: Pick<Reflector, "get">, answer: KubeObject): KubeObject => {
  const { name, namespace, resourceVersion } = answer.metadata
  const cached = cache.get(name, namespace)
  return cached?.metadata.resourceVersion === resourceVersion ? (cached ?? answer) : answer
}

/** One turn of a controller: reads, writes a heartbeat that is due, observes, plans and performs. */
const plannedReconcile = Effect.fnUntraced(function* <T, Known, Observation, Action extends { readonly _tag: string }>(
  resource: ResourceDescriptor<T>,
  cache: Pick<Reflector, "get" | "reread">,
  turns: PlannedTurns<T, Known, Observation, Action>,
  key: string
): Effect.fn.Return<Requeue, KubeError> {
  const cached = cache.get(...addressOf(key))
  if (cached === undefined) {
    yield* turns.forget(key)
    return undefined
  }
  const read = readCached(resource, cached)
  if (Result.isFailure(read)) {
    yield* turns.unreadable(key, read.failure.message)
    return undefined
  }
  if (turns.isOver(read.success)) {
    yield* turns.forget(key)
    return undefined
  }
  const known = yield* turns.known(key, read.success)
  const now = yield* Clock.currentTimeMillis
  const begun: Turn<T, Known> = { key, object: cached, view: read.success, known, now }
  const beat = turns.heartbeat?.(begun) ?? { write: undefined, nextAt: undefined }
  // The answer is the base of all further decisions: a decision from the cache would conflict with this very write.
  const object = beat.write === undefined ? cached : asCached(cache, yield* beat.write)
  if (isHeartbeatOnly(cached, object)) readHeartbeat(resource, cached, object)
  const current = readCached(resource, object)
  if (Result.isFailure(current)) return undefined

  const turn = { ...begun, object, view: current.success }
  const planned = turns.plan(turns.observe(turn), now)
  const actions = planned.filter((action): action is Action => !isRequeue(action))
  const failures = yield* performAll(turns, turn, actions)
  const serious = failures.find(({ reason }) => reason !== "Conflict")
  if (serious !== undefined) return yield* serious
  if (failures.length > 0) {
    yield* cache.reread(...addressOf(key))
    return "Conflict"
  }
  const dueTimes = planned.filter(isRequeue).map(({ at }) => at)
  const next = Math.min(...dueTimes, beat.nextAt ?? Infinity)
  return Number.isFinite(next) ? { after: Math.max(1, next - now) } : undefined
})

/**
 * Starts a controller with a cache of its resource, for as long as the scope lives. `turnsOf` is given the controller
 * itself, for work between turns that wants another turn; it must not read the cache yet.
 */
export const makePlannedController = Effect.fnUntraced(function* <
  T,
  Known,
  Observation,
  Action extends { readonly _tag: string }
>(
  { api, name, resource, selection }: ControlledResource<T>,
  turnsOf: (self: PlannedController<T>) => PlannedTurns<T, Known, Observation, Action>
): Effect.fn.Return<PlannedController<T>, never, Scope.Scope> {
  const { enqueue } = yield* makeController({
    name,
    reconcile: (key) => plannedReconcile(resource, cache, turns, key)
  })
  const self: PlannedController<T> = {
    enqueue,
    get cache() {
      return cache
    },
    place: (key) => {
      const [name, namespace] = addressOf(key)
      return { api, resource, cache, name, ...(namespace === undefined ? {} : { namespace }) }
    },
    view: (key) => {
      const object = cache.get(...addressOf(key))
      const read = object === undefined ? undefined : readCached(resource, object)
      return read !== undefined && Result.isSuccess(read) ? read.success : undefined
    }
  }
  const turns = turnsOf(self)
  const cache = yield* makeReflector(api, resource, turns.changed, selection)
  return self
})
