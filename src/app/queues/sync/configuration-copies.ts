/**
 * Keeps the copies of one kind of configurations of queue splits in one member, for as long as it is engaged.
 * `domain/queues/configuration-sync-plan.ts` decides.
 *
 * Not here: which members are engaged (split-sync-capability.ts).
 */

import { Clock, Effect, Result, type Scope } from "effect"
import { quotation } from "../../../domain/clean-text.ts"
import { configurationNotCopiedEvent } from "../../../domain/events/configuration-sync-events.ts"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import {
  type ConfigurationStep,
  isSplitCopy,
  type ObservedConfiguration,
  planConfiguration,
  type RefusedCopy,
  type SplitConfigurationObject,
  type SyncedConfigurationKind,
  wantedOriginal,
  wantedVersion,
  type WrittenCopy
} from "../../../domain/queues/configuration-sync-plan.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { type Requeue, makeController } from "../../kernel/controller.ts"
import type { EventRecorder } from "../../kernel/event-recorder.ts"
import { logWarning } from "../../kernel/log.ts"
import {
  confirmGone,
  creation,
  deleteSeen,
  isRefusal,
  patchMirror,
  readMirror,
  type WatchedPlace
} from "../../kernel/mirrored-object.ts"
import { keyOfObject } from "../../kernel/planned-controller.ts"
import { readCached } from "../../kernel/read-cached.ts"
import { makeReflector, type Reflector } from "../../kernel/reflector.ts"

/** The configurations of one kind on the primary. */
export interface Originals {
  readonly resource: SyncedConfigurationKind
  /** The API of the primary's cluster. */
  readonly api: KubeApi
  readonly primaryUid: string
  readonly cache: Reflector
  readonly events: EventRecorder
}

/** A member, as long as it is engaged. */
export interface EngagedMember {
  readonly cluster: ClusterName
  readonly api: KubeApi
  /** Why it counts as lost; `undefined` if it does not. */
  readonly lost: () => string | undefined
}

/** The memory about one copy while it is engaged. */
interface KnownCopy {
  written: WrittenCopy | undefined
  refused: RefusedCopy | undefined
  /** The reason for which there is no copy, as people were told last. */
  told: string | undefined
}

interface CopiesState {
  readonly originals: Originals
  readonly member: EngagedMember
  readonly cache: Reflector
  /** By `namespace/name`. */
  readonly known: Map<string, KnownCopy>
  readonly enqueue: (key: string) => void
  /** Epoch ms. */
  readonly now: () => number
}

/** The copies of one kind in one member. */
export interface ConfigurationCopies {
  /** Looks again at a place, `namespace/name`, on the primary and in the member. */
  readonly enqueue: (key: string) => void
  /** Looks again at all places. */
  readonly enqueueAll: () => void
  /** Deletes all copies, as far as the member can be reached. */
  readonly leave: Effect.Effect<void>
}

const viewAt = ({ resource }: Originals, cache: Reflector, key: string): SplitConfigurationObject | undefined => {
  const [namespace, name = ""] = key.split("/")
  const object = cache.get(name, namespace)
  return object && Result.getOrUndefined(readCached(resource, object))
}

const placeOf = ({ api, cache, resource }: Omit<WatchedPlace, "name">, key: string): WatchedPlace => {
  const [namespace = "", name = ""] = key.split("/")
  return { api, cache, resource, name, namespace }
}

const copyPlace = ({ cache, member: { api }, originals: { resource } }: CopiesState, key: string): WatchedPlace =>
  placeOf({ api, cache, resource }, key)

const observe = ({ cache, known, member, originals }: CopiesState, key: string): ObservedConfiguration => ({
  resource: originals.resource,
  cluster: member.cluster,
  primaryUid: originals.primaryUid,
  original: viewAt(originals, originals.cache, key),
  copy: viewAt(originals, cache, key),
  written: known.get(key)?.written,
  refused: known.get(key)?.refused
})

const knownAt = ({ known }: CopiesState, key: string): KnownCopy => {
  const found = known.get(key) ?? { written: undefined, refused: undefined, told: undefined }
  known.set(key, found)
  return found
}

/** Whether all that counts is known: before it, an absence proves nothing. */
const isKnown = ({ cache, member, originals }: CopiesState): boolean =>
  originals.cache.synced() && cache.synced() && member.lost() === undefined

type Write = Extract<ConfigurationStep, { readonly _tag: "Create" | "Patch" | "Delete" }>

/** Carries out a write; `undefined` if another writer was first, and the caches know it. */
const write = Effect.fnUntraced(function* (
  state: CopiesState,
  key: string,
  step: Write
): Effect.fn.Return<KubeObject | "Deleted" | undefined, KubeError> {
  const { originals, member } = state
  const place = copyPlace(state, key)
  switch (step._tag) {
    case "Create": {
      const end = yield* creation(member.api.create(originals.resource, step.object, place.namespace))
      if (end._tag === "Refused") return yield* end.error
      const object = end._tag === "Made" ? end.object : yield* readMirror(place)
      if (object !== undefined) state.cache.wrote(object)
      return end._tag === "Made" ? end.object : undefined
    }
    case "Patch": {
      const metadata = { ...(step.patch["metadata"] as object | undefined), ...step.precondition }
      return yield* patchMirror(place, { ...step.patch, metadata })
    }
    case "Delete": {
      const isMeant = (found: KubeObject) =>
        Result.match(readCached(originals.resource, found), {
          onSuccess: (original) => wantedOriginal(original) !== undefined,
          onFailure: () => true
        })
      yield* confirmGone(placeOf(originals, key), isMeant)
      yield* deleteSeen(place, step.precondition)
      yield* state.cache.reread(place.name, place.namespace)
      return "Deleted"
    }
  }
})

