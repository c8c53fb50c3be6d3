/**
 * The controllers of the branches of databases in one cluster, one for each kind of resource, and their directory for
 * sessions. `domain/branches/branch-plan.ts` decides; make-branch-pod.ts makes pods. Branches are deleted as resources
 * alone: the cluster deletes what belongs to them.
 *
 * Not here: copies of resources between the clusters of a fleet.
 */

import { Clock, Effect, Exit, Result, type Scope, Semaphore, Struct } from "effect"
import { podRefusal } from "../../domain/agents/job-trouble.ts"
import { admittedBranch, type BranchRules } from "../../domain/branches/branch-admission.ts"
import type { BranchCredentials } from "../../domain/branches/branch-credentials.ts"
import { type BranchKind, branchKinds } from "../../domain/branches/branch-kinds.ts"
import { branchPodName } from "../../domain/branches/branch-name.ts"
import {
  awaitedFrom,
  type BranchAction,
  expiryAfterUse,
  type ObservedBranch,
  planBranch
} from "../../domain/branches/branch-plan.ts"
import { branchPodState } from "../../domain/branches/branch-pod-state.ts"
import { type BranchRequest, readBranchRequest, ttlMillisOf } from "../../domain/branches/branch-request.ts"
import { sessionsChangeAt, sessionsNow } from "../../domain/branches/branch-sessions.ts"
import type { BranchAccess } from "../../domain/branches/dialect.ts"
import { leftOutProblem } from "../../domain/branches/kept-branch.ts"
import type { ObservedMigrations, PodlessJob } from "../../domain/branches/migrations/migration-plan.ts"
import { migrationDigest } from "../../domain/branches/migrations/migration-request.ts"
import type { MigrationRun } from "../../domain/branches/migrations/migration-run.ts"
import { requestAnnotation, requestDigest } from "../../domain/branches/request-digest.ts"
import { branchPods, watchedBranches } from "../../domain/branches/watched-branches.ts"
import { branchEvents, branchExpiredEvent, branchWaitsEvent } from "../../domain/events/branch-events.ts"
import { events } from "../../domain/events/event-object.ts"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import { asString, at } from "../../domain/json.ts"
import type { BranchDatabase } from "../../domain/resources/branches/branch-database.ts"
import { isBeingDeleted, timestamp } from "../../domain/resources/object-meta.ts"
import type { SessionBounds } from "../../domain/sessions/session-bounds.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import type { ApiError } from "../api/status.ts"
import { audit } from "../kernel/audit.ts"
import type { EventRecorder } from "../kernel/event-recorder.ts"
import { countHolding } from "../kernel/holdings.ts"
import { logWarning } from "../kernel/log.ts"
import { changedMeanwhile, type StatusPatch, writeStatus } from "../kernel/mirrored-object.ts"
import { orIf } from "../kernel/or-if.ts"
import {
  keyOfObject,
  makePlannedController,
  type PlannedController,
  type PlannedTurns,
  type Turn
} from "../kernel/planned-controller.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import type { BranchDirectory, BranchUse, UsableBranch } from "./branch-directory.ts"
import { awaitedUntil, type BranchMemory, type KnownBranch, knownBranch } from "./branch-memory.ts"
import { BranchPlaces, type CountedBranches } from "./branch-places.ts"
import { isOwnedBy, makeBranchPod, readPassword } from "./make-branch-pod.ts"
import { endMigrations, makeMigrations } from "./make-migrations.ts"
import { makeMigrationRuns, type MigrationRuns } from "./migration-runs.ts"
import { makeOfferedCredentials, type OfferedCredentials } from "./offered-credentials.ts"
import { onceRead } from "./session-branch-refusal.ts"
import { takeCredentials } from "./take-credentials.ts"

export interface BranchesOptions {
  readonly api: KubeApi
  /** `api` with retries, for calls that a client waits for. */
  readonly awaited: KubeApi
  readonly rules: BranchRules
  readonly events: EventRecorder
  readonly bounds: SessionBounds
}

type BranchTurn = Turn<BranchDatabase, KnownBranch>
type Performed = Exclude<BranchAction, { readonly _tag: "RequeueAt" }>
type Act<Tag extends Performed["_tag"]> = Extract<Performed, { readonly _tag: Tag }>

/** The directory for sessions, and the way for values that clients send for branches. */
export interface MadeBranches extends BranchDirectory {
  /** Takes values, and returns the name of the Secret that the branch's spec is to name. */
  readonly takeCredentials: (credentials: BranchCredentials, caller: Caller) => Effect.Effect<string, ApiError>
}

