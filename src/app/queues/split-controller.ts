/**
 * The controller of the splits of queues in one cluster: looks at everything about a workload whose queues are split,
 * has the next steps planned, and carries them out.
 *
 * Not here: the plan (domain/queues/split-plan.ts), the actions (perform-split-action.ts), and what sessions ask
 * (session-splits.ts).
 */

import { Clock, Effect, Exit, Result, Scope } from "effect"
import { quoted } from "../../domain/clean-text.ts"
import { asObject, at } from "../../domain/json.ts"
import type { SplitObjects } from "../../domain/queues/chosen-configuration.ts"
import { byStart } from "../../domain/queues/chosen-session.ts"
import { isolatedLabel } from "../../domain/queues/isolate-step.ts"
import { isPodOf } from "../../domain/queues/pod-of-workload.ts"
import { patchedLabel } from "../../domain/queues/pod-patch.ts"
import { podWebhook, podWebhookName, type WebhookClient } from "../../domain/queues/pod-webhook.ts"
import { placeOfKey, splitKey, type SplitPlace } from "../../domain/queues/split-place.ts"
import { splitPlan } from "../../domain/queues/split-plan.ts"
import { splitPods } from "../../domain/queues/split-pods.ts"
import { isWanted } from "../../domain/queues/split-refusal.ts"
import { storedQueue, type StoredQueue, queueRecords } from "../../domain/queues/stored-queue.ts"
import { splitSessions, storedSession, type StoredSession } from "../../domain/queues/stored-session.ts"
import { splitPatches, storedSplit, type StoredSplit } from "../../domain/queues/stored-split.ts"
import { deployments, type Workload } from "../../domain/resources/core-kinds.ts"
import {
  readResource,
  type ResourceDescriptor,
  type WatchedResource
} from "../../domain/resources/resource-descriptor.ts"
import { kindAddress } from "../../domain/targets/target.ts"
import type { KubeError, KubeObject } from "../../ports/kube-api.ts"
import { callLimit, type QueueError } from "../../ports/message-queues.ts"
import { type Controller, makeController, type Requeue } from "../kernel/controller.ts"
import { countHolding } from "../kernel/holdings.ts"
import { logWarning } from "../kernel/log.ts"
import { orIf } from "../kernel/or-if.ts"
import { readCached } from "../kernel/read-cached.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { auditEnds } from "./audit-splits.ts"
import { isolatePods } from "./isolate-pods.ts"
import { forgetEnded, type KnownSplit, makeKnownSplit } from "./known-split.ts"
import { observeSplit, resolvedOf, type SeenSplit } from "./observe-split.ts"
import { type ActingServices, performSplitAction } from "./perform-split-action.ts"
import type { SplittingOptions } from "./queue-splitting.ts"
import { type ResolveServices, resolveSplit } from "./resolve-split.ts"
import { type MakeForwarders, makeRunningForwarders } from "./running-forwarders.ts"
import { webhookState } from "./split-webhook.ts"

/** How long the queues of a configuration are not looked up again while its objects are the same, ms. */
const resolveEvery = 60_000
/** How long after a look-up or a deletion that was not answered the next is made, ms. */
const resolveAgain = 5_000
/** Milliseconds between two looks at a workload about which nothing was heard. */
const lookEvery = 30_000
/** How long a process that led before may still have effects at SQS, ms. */
const fence = callLimit

/** Everything that the splits of one cluster stand on. */
export interface SplitServices extends Omit<ActingServices, "splits" | "records" | "sessions"> {
  readonly resolving: ResolveServices
  /** The configurations of queues. */
  readonly objects: (namespace: string) => SplitObjects
  /** How API servers reach this operator. */
  readonly webhookClient: Effect.Effect<WebhookClient, KubeError>
  readonly sharedForwarders: SplittingOptions["sharedForwarders"]
}

/** Workloads with their selectors. */
const splitWorkload: ResourceDescriptor<Workload> = deployments

interface FollowedPods {
  readonly selector: string
  readonly scope: Scope.Closeable
  readonly cache: Reflector
  /** Whether a turn has seen the first list, which is no news then. */
  isSeen: boolean
}

/** A split that the process knows, with its loops. */
interface Entry {
  readonly known: KnownSplit
  readonly scope: Scope.Closeable
  /** The pods of the workload, and the selection by which they are followed. */
  pods: FollowedPods | undefined
}

