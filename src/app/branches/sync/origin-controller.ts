/**
 * The controller of the branches of databases in the cluster of a primary whose default cluster is another one: each
 * has a copy in the default cluster, where it is made, and repeats the copy's status.
 * `domain/branches/sync/origin-plan.ts` decides.
 *
 * Not here: copies whose origin is gone (cluster-copies.ts), and making branches (app/branches).
 */

import { Clock, Effect, type Scope, Semaphore } from "effect"
import { lacksArchive, withArchive } from "../../../domain/branches/sync/copy-object.ts"
import {
  type ObservedOrigin,
  type OriginAction,
  planOrigin,
  type SeenCluster
} from "../../../domain/branches/sync/origin-plan.ts"
import {
  type BranchAddress,
  copyOf,
  type CopyReference,
  originOf,
  ownerOf,
  phaseOf,
  type SyncedBranch
} from "../../../domain/branches/sync/synced-branch.ts"
import { branchSyncEvents, orderWaitsEvent } from "../../../domain/events/branch-sync-events.ts"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { isBeingDeleted } from "../../../domain/resources/object-meta.ts"
import type { KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { audit } from "../../kernel/audit.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { logWarning } from "../../kernel/log.ts"
import {
  changedMeanwhile,
  confirmGone,
  creation,
  deleteSeen,
  patchMirror,
  readMirror,
  writeStatus
} from "../../kernel/mirrored-object.ts"
import {
  keyOfObject,
  makePlannedController,
  memoryOf,
  type PlannedController,
  type PlannedTurns,
  type Turn
} from "../../kernel/planned-controller.ts"
import type { CountedBranches } from "../branch-places.ts"
import { createRefusal, listRefusal } from "./copy-refusals.ts"
import {
  type BranchSyncOptions,
  copyAddress,
  type CopiesOfCluster,
  isAlive,
  keyOf,
  type KnownOrigin,
  type SyncState,
  viewOf
} from "./sync-state.ts"

type OriginTurn = Turn<SyncedBranch, KnownOrigin>
type Performed = Exclude<OriginAction, { readonly _tag: "RequeueAt" }>
type Act<Tag extends Performed["_tag"]> = Extract<Performed, { readonly _tag: Tag }>

/** The cluster in which an origin's copy is or is to be: a copy stays where it is when the default changes. */
const clusterOf = (
  { clusters, ownCluster }: BranchSyncOptions,
  origin: SyncedBranch,
  { copy }: KnownOrigin
): ClusterName | undefined => {
  const known = copyOf(origin) ?? copy
  return known?.cluster ?? clusters().find(({ isDefault, name }) => isDefault && name !== ownCluster)?.name
}

const seenOf = (
  { engaged, options, origins }: SyncState,
  { known, view }: OriginTurn,
  cluster: ClusterName | undefined
): SeenCluster => {
  if (cluster === undefined) return { _tag: "Away", why: "the fleet has none" }
  const lost = options
    .clusters()
    .find(({ name }) => name === cluster)
    ?.lost()
  const copies = engaged.get(cluster)
  if (lost !== undefined || copies === undefined) return { _tag: "Away", why: lost }
  const { cache, view: branch } = copies.controller
  if (!cache.synced()) {
    const problem = cache.problem()
    const why = listRefusal(cluster, options.resource, problem)
    if (why !== undefined) return { _tag: "Refused", why }
    return { _tag: "Away", why: problem && `the branches of cluster ${cluster} cannot be listed: ${problem.detail}` }
  }
  const address = copyAddress(view, known, options)
  const copy = address === undefined ? undefined : branch(keyOf(address))
  const originAt = (place: BranchAddress) => origins.view(keyOf(place))
  return { _tag: "Listed", found: copy && { copy, owner: ownerOf(copy, options.primary.uid, originAt) } }
}

/** An origin among those of all kinds. */
const placeOf = ({ options: { resource } }: Pick<SyncState, "options">, key: string): string =>
  `${resource.kind} ${key}`

/** Why an origin without copy is beyond the bounds; `undefined` if it is not. Its copy's namespace counts. */
const boundProblem = (state: SyncState, { key, known, view }: OriginTurn): string | undefined => {
  const { places } = state.options
  const place = placeOf(state, key)
  if (phaseOf(view) === "Failed") places.giveBack(place)
  const address = copyAddress(view, known, state.options)
  const isNew = copyOf(view) === undefined && known.copy === undefined && phaseOf(view) === undefined
  return isNew && address !== undefined ? places.take(place, address.namespace) : undefined
}

const observed = (state: SyncState, turn: OriginTurn): ObservedOrigin => {
  const { known, view } = turn
  known.refusal ??= boundProblem(state, turn)
  const cluster = clusterOf(state.options, view, known)
  const { copy, failedSince, refusal, written } = known
  const { primary, resource } = state.options
  return {
    resource,
    origin: view,
    primary,
    cluster,
    seen: seenOf(state, turn, cluster),
    known: copy,
    written,
    refusal,
    failedSince
  }
}

/** The copies of the cluster that a turn is about; it may have been disengaged since. */
const copiesFor = (state: SyncState, { known, view }: OriginTurn) => {
  const cluster = clusterOf(state.options, view, known)
  return cluster === undefined ? undefined : state.engaged.get(cluster)
}

/** How many archives of migrations are sent on at a time: each takes some MB. */
const maxArchives = 4

/** Uses an object, or a patch of one, with the archive of the origin's migrations, which no cache has. */
const withItsArchive = (
  state: SyncState,
  { key, view: { metadata } }: OriginTurn,
  part: object,
  use: (whole: object) => Effect.Effect<void, KubeError>
): Effect.Effect<void, KubeError> => {
  const { generation, uid } = metadata
  if (!lacksArchive(part)) return use(part)
  return state.archives.withPermit(
    Effect.flatMap(readMirror(state.origins.place(key)), (found) =>
      found !== undefined && found.metadata.uid === uid && found.metadata.generation === generation
        ? use(withArchive(part, found))
        : Effect.fail(changedMeanwhile(state.options.api, "get", `the branch ${key} is another by now`))
    )
  )
}

/** Tells people once that a branch waits. `why`: a clause. */
const tellWaiting = ({ options: { events, resource } }: SyncState, { known, view }: OriginTurn, why: string): void => {
  if (known.toldWaiting === why) return
  known.toldWaiting = why
  events.record(resource, view, orderWaitsEvent(why))
}

/** The name is taken: an earlier try was carried out, another writer was faster, or a finalizer keeps an old branch. */
const nameTaken = Effect.fnUntraced(function* (
  state: SyncState,
  turn: OriginTurn,
  copies: CopiesOfCluster,
  address: BranchAddress
): Effect.fn.Return<never, KubeError> {
  const { api, cluster, controller } = copies
  const branch = `the branch ${keyOf(address)}`
  const found = yield* readMirror(controller.place(keyOf(address)))
  if (found !== undefined && isAlive(found)) controller.cache.wrote(found)
  else if (found !== undefined) tellWaiting(state, turn, `${branch} is still being deleted in cluster ${cluster}`)
  return yield* changedMeanwhile(api, "create", `${branch} is there`)
})

const performCreate = (
  state: SyncState,
  turn: OriginTurn,
  { address, object }: Act<"CreateCopy">
): Effect.Effect<void, KubeError> =>
  Effect.suspend(() => {
    const copies = copiesFor(state, turn)
    if (copies === undefined) return Effect.void
    const { api, cluster, controller } = copies
    const { name, namespace } = address
    const { key, known, view } = turn
    const create = (whole: object): Effect.Effect<void, KubeError> =>
      Effect.flatMap(creation(api.create(state.options.resource, whole, namespace)), (end) => {
        if (end._tag === "Taken") return nameTaken(state, turn, copies, address)
        state.origins.enqueue(key)
        if (end._tag === "Refused") {
          known.refusal = createRefusal(cluster, address, end.error)
          return Effect.void
        }
        const { metadata } = end.object
        known.copy = { cluster, namespace, uid: metadata.uid ?? "" }
        known.written = { origin: view.metadata.generation, copy: metadata.generation }
        controller.cache.wrote(end.object)
        return audit({ act: "branched", branch: name, namespace, clusters: [cluster] })
      })
    return withItsArchive(state, turn, object, create)
  })

const performPatchCopy = (
  state: SyncState,
  turn: OriginTurn,
  { address, generation, patch, precondition }: Act<"PatchCopy">
): Effect.Effect<void, KubeError> =>
  Effect.suspend(() => {
    const copies = copiesFor(state, turn)
    if (copies === undefined) return Effect.void
    const place = copies.controller.place(keyOf(address))
    const metadata = { ...(patch["metadata"] as object | undefined), ...precondition }
    return withItsArchive(state, turn, { ...patch, metadata }, (whole) =>
      Effect.map(patchMirror(place, whole), (after) => {
        if (after !== undefined) turn.known.written = { origin: generation, copy: after.metadata.generation }
      })
    )
  })

/** Makes sure of a copy that is missing. */
const makeSure = (
  state: SyncState,
  turn: OriginTurn,
  missing: Act<"DeleteOrigin">["missing"]
): Effect.Effect<void, KubeError> =>
  Effect.suspend(() => {
    if (missing === undefined) return Effect.void
    const copies = copiesFor(state, turn)
    if (copies === undefined)
      return Effect.fail(changedMeanwhile(state.options.api, "delete", "its cluster is not known any more"))
    const reference = copyOf(turn.view) ?? turn.known.copy
    return confirmGone(
      copies.controller.place(keyOf(missing)),
      (found) => originOf(found)?.uid === turn.view.metadata.uid || found.metadata.uid === reference?.uid
    )
  })

const performPatchStatus = (
  state: SyncState,
  turn: OriginTurn,
  { missing, patch, precondition }: Act<"PatchStatus">
): Effect.Effect<void, KubeError> => {
  const { events, resource } = state.options
  return makeSure(state, turn, missing).pipe(
    Effect.andThen(() => writeStatus(state.origins.place(turn.key), { metadata: precondition, status: patch })),
    Effect.map((after) => events.changed(resource, turn.view, after, branchSyncEvents))
  )
}

const performDelete = Effect.fnUntraced(function* (
  state: SyncState,
  turn: OriginTurn,
  { missing, uid, why }: Act<"DeleteOrigin">
): Effect.fn.Return<void, KubeError> {
  const { name, namespace = "" } = turn.view.metadata
  yield* makeSure(state, turn, missing)
  if ((yield* deleteSeen(state.origins.place(turn.key), { uid })) === "Gone") return
  yield* audit({ act: "branchDeleted", branch: name, namespace, message: why })
})

const perform = (state: SyncState, turn: OriginTurn, action: Performed): Effect.Effect<void, KubeError> => {
  switch (action._tag) {
    case "CreateCopy":
      return performCreate(state, turn, action)
    case "PatchCopy":
      return performPatchCopy(state, turn, action)
    case "PatchStatus":
      return performPatchStatus(state, turn, action)
    case "DeleteOrigin":
      return performDelete(state, turn, action)
    case "TellWaiting":
      return Effect.sync(() => tellWaiting(state, turn, action.why))
  }
}

/** The memory about this very origin; that about an earlier one of its name is dropped. */
const knownOrigin = ({ known }: SyncState, key: string, origin: SyncedBranch, now: number): KnownOrigin => {
  const current = memoryOf<KnownOrigin>(known, key, {
    uid: origin.metadata.uid,
    copy: undefined,
    written: undefined,
    refusal: undefined,
    failedSince: undefined,
    toldWaiting: undefined
  })
  if (phaseOf(origin) === "Failed") current.failedSince ??= now
  return current
}

/** Whether a copy is known to be gone; another branch may have its name since. */
const isGone = ({ engaged }: SyncState, { cluster, namespace, uid }: CopyReference, name: string): boolean => {
  const cache = engaged.get(cluster)?.controller.cache
  return cache !== undefined && cache.synced() && cache.get(name, namespace)?.metadata.uid !== uid
}

/** Plans the copy as well: it may be without origin now, or in the way of this one. */
const originChanged = (state: SyncState, object: KubeObject, deleted: boolean): void => {
  const { engaged, known, options, origins, stopped } = state
  origins.enqueue(keyOfObject(object))
  const origin = viewOf(object)
  if (origin === undefined) return
  const { name, uid = "" } = origin.metadata
  const before = known.get(keyOfObject(object))
  const copy = before?.uid === uid ? before.copy : undefined
  const reference = copyOf(origin) ?? copy
  const isOver = (deleted || !isAlive(origin)) && reference !== undefined && reference.borrowed !== true
  if (isOver && !isGone(state, reference, name)) stopped.add(uid)
  const address = copyAddress(origin, { copy }, options)
  if (address === undefined) return
  for (const { controller } of engaged.values())
    if (controller.cache.get(address.name, address.namespace) !== undefined) controller.enqueue(keyOf(address))
}

const turnsOf = (state: SyncState): PlannedTurns<SyncedBranch, KnownOrigin, ObservedOrigin, Performed> => ({
  changed: (object, deleted) => originChanged(state, object, deleted),
  forget: (key) =>
    Effect.sync(() => {
      state.known.delete(key)
      state.options.places.giveBack(placeOf(state, key))
    }),
  unreadable: (key, problem) => logWarning("branch of a database ignored", { branch: key, problem }),
  isOver: ({ metadata }) => isBeingDeleted(metadata),
  known: (key, view) => Effect.map(Clock.currentTimeMillis, (now) => knownOrigin(state, key, view, now)),
  observe: (turn) => observed(state, turn),
  plan: planOrigin,
  perform: (turn, action) => perform(state, turn, action),
  order: "AllAtOnce"
})

/** The origins of a kind whose copies are made or being made. */
export const begunOrigins = (state: SyncState): CountedBranches =>
  state.origins.cache.all().flatMap((object) => {
    const origin = viewOf(object)
    const copy = origin === undefined || phaseOf(origin) === "Failed" ? undefined : copyOf(origin)
    return copy === undefined ? [] : [[placeOf(state, keyOfObject(object)), copy.namespace] as const]
  })

/** Runs the controller for as long as the scope lives. No cluster is engaged yet. */
export const makeOriginController = Effect.fnUntraced(function* (
  options: BranchSyncOptions
): Effect.fn.Return<SyncState, never, Scope.Scope> {
  const archives = yield* Semaphore.make(maxArchives)
  const parts = { options, known: new Map(), stopped: new Set<string>(), engaged: new Map(), archives }
  yield* countHolding("branches in two clusters", () => parts.known.size + parts.stopped.size)
  const stateOf = (origins: PlannedController<SyncedBranch>): SyncState => ({ ...parts, origins })
  return stateOf(
    yield* makePlannedController(
      { name: `${options.resource.kind}Origin`, api: options.api, resource: options.resource },
      (self) => turnsOf(stateOf(self))
    )
  )
})