interface State {
  readonly options: BranchesOptions
  readonly offered: OfferedCredentials
  readonly kind: BranchKind
  readonly memory: BranchMemory
  readonly podCache: Reflector
  readonly runs: MigrationRuns
  readonly places: BranchPlaces
  /** For the archives of migrations that are in memory. */
  readonly archives: Semaphore.Semaphore
  readonly self: PlannedController<BranchDatabase>
}

/** Label of the pods of branches, by which other programs find them too. */
const podLabel = "db-owner-name"

const keyOf = (namespace: string | undefined, name: string): string => `${namespace ?? ""}/${name}`

/** The pod of a branch, if it is there. */
const podOf = ({ podCache }: Pick<State, "podCache">, branch: BranchDatabase): KubeObject | undefined => {
  const pod = podCache.get(branchPodName(branch.metadata), branch.metadata.namespace)
  return pod !== undefined && isOwnedBy(pod, branch) ? pod : undefined
}

/** Migrations that cannot be read fail alone, and do not make another branch of it. */
const requestOf = ({ metadata, spec }: BranchDatabase): Result.Result<BranchRequest, string> => {
  const leftOut = leftOutProblem(metadata)
  return leftOut === undefined ? readBranchRequest({ ...spec, migrations: null }) : Result.fail(leftOut)
}

/** Whether a spec that can be read asks for another database than the pod was made for. */
const isChanged = (branch: BranchDatabase, pod: KubeObject | undefined): boolean => {
  const digest = pod?.metadata.annotations?.[requestAnnotation]
  const request = requestOf(branch)
  return digest !== undefined && Result.isSuccess(request) && requestDigest(request.success, sha256Hex) !== digest
}

/** The Job of a run, if it has no pod: remembered, since Events are only asked for when that lasts. */
const podlessJob = ({ known, now }: Pick<BranchTurn, "known" | "now">, run: MigrationRun): PodlessJob | undefined => {
  const isPodless = run._tag === "Job" && run.state._tag === "Waiting" && !run.state.hasPod
  if (!isPodless) known.podless = undefined
  else if (known.podless?.job !== run.uid) known.podless = { job: run.uid, since: now }
  return known.podless
}

/**
 * The migrations that a branch asks for; `undefined` if none. `refusal`: why it could not be made as its spec is now.
 */
const observedMigrations = (
  { runs }: State,
  { known, now, view }: BranchTurn,
  admitted: ReturnType<typeof admittedBranch>
): ObservedMigrations | undefined => {
  if ((view.spec.migrations ?? undefined) === undefined) return undefined
  const cached = runs.of(view.metadata)
  const run = cached._tag === "Job" && cached.uid === known.endedJob ? ({ _tag: "Ending" } as const) : cached
  const obstacle = known.obstacle?.generation === view.metadata.generation ? known.obstacle : undefined
  const podless = podlessJob({ known, now }, run)
  if (Result.isFailure(admitted)) return { digest: "", refusal: admitted.failure, obstacle, run, podless }
  const { migrations } = admitted.success.request
  const digest = migrations === undefined ? "" : migrationDigest(migrations, sha256Hex)
  return { digest, refusal: undefined, obstacle, run, podless }
}

/** A branch among those of all kinds. */
const placeOf = ({ kind }: Pick<State, "kind">, key: string): string => `${kind.resource.kind} ${key}`

/** Why a branch is beyond the bounds that has not begun; `undefined` if it is not. */
const boundProblem = (state: State, { key, view: { metadata, status } }: BranchTurn): string | undefined => {
  const place = placeOf(state, key)
  if (status?.phase === "Failed") state.places.giveBack(place)
  return (status?.phase ?? "Init") === "Init" ? state.places.take(place, metadata.namespace ?? "") : undefined
}

const observed = (state: State, turn: BranchTurn): ObservedBranch => {
  const { known, now, view } = turn
  const { metadata, spec } = view
  const status = view.status ?? undefined
  const stored = status?.sessionInfo ?? {}
  const admitted = admittedBranch(state.options.rules, view)
  if (Result.isSuccess(admitted) || status?.phase === "Failed") known.refusal ??= boundProblem(state, turn)
  const pod = podOf(state, view)
  return {
    metadata,
    status,
    podName: branchPodName(metadata),
    refusal: known.refusal ?? (Result.isFailure(admitted) ? state.kind.inOwnWords(admitted.failure) : undefined),
    ttlMillis: ttlMillisOf(spec),
    pod: branchPodState(pod),
    isChanged: isChanged(view, pod),
    password: typeof known.password === "string" ? known.password : "Known",
    migrations: observedMigrations(state, turn, admitted),
    sessions: sessionsNow(known, stored, now),
    sessionsChangeAt: sessionsChangeAt(known, stored, now),
    awaitedUntil: awaitedUntil(known)
  }
}