interface State {
  readonly services: SplitServices
  readonly acting: ActingServices
  readonly entries: Map<string, Entry>
  readonly splits: Reflector
  readonly records: Reflector
  readonly sessions: Reflector
  readonly scope: Scope.Scope
  readonly fencedUntil: number
  readonly makeForwarders: MakeForwarders
  /** Asks for another turn about a workload. */
  readonly enqueue: (key: string) => void
}

/** The objects of a cache as their kind, without those that cannot be read. */
const readAll = <T>(resource: WatchedResource<T>, cache: Reflector): ReadonlyArray<T> =>
  cache.all().flatMap((object) => {
    const read = readCached(resource, object)
    return Result.isSuccess(read) ? [read.success] : []
  })

const allSplits = ({ splits }: Pick<State, "splits">): ReadonlyArray<StoredSplit> =>
  readAll(splitPatches, splits).flatMap((object) => storedSplit(object) ?? [])

const allSessions = ({ sessions }: Pick<State, "sessions">): ReadonlyArray<StoredSession> =>
  readAll(splitSessions, sessions).flatMap((object) => storedSession(object) ?? [])

const allQueues = ({ records }: Pick<State, "records">): ReadonlyArray<StoredQueue> =>
  readAll(queueRecords, records).flatMap((object) => storedQueue(object) ?? [])

/** Everything of one workload that the caches show. */
const storedOf = (state: State, key: string) => ({
  stored: allSplits(state).find(({ place }) => splitKey(place) === key),
  sessions: allSessions(state).filter(({ place }) => splitKey(place) === key),
  queues: allQueues(state).filter(({ place }) => splitKey(place) === key)
})

/** The workload as it is now; `undefined` if there is none. */
const readWorkload = ({ api }: SplitServices, { kind, name, namespace }: SplitPlace) =>
  api.get({ ...kindAddress(kind), scope: "Namespaced" }, name, namespace).pipe(orIf("NotFound", Effect.undefined))

const isIsolated = ({ metadata: { labels } }: KubeObject): boolean => labels?.[isolatedLabel] !== undefined

/** Pods of the workload, and those without a controller that were its pods or read as these do. */
const isOwn = (pod: KubeObject, place: SplitPlace): boolean => {
  const { labels, ownerReferences = [] } = pod.metadata
  const isFree = ownerReferences.every(({ controller }) => controller !== true)
  return isPodOf(pod, place) || (isFree && (isIsolated(pod) || labels?.[patchedLabel] !== undefined))
}

/** Finds the pods of a workload. Pods of a deleted one may read its temporary queues until they are gone. */
const selectorOf = (workload: KubeObject | undefined): string =>
  workload === undefined
    ? patchedLabel
    : Object.entries(asObject(at(workload, "spec", "selector", "matchLabels")))
        .map(([key, value]) => `${key}=${String(value)}`)
        .toSorted()
        .join(",")

/** Follows the pods of the workload. */
const followPods = Effect.fnUntraced(function* (
  state: State,
  entry: Entry,
  workload: KubeObject | undefined
): Effect.fn.Return<ReadonlyArray<KubeObject>> {
  const { place } = entry.known
  const selector = selectorOf(workload)
  if (entry.pods?.selector !== selector) {
    if (entry.pods !== undefined) yield* Scope.close(entry.pods.scope, Exit.void)
    const scope = yield* Scope.fork(entry.scope)
    const selection = { namespace: place.namespace, labelSelector: selector }
    const key = splitKey(place)
    const changed = (): void => {
      // Otherwise the look at a split of which nothing is left would be followed by another one, for ever.
      if (entry.pods?.isSeen === true) state.enqueue(key)
    }
    const cache = yield* makeReflector(state.services.api, splitPods, changed, selection).pipe(Scope.provide(scope))
    entry.pods = { selector, scope, cache, isSeen: false }
  }
  yield* entry.pods.cache.awaitSynced
  entry.pods.isSeen = true
  return entry.pods.cache.all().filter((pod) => isOwn(pod, place))
})

/** The versions of everything from which the queues of a configuration are looked up. */
const inputsOf = (workload: KubeObject, { registries, splitConfigs }: SplitObjects, container: string): string =>
  [workload, ...splitConfigs, ...registries]
    .map(({ metadata: { generation, uid } }) => `${uid ?? ""}/${generation ?? ""}`)
    .concat(container)
    .join(" ")