/** The member's refusal, as a sentence. */
const refusalOf = ({ member: { cluster }, originals }: CopiesState, key: string, error: KubeError, step: Write) => {
  const [namespace = ""] = key.split("/")
  return step._tag === "Create" && error.reason === "NotFound"
    ? `Cluster ${cluster} has no namespace ${namespace}: create it there, or take the sessions' targets elsewhere.`
    : `Cluster ${cluster} does not take the ${originals.resource.kind} ${key}: ${quotation(error.detail)}.`
}

const performWrite = Effect.fnUntraced(function* (
  state: CopiesState,
  key: string,
  step: Write
): Effect.fn.Return<Requeue, KubeError> {
  const version = wantedVersion(observe(state, key))
  const done = yield* Effect.result(write(state, key, step))
  if (Result.isSuccess(done)) {
    if (done.success === undefined) return "Conflict"
    const at = state.now()
    const written =
      done.success === "Deleted" ? undefined : { version, generation: done.success.metadata.generation, at }
    Object.assign(knownAt(state, key), { written, refused: undefined })
    state.enqueue(key)
    return undefined
  }
  const { failure } = done
  if (failure.reason === "Conflict") {
    const { name, namespace } = copyPlace(state, key)
    yield* state.cache.reread(name, namespace)
    return "Conflict"
  }
  if (!isRefusal(failure)) return yield* failure
  knownAt(state, key).refused = { version, why: refusalOf(state, key, failure, step), at: state.now() }
  state.enqueue(key)
  return undefined
})

/** Tells people once why there is no copy. */
const tell = (state: CopiesState, key: string, why: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const known = knownAt(state, key)
    if (known.told === why) return Effect.void
    known.told = why
    const { events, resource } = state.originals
    const { original } = observe(state, key)
    const { cluster } = state.member
    if (original !== undefined) events.record(resource, original, configurationNotCopiedEvent(cluster, why))
    const details = { kind: resource.kind, configuration: key, cluster, problem: why }
    return logWarning("a configuration of queue splits has no copy", details)
  })

const reconcile = (state: CopiesState, key: string): Effect.Effect<Requeue, KubeError> =>
  Effect.suspend((): Effect.Effect<Requeue, KubeError> => {
    if (!isKnown(state)) return Effect.undefined
    const now = state.now()
    const step = planConfiguration(observe(state, key), now)
    switch (step._tag) {
      case "Done":
        return Effect.sync(() => {
          const known = state.known.get(key)
          if (known !== undefined) known.told = undefined
          const { copy, original } = observe(state, key)
          if (copy === undefined && original === undefined) state.known.delete(key)
          return undefined
        })
      case "Taken":
        return Effect.as(tell(state, key, step.why), undefined)
      case "Refused":
        return Effect.as(tell(state, key, step.why), { after: Math.max(1, step.until - now) })
      case "Later":
        return Effect.succeed({ after: Math.max(1, step.until - now) })
      case "Ending":
        return Effect.undefined
      default:
        return performWrite(state, key, step)
    }
  })

const keysOf = ({ cache, originals }: CopiesState): ReadonlyArray<string> => [
  ...new Set([...originals.cache.all(), ...cache.all()].map(keyOfObject))
]

/** How many copies are deleted at a time when the member leaves. */
const maxDeletes = 8

const leave = (state: CopiesState): Effect.Effect<void> =>
  Effect.suspend(() => {
    const copies = state.cache.all().filter(({ metadata }) => isSplitCopy(metadata, state.originals.primaryUid))
    const remove = (copy: KubeObject) =>
      deleteSeen(copyPlace(state, keyOfObject(copy)), { uid: copy.metadata.uid ?? "" }).pipe(
        Effect.catch(({ message }) =>
          logWarning("a copy stays in a cluster that has left the fleet", {
            kind: state.originals.resource.kind,
            configuration: keyOfObject(copy),
            cluster: state.member.cluster,
            problem: message
          })
        )
      )
    return Effect.forEach(copies, remove, { concurrency: maxDeletes, discard: true })
  })

/** Follows the copies for as long as the scope lives. */
export const makeConfigurationCopies = Effect.fnUntraced(function* (
  originals: Originals,
  member: EngagedMember
): Effect.fn.Return<ConfigurationCopies, never, Scope.Scope> {
  const { resource } = originals
  const clock = yield* Clock.Clock
  const { enqueue } = yield* makeController({
    name: `${resource.kind}Copy`,
    reconcile: (key) => reconcile(state, key)
  })
  const cache = yield* makeReflector(member.api, resource, (object) => enqueue(keyOfObject(object)))
  const now = (): number => clock.currentTimeMillisUnsafe()
  const state: CopiesState = { originals, member, cache, known: new Map(), enqueue, now }
  const enqueueAll = (): void => keysOf(state).forEach(enqueue)
  // Where a list is empty, no event tells that it is known.
  yield* Effect.forkScoped(Effect.andThen(cache.awaitSynced, Effect.sync(enqueueAll)))
  return { enqueue, enqueueAll, leave: leave(state) }
})