const audited = ({ metadata: { name, namespace }, spec: { target } }: BranchDatabase) => ({
  branch: name,
  target: `${target.kind.toLowerCase()}.${target.name}`,
  ...(namespace === undefined ? {} : { namespace })
})

const performMakePod = (
  { kind, offered, options: { api, rules }, podCache, self }: State,
  { key, known, view }: BranchTurn
): Effect.Effect<void, KubeError> =>
  makeBranchPod({ api, rules, kind, offered }, view).pipe(
    Effect.flatMap(({ password, pod }) => {
      known.password = password
      podCache.wrote(pod)
      return audit({ act: "branched", ...audited(view) })
    }),
    Effect.catchTag("BranchRefused", ({ why }) =>
      Effect.sync(() => {
        known.refusal = why
        self.enqueue(key)
      })
    )
  )

const performReadPassword = (
  { options: { api }, self }: State,
  { key, known, view }: BranchTurn
): Effect.Effect<void, KubeError> =>
  Effect.map(readPassword(api, view), (password) => {
    known.password = password ?? "Gone"
    self.enqueue(key)
  })

/** How many Jobs of migrations are made at a time: each takes some MB while its archive is read and sent. */
const maxArchives = 4
/** When migrations are tried again that the cluster did not take, in ms. */
const tryMigrationsAgain = 60_000

const performMakeMigrations = (state: State, { key, known, now, view }: BranchTurn): Effect.Effect<void, KubeError> => {
  const {
    kind,
    options: { api, rules },
    runs,
    self
  } = state
  const host = asString(at(podOf(state, view), "status", "podIP")) ?? ""
  return state.archives.withPermit(makeMigrations({ api, kind, rules }, view, host)).pipe(
    Effect.flatMap((job) => {
      known.obstacle = undefined
      runs.wrote(job)
      return audit({ act: "branchMigrated", ...audited(view) })
    }),
    Effect.catchTag("BranchRefused", ({ why }) =>
      Effect.sync(() => {
        known.obstacle = { generation: view.metadata.generation, why, retryAt: now + tryMigrationsAgain }
        self.enqueue(key)
      })
    )
  )
}

/** Asks why a Job of migrations has no pod. The rights may be those of an earlier release, and it is asked again. */
const performAskWhyNoPod = (
  { options: { api }, self }: State,
  { key, known, now, view }: BranchTurn,
  { job: { job, since, why: before } }: Act<"AskWhyNoPod">
): Effect.Effect<void> =>
  api.list(events, { namespace: view.metadata.namespace ?? "", fields: { "involvedObject.uid": job } }).pipe(
    Effect.map(({ items }) => podRefusal(items)),
    Effect.catch((error) =>
      Effect.as(Effect.annotateLogs(Effect.logDebug("Events were not read"), { problem: error.message }), undefined)
    ),
    Effect.map((why) => {
      known.podless = { job, since, askedAt: now, why, isLasting: why !== undefined && before !== undefined }
      if (known.podless.isLasting === true) self.enqueue(key)
    })
  )

const patchStatus = (
  { kind: { resource }, options: { events }, self }: State,
  api: KubeApi,
  branch: BranchDatabase,
  patch: StatusPatch
): Effect.Effect<void, KubeError> =>
  Effect.map(writeStatus({ ...self.place(keyOfObject(branch)), api }, patch), (after) =>
    events.changed(resource, branch, after, branchEvents)
  )