/** Looks up the queues of the configuration again if that is due. The result says when it is due next, epoch ms. */
const resolve = Effect.fnUntraced(function* (
  state: State,
  { known }: Entry,
  workload: KubeObject,
  container: string
): Effect.fn.Return<number> {
  const { place } = known
  const objects = state.services.objects(place.namespace)
  const inputs = inputsOf(workload, objects, container)
  const now = yield* Clock.currentTimeMillis
  const before = known.resolution
  if (before !== undefined && before.inputs === inputs && now < before.at + resolveEvery)
    return before.at + resolveEvery
  const wanted = { ...place, container }
  const found = yield* Effect.result(resolveSplit(state.services.resolving, wanted, workload, objects))
  if (Result.isFailure(found)) {
    yield* logWarning("queues of a workload were not looked up", {
      namespace: place.namespace,
      workload: place.name,
      problem: found.failure.message
    })
    return now + resolveAgain
  }
  known.resolution = { inputs, at: now, result: found.success }
  return now + resolveEvery
})

/** Why the queues cannot be split: another workload's split has one of them. */
const clashOf = (state: State, key: string, { known }: Entry, own: StoredSplit | undefined): string | undefined => {
  const resolved = resolvedOf(known)
  if (resolved === undefined) return undefined
  const names = new Set(resolved.sources.map(({ identity }) => identity))
  for (const other of allSplits(state)) {
    // The split that was there first stays.
    const isFirst = own === undefined || other.record.uid < own.record.uid
    if (splitKey(other.place) === key || !isFirst) continue
    const shared = other.record.sources.find(({ identity }) => names.has(identity))
    if (shared === undefined) continue
    const { name, namespace } = other.place
    return (
      `The queue ${quoted(shared.name)} is split for the workload ${quoted(name)} in the namespace ${namespace} now, ` +
      "and one queue has one split: wait until that is over, or use that workload as the target."
    )
  }
  return undefined
}

const entryOf = Effect.fnUntraced(function* (state: State, key: string, place: SplitPlace): Effect.fn.Return<Entry> {
  const before = state.entries.get(key)
  if (before !== undefined) return before
  const scope = yield* Scope.fork(state.scope)
  const sessions = () => storedOf(state, key).sessions
  const { makeForwarders } = state
  const known = yield* makeKnownSplit(place, {
    sessions,
    changed: () => state.enqueue(key),
    makeForwarders
  }).pipe(Scope.provide(scope))
  const entry: Entry = { known, scope, pods: undefined }
  state.entries.set(key, entry)
  return entry
})

/** Forgets a split of which nothing is left. */
const forget = (state: State, key: string): Effect.Effect<undefined> =>
  Effect.suspend(() => {
    const entry = state.entries.get(key)
    state.entries.delete(key)
    return entry === undefined ? Effect.undefined : Effect.as(Scope.close(entry.scope, Exit.void), undefined)
  })

/** The webhook for the workload's pods: as it is, and as it has to be. */
const webhookOf = Effect.fnUntraced(function* (
  { services }: State,
  place: SplitPlace,
  stored: StoredSplit | undefined,
  workload: KubeObject | undefined
): Effect.fn.Return<SeenSplit["webhook"], KubeError> {
  const name = podWebhookName(place, sha256Hex)
  const view = workload === undefined ? undefined : Result.getOrUndefined(readResource(splitWorkload, workload))
  if (stored === undefined || view === undefined)
    return { name, wanted: undefined, state: yield* webhookState(services.api, name, undefined) }
  // Without a client there is no new webhook; an old one can be removed all the same.
  const wanted = Result.map(yield* Effect.result(services.webhookClient), (client) =>
    podWebhook({
      name,
      split: stored.record.uid,
      namespace: place.namespace,
      selector: view.spec?.selector ?? {},
      client
    })
  )
  return { name, wanted, state: yield* webhookState(services.api, name, Result.getOrUndefined(wanted)) }
})