const performDelete = Effect.fnUntraced(function* (
  state: State,
  { key, known, view }: BranchTurn,
  { precondition, why }: Act<"DeleteBranch">
): Effect.fn.Return<void, KubeError> {
  // The turn may have paused since it was planned. No session can use a branch that has failed.
  const isAwaited = (awaitedUntil(known) ?? 0) > (yield* Clock.currentTimeMillis)
  if (view.status?.phase !== "Failed" && (isAwaited || Object.keys(known.uses).length > 0)) {
    return yield* changedMeanwhile(state.options.api, "delete", `a session has begun to use the branch ${key}`)
  }
  known.isEnding = true
  const { api, events } = state.options
  const { resource } = state.kind
  const { name, namespace } = view.metadata
  // A primary may have it kept for a session by an annotation that is not seen yet.
  yield* api.delete(resource, name, { ...precondition, ...(namespace === undefined ? {} : { namespace }) }).pipe(
    Effect.andThen(audit({ act: "branchDeleted", message: why, ...audited(view) })),
    Effect.andThen(
      Effect.sync(() => {
        if (view.status?.phase === "Ready") events.record(resource, view, branchExpiredEvent)
      })
    ),
    orIf("NotFound", Effect.void),
    Effect.onError(() => Effect.sync(() => void (known.isEnding = false)))
  )
})

const perform = (state: State, turn: BranchTurn, action: Performed): Effect.Effect<void, KubeError> => {
  switch (action._tag) {
    case "MakePod":
      return performMakePod(state, turn)
    case "ReadPassword":
      return performReadPassword(state, turn)
    case "MakeMigrations":
      return performMakeMigrations(state, turn)
    case "AskWhyNoPod":
      return performAskWhyNoPod(state, turn, action)
    case "EndMigrations":
      return Effect.map(
        endMigrations(state.options.api, turn.view, action),
        () => void (turn.known.endedJob = action.uid)
      )
    case "PatchStatus":
      return patchStatus(state, state.options.api, turn.view, {
        metadata: action.precondition,
        status: action.patch
      })
    case "DeleteBranch":
      return performDelete(state, turn, action)
    case "TellWaiting":
      return Effect.sync(() => {
        // Once: the scheduler's words change with every node.
        if (turn.known.hasToldWaiting) return
        turn.known.hasToldWaiting = true
        state.options.events.record(state.kind.resource, turn.view, branchWaitsEvent(action.why))
      })
  }
}

/** How long a branch waits for a list that fails before an Event reports it. */
const tellUnlisted = "10 seconds"

/** Waits until a collection has been read, for as long as that takes. `what`: the subject of a clause. */
const onceListed = (
  { kind, options: { events } }: State,
  branch: BranchDatabase,
  { awaitSynced, problem }: Pick<Reflector, "awaitSynced" | "problem">,
  what: string
): Effect.Effect<void> => {
  const tell = Effect.sync(() =>
    events.record(
      kind.resource,
      branch,
      branchWaitsEvent(`${what} cannot be listed: ${problem()?.detail ?? "no answer yet"}`)
    )
  )
  return Effect.timeoutOrElse(awaitSynced, { duration: tellUnlisted, orElse: () => Effect.andThen(tell, awaitSynced) })
}

const turnsOf = (state: State): PlannedTurns<BranchDatabase, KnownBranch, ObservedBranch, Performed> => {
  const { memory, podCache, runs, self } = state
  return {
    changed: ({ metadata }) => self.enqueue(keyOf(metadata.namespace, metadata.name)),
    forget: (key) =>
      Effect.sync(() => {
        memory.delete(key)
        state.places.giveBack(placeOf(state, key))
      }),
    unreadable: (key, problem) => logWarning("branch of a database ignored", { branch: key, problem }),
    isOver: ({ metadata }) => isBeingDeleted(metadata),
    // A pod or a run that has not been read would count as gone.
    known: (key, view) =>
      onceListed(state, view, podCache, "the pods of branches").pipe(
        Effect.andThen(
          (view.spec.migrations ?? undefined) === undefined
            ? Effect.void
            : onceListed(state, view, runs, "the Jobs of migrations")
        ),
        Effect.andThen(Effect.map(Clock.currentTimeMillis, (now) => knownBranch(memory, key, view.metadata, now)))
      ),
    observe: (turn) => observed(state, turn),
    plan: planBranch,
    perform: (turn, action) => perform(state, turn, action),
    order: "InOrder"
  }
}

const accessOf = (
  state: State,
  branch: BranchDatabase,
  { dialect, databaseName }: BranchRequest
): BranchAccess | undefined => {
  const { name, namespace } = branch.metadata
  const password = state.memory.get(keyOf(namespace, name))?.password
  const host = asString(at(podOf(state, branch), "status", "podIP"))
  return branch.status?.phase !== "Ready" ||
    host === undefined ||
    password === undefined ||
    typeof password === "string"
    ? undefined
    : { host, port: dialect.port, user: dialect.user, password, database: databaseName }
}

const find = (state: State, namespace: string, name: string): UsableBranch | undefined => {
  const branch = state.self.view(keyOf(namespace, name))
  if (branch === undefined) return undefined
  const request = Result.mapError(requestOf(branch), state.kind.inOwnWords)
  const over = isBeingDeleted(branch.metadata) || state.memory.get(keyOf(namespace, name))?.isEnding === true
  return {
    uid: branch.metadata.uid ?? "",
    namespace,
    name,
    phase: branch.status?.phase,
    isBeingDeleted: over,
    request,
    access: over || Result.isFailure(request) ? undefined : accessOf(state, branch, request.success),
    sessions: Object.keys(branch.status?.sessionInfo ?? {})
  }
}

/** How often a use is written, if others write the status at the same time. */
const maxTries = 5

/** Writes a use into the status; the branch must still be there, and `Ready`. */
const recordUse = Effect.fnUntraced(function* (
  state: State,
  branch: UsableBranch,
  { sessionId, user }: BranchUse,
  tries = maxTries
): Effect.fn.Return<void, KubeError> {
  const now = yield* Clock.currentTimeMillis
  const current = state.self.view(keyOf(branch.namespace, branch.name))
  if (current?.metadata.uid !== branch.uid || current.status?.phase !== "Ready" || isBeingDeleted(current.metadata)) {
    return yield* changedMeanwhile(state.options.api, "use", `the branch ${branch.name} is not ready any more`)
  }
  const { resourceVersion } = current.metadata
  const expireTime = timestamp(expiryAfterUse(ttlMillisOf(current.spec), now))
  const sessionInfo = { [sessionId]: { id: sessionId, owner: user } }
  const isNew = !Object.hasOwn(current.status.sessionInfo ?? {}, sessionId)
  const patch = { metadata: { uid: branch.uid, resourceVersion }, status: { expireTime, sessionInfo } }
  const used = audit({ act: "branchUsed", session: sessionId, owner: user.k8sUsername, ...audited(current) })
  yield* patchStatus(state, state.options.awaited, current, patch).pipe(
    Effect.andThen(isNew ? used : Effect.void),
    Effect.catch((error) =>
      error.reason === "Conflict" && tries > 1
        ? Effect.andThen(
            state.self.cache.reread(branch.name, branch.namespace),
            recordUse(state, branch, { sessionId, user }, tries - 1)
          )
        : Effect.fail(error)
    )
  )
})

/** The status reports it in the next turn. */
const awaitUse = (
  { memory, self }: State,
  { name, namespace, uid }: UsableBranch,
  sessionId: string
): Effect.Effect<void> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const key = keyOf(namespace, name)
    const known = memory.get(key)
    if (known === undefined || known.uid !== uid) return
    known.awaited.set(sessionId, awaitedFrom(now))
    self.enqueue(key)
  })

const isUsedBy = ({ memory, self }: State, sessionId: string): boolean =>
  [...memory].some(([key, { released, uses }]) => {
    const stored = released.has(sessionId) ? {} : (self.view(key)?.status?.sessionInfo ?? {})
    return Object.hasOwn(uses, sessionId) || Object.hasOwn(stored, sessionId)
  })

const use = (state: State, branch: UsableBranch, session: BranchUse): Effect.Effect<void, KubeError> =>
  Effect.suspend(() => {
    const known = state.memory.get(keyOf(branch.namespace, branch.name))
    if (known === undefined || known.uid !== branch.uid || known.isEnding) {
      return Effect.fail(changedMeanwhile(state.options.api, "use", `the branch ${branch.name} is not ready any more`))
    }
    const { sessionId, user } = session
    // At once, so that no turn of the controller can take the branch for unused.
    known.uses[sessionId] = { id: sessionId, owner: user }
    known.released.delete(sessionId)
    known.awaited.delete(sessionId)
    return Effect.onExit(recordUse(state, branch, session), (exit) =>
      Exit.isSuccess(exit) ? Effect.void : release(state, branch, sessionId)
    )
  })

const release = ({ memory, self }: State, branch: UsableBranch, sessionId: string): Effect.Effect<void> =>
  Effect.sync(() => {
    const key = keyOf(branch.namespace, branch.name)
    const known = memory.get(key)
    if (known === undefined || known.uid !== branch.uid) return
    delete known.uses[sessionId]
    known.released.add(sessionId)
    self.enqueue(key)
  })