/** The names and uids of what a split has. */
const liveOf = (
  stored: StoredSplit | undefined,
  sessions: ReadonlyArray<StoredSession>,
  queues: ReadonlyArray<StoredQueue>
): ReadonlySet<string> =>
  new Set([
    ...(stored === undefined ? [] : [stored.record.uid]),
    ...queues.map(({ name }) => name),
    ...sessions.flatMap(({ wanted }) => [
      wanted.uid,
      ...(wanted.queues._tag === "Own" ? [] : wanted.queues.given.map(({ queue }) => queue))
    ])
  ])

/** Everything about a split, as it is now, and when to look again at the latest. */
const look = Effect.fnUntraced(function* (
  state: State,
  key: string,
  place: SplitPlace
): Effect.fn.Return<{ readonly seen: SeenSplit; readonly lookAt: number }, KubeError | QueueError> {
  const { services } = state
  const { queues, sessions, stored } = storedOf(state, key)
  const entry = yield* entryOf(state, key, place)
  const { known } = entry
  const workload = yield* readWorkload(services, place)
  const pods = yield* followPods(state, entry, workload)
  const wanted = sessions.filter((session) => isWanted(session.wanted))
  const container = stored?.container ?? wanted.toSorted((a, b) => byStart(a.wanted, b.wanted))[0]?.container
  const now = yield* Clock.currentTimeMillis
  forgetEnded(known, liveOf(stored, sessions, queues), now)
  let lookAt = now + lookEvery
  if (workload !== undefined && container !== undefined)
    lookAt = Math.min(lookAt, yield* resolve(state, entry, workload, container))
  const webhook = yield* webhookOf(state, place, stored, workload)
  const clash = clashOf(state, key, entry, stored)
  const { fencedUntil } = state
  const seen = { known, stored, sessions, container, queues, workload, pods, webhook, clash, fencedUntil }
  return { seen, lookAt }
})

/** Whether nothing is left of a split and nothing asks for it. */
const isOver = ({ known, queues, sessions, stored, webhook }: SeenSplit): boolean =>
  stored === undefined &&
  sessions.length === 0 &&
  queues.length === 0 &&
  webhook.state === "Absent" &&
  known.forwarders.running().length === 0 &&
  known.drains.running().length === 0

/**
 * Ends what the strategy `isolatePods` has begun with a pod, whatever has become of the split since. Gives the time to
 * come here again at the latest; `undefined` if no pod is out of its set.
 */
const endIsolation = Effect.fnUntraced(function* (
  { services: { api } }: State,
  { known: { place }, pods, workload }: SeenSplit
): Effect.fn.Return<number | undefined> {
  if (workload !== undefined && !pods.some(isIsolated)) return undefined
  const until = yield* Effect.result(isolatePods(api, place, 0))
  if (Result.isSuccess(until)) return until.success
  const { name, namespace } = place
  yield* logWarning("isolated pod was not deleted", { namespace, workload: name, problem: until.failure.message })
  return (yield* Clock.currentTimeMillis) + resolveAgain
})

/** Sessions whose filters are not known yet would lose their messages to the workload. */
const isReadable = ({ known, sessions, workload }: SeenSplit): boolean =>
  known.resolution !== undefined || sessions.length === 0 || workload === undefined

const reconcile = Effect.fnUntraced(function* (
  state: State,
  key: string
): Effect.fn.Return<Requeue, KubeError | QueueError> {
  const place = placeOfKey(key)
  if (place === undefined) return undefined
  for (const cache of [state.splits, state.records, state.sessions]) yield* cache.awaitSynced
  const { lookAt, seen } = yield* look(state, key, place)
  const isolatedUntil = yield* endIsolation(state, seen)
  yield* auditEnds(seen)
  const now = yield* Clock.currentTimeMillis
  const later = Math.min(lookAt, isolatedUntil ?? Infinity)
  if (isOver(seen)) return isolatedUntil === undefined ? yield* forget(state, key) : { after: Math.max(1, later - now) }
  if (!isReadable(seen)) return { after: Math.max(1, later - now) }
  const plan = splitPlan(observeSplit(seen, now), now)
  const actions = plan.flatMap((action) => {
    // With the record, a new process would forget the pod that is out of its set.
    const isEarly = action._tag === "DeleteRecord" && isolatedUntil !== undefined
    return action._tag === "RequeueAt" || isEarly ? [] : [action]
  })
  const results = yield* Effect.forEach(actions, (action) => performSplitAction(state.acting, seen, action), {
    concurrency: "unbounded"
  })
  if (results.includes("Conflict")) return "Conflict"
  // Another turn sees the results, failures among them: the session hears of them.
  if (results.includes("Done") || results.includes("Failed")) return { after: 1 }
  const times = [
    ...plan.flatMap((action) => (action._tag === "RequeueAt" ? [action.at] : [])),
    ...results.flatMap((result) => (typeof result === "object" ? [result.again] : []))
  ]
  return { after: Math.max(1, Math.min(later, ...times) - now) }
})

/** The splits of a cluster. */
export interface Splits {
  readonly started: Effect.Effect<void>
  /** The sessions that split queues, as cached. */
  readonly sessions: () => ReadonlyArray<StoredSession>
  readonly splits: () => ReadonlyArray<StoredSplit>
  readonly queues: () => ReadonlyArray<StoredQueue>
  /** The pods of a workload whose queues are split; none until they are known. */
  readonly pods: (place: SplitPlace) => ReadonlyArray<KubeObject>
  /** The objects of sessions' parts that cannot be read, each with a sentence that says why. */
  readonly unreadable: () => ReadonlyArray<readonly [object: KubeObject, problem: string]>
  /** The splits that this process carries on. */
  readonly known: () => ReadonlyArray<KnownSplit>
  /** Has everything about a namespace's workloads looked at again, since a configuration has changed there. */
  readonly configurationChanged: (namespace: string) => void
  /** The answer to the creation of one's own object. */
  readonly ordered: (session: KubeObject) => void
}

/** Runs the controller for as long as the scope lives. */
export const makeSplits = Effect.fnUntraced(function* (
  services: SplitServices
): Effect.fn.Return<Splits, never, Scope.Scope> {
  const { api } = services
  const entries = new Map<string, Entry>()
  yield* countHolding("splits of queues", () => entries.size)
  const reconciler: { controller: Controller | undefined } = { controller: undefined }
  const enqueue = (key: string): void => reconciler.controller?.enqueue(key)
  const changed = (place: SplitPlace | undefined): void => {
    if (place !== undefined) enqueue(splitKey(place))
  }
  const splits = yield* makeReflector(api, splitPatches, (object) =>
    changed(placeIn(splitPatches, object, storedSplit))
  )
  const records = yield* makeReflector(api, queueRecords, (object) =>
    changed(placeIn(queueRecords, object, storedQueue))
  )
  const sessions = yield* makeReflector(api, splitSessions, (object) =>
    changed(placeIn(splitSessions, object, storedSession))
  )
  const { sharedForwarders } = services
  const makeForwarders: MakeForwarders =
    sharedForwarders === undefined
      ? (_place, options) => makeRunningForwarders(options)
      : yield* sharedForwarders(api, changed)
  const state: State = {
    services,
    makeForwarders,
    acting: { ...services, splits, records, sessions },
    entries,
    splits,
    records,
    sessions,
    scope: yield* Effect.scope,
    fencedUntil: (yield* Clock.currentTimeMillis) + fence,
    enqueue
  }
  reconciler.controller = yield* makeController({ name: "QueueSplit", reconcile: (key) => reconcile(state, key) })
  return {
    started: Effect.forEach([splits, records, sessions], ({ awaitSynced }) => awaitSynced, { discard: true }),
    sessions: () => allSessions(state),
    splits: () => allSplits(state),
    queues: () => allQueues(state),
    pods: (place) => {
      const pods = entries.get(splitKey(place))?.pods?.cache.all() ?? []
      return pods.filter((pod) => isOwn(pod, place))
    },
    unreadable: () =>
      sessions.all().flatMap((object) => {
        const read = readCached(splitSessions, object)
        return Result.isFailure(read) ? [[object, read.failure.message] as const] : []
      }),
    known: () => [...entries.values()].map(({ known }) => known),
    configurationChanged: (namespace) => {
      for (const [key, { known }] of entries) if (known.place.namespace === namespace) enqueue(key)
    },
    ordered: sessions.wrote
  }
})

/** The workload of an object in a cache; `undefined` for objects that are not ours. */
const placeIn = <T>(
  resource: WatchedResource<T>,
  object: KubeObject,
  read: (view: T) => { readonly place: SplitPlace } | undefined
): SplitPlace | undefined => {
  const view = readCached(resource, object)
  return Result.isSuccess(view) ? read(view.success)?.place : undefined
}