/** Runs the controller of a kind for as long as the scope lives. */
const makeKind = Effect.fnUntraced(function* (
  parts: Omit<State, "kind" | "memory" | "self">,
  kind: BranchKind
): Effect.fn.Return<State, never, Scope.Scope> {
  const memory: BranchMemory = new Map()
  const resource = watchedBranches(kind, sha256Hex)
  const self = yield* makePlannedController({ name: resource.kind, api: parts.options.api, resource }, (made) =>
    turnsOf({ ...parts, kind, memory, self: made })
  )
  return { ...parts, kind, memory, self }
})

/** The branches of a kind that are made or being made. */
const begun = (state: State): CountedBranches =>
  state.self.cache.all().flatMap(({ metadata: { name, namespace }, status }) => {
    const phase = at(status, "phase")
    const key = keyOf(namespace, name)
    return phase === "Pending" || phase === "Ready" ? [[placeOf(state, key), namespace ?? ""] as const] : []
  })

/** The branches of an id that live, as cached. */
const living = (kinds: ReadonlyArray<State>, namespace: string, id: string): ReadonlyArray<BranchDatabase> =>
  kinds.flatMap(({ self }) =>
    self.cache.all().flatMap(({ metadata }) => {
      const branch = metadata.namespace === namespace ? self.view(keyOf(namespace, metadata.name)) : undefined
      const lives = branch?.spec.id === id && branch.status?.phase !== "Failed" && !isBeingDeleted(branch.metadata)
      return lives ? [branch] : []
    })
  )

/** Runs the controllers for as long as the scope lives. */
export const makeBranches = Effect.fnUntraced(function* (
  options: BranchesOptions
): Effect.fn.Return<MadeBranches, never, Scope.Scope> {
  let kinds: ReadonlyArray<State> = []
  yield* countHolding("branches of databases", () => kinds.reduce((count, { memory }) => count + memory.size, 0))
  const offered = yield* makeOfferedCredentials
  // The pods are there before the branches that ask for them.
  const podCache = yield* makeReflector(
    options.api,
    branchPods,
    ({ metadata: { namespace, ownerReferences } }) => {
      for (const { kind: owner, name } of ownerReferences ?? [])
        kinds.find(({ kind }) => kind.resource.kind === owner)?.self.enqueue(keyOf(namespace, name))
    },
    { labelSelector: podLabel }
  )
  // BranchDatabases alone have migrations.
  const runs = yield* makeMigrationRuns(options.api, (namespace, name) =>
    kinds.find(({ kind: { engine } }) => engine === undefined)?.self.enqueue(keyOf(namespace, name))
  )
  const archives = yield* Semaphore.make(maxArchives)
  const places = new BranchPlaces(options.bounds, () => kinds.flatMap(begun))
  yield* countHolding("places of branches", () => places.size)
  kinds = yield* Effect.forEach(branchKinds(Struct.keys(options.rules.settings)), (kind) =>
    makeKind({ options, offered, podCache, runs, places, archives }, kind)
  )
  // A branch of another process's directory is one that no kind knows.
  const kindOf = ({ name, namespace, uid }: UsableBranch): State | undefined =>
    kinds.find(({ memory }) => memory.get(keyOf(namespace, name))?.uid === uid)
  const caches = [podCache, ...kinds.map(({ self }) => self.cache)]
  const started = Effect.forEach(caches, ({ awaitSynced }) => awaitSynced, { discard: true })
  const services = {
    api: options.awaited,
    offered,
    living: (namespace: string, id: string) => living(kinds, namespace, id)
  }
  return {
    started,
    caches,
    takeCredentials: (...given) => Effect.andThen(onceRead(started, caches), takeCredentials(services, ...given)),
    find: (namespace, name, olderKind) =>
      kinds
        .filter(({ kind: { engine } }) => engine === undefined || engine === olderKind)
        .reduce<UsableBranch | undefined>((found, state) => found ?? find(state, namespace, name), undefined),
    await: (branch, sessionId) => {
      const state = kindOf(branch)
      return state === undefined ? Effect.void : awaitUse(state, branch, sessionId)
    },
    isUsedBy: (sessionId) => kinds.some((state) => isUsedBy(state, sessionId)),
    use: (branch, session) => {
      const state = kindOf(branch)
      return state === undefined
        ? Effect.fail(changedMeanwhile(options.api, "use", `the branch ${branch.name} is not ready any more`))
        : use(state, branch, session)
    },
    release: (branch, sessionId) => {
      const state = kindOf(branch)
      return state === undefined ? Effect.void : release(state, branch, sessionId)
    }
  }
})
