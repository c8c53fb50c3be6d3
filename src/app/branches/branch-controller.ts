/**
 * The controller of the branches of databases in one cluster, and their directory for sessions.
 * `domain/branch/branch-plan.ts` decides; make-branch-pod.ts makes pods. Branches are deleted as resources alone: the
 * cluster deletes what belongs to them.
 *
 * Not here: copies of resources between the clusters of a fleet.
 */

import { Clock, Effect, Exit, Result, type Scope } from "effect"
import type { BranchAccess } from "../../domain/branch/branch-address.ts"
import { admittedBranch, type BranchRules } from "../../domain/branch/branch-admission.ts"
import { branchPodName } from "../../domain/branch/branch-name.ts"
import { type BranchAction, expiryAfterUse, type ObservedBranch, planBranch } from "../../domain/branch/branch-plan.ts"
import { branchPodState } from "../../domain/branch/branch-pod-state.ts"
import { type BranchRequest, readBranchRequest, ttlMillisOf } from "../../domain/branch/branch-request.ts"
import { sessionsChangeAt, sessionsNow } from "../../domain/branch/branch-sessions.ts"
import { requestAnnotation, requestDigest } from "../../domain/branch/request-digest.ts"
import { branchEvents, branchExpiredEvent } from "../../domain/events/branch-events.ts"
import { asString, at } from "../../domain/json.ts"
import { type BranchDatabase, branchDatabases } from "../../domain/resources/branches/branch-database.ts"
import { pods } from "../../domain/resources/core-kinds.ts"
import { isBeingDeleted, timestamp } from "../../domain/resources/object-meta.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../ports/kube-api.ts"
import { audit } from "../kernel/audit.ts"
import type { EventRecorder } from "../kernel/event-recorder.ts"
import { countHolding } from "../kernel/holdings.ts"
import { logWarning } from "../kernel/log.ts"
import {
  makePlannedController,
  type PlannedController,
  type PlannedTurns,
  type Turn
} from "../kernel/planned-controller.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import type { BranchDirectory, BranchUse, UsableBranch } from "./branch-directory.ts"
import { type BranchMemory, type KnownBranch, knownBranch } from "./branch-memory.ts"
import { isOwnedBy, makeBranchPod, readPassword } from "./make-branch-pod.ts"

export interface BranchesOptions {
  readonly api: KubeApi
  /** `api` with retries, for calls that a client waits for. */
  readonly awaited: KubeApi
  readonly rules: BranchRules
  readonly events: EventRecorder
}

type BranchTurn = Turn<BranchDatabase, KnownBranch>
type Performed = Exclude<BranchAction, { readonly _tag: "RequeueAt" }>
type Act<Tag extends Performed["_tag"]> = Extract<Performed, { readonly _tag: Tag }>

interface State {
  readonly options: BranchesOptions
  readonly memory: BranchMemory
  readonly podCache: Reflector
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

/** Migrations that the client asks for later are refused in the status, and do not make another branch of it. */
const requestOf = ({ spec }: BranchDatabase) => readBranchRequest({ ...spec, migrations: null })

/** Whether a spec that can be read asks for another database than the pod was made for. */
const isChanged = (branch: BranchDatabase, pod: KubeObject | undefined): boolean => {
  const digest = pod?.metadata.annotations?.[requestAnnotation]
  const request = requestOf(branch)
  return digest !== undefined && Result.isSuccess(request) && requestDigest(request.success, sha256Hex) !== digest
}

const observed = (state: State, { known, now, view }: BranchTurn): ObservedBranch => {
  const { metadata, spec } = view
  const status = view.status ?? undefined
  const stored = status?.sessionInfo ?? {}
  const admitted = admittedBranch(state.options.rules, view)
  const pod = podOf(state, view)
  return {
    metadata,
    status,
    podName: branchPodName(metadata),
    refusal: known.refusal ?? (Result.isFailure(admitted) ? admitted.failure : undefined),
    ttlMillis: ttlMillisOf(spec),
    pod: branchPodState(pod),
    isChanged: isChanged(view, pod),
    password: typeof known.password === "string" ? known.password : "Known",
    asksForMigrations: (spec.migrations ?? undefined) !== undefined,
    sessions: sessionsNow(known, stored, now),
    sessionsChangeAt: sessionsChangeAt(known, stored, now)
  }
}

const audited = ({ metadata: { name, namespace }, spec: { target } }: BranchDatabase) => ({
  branch: name,
  target: `${target.kind.toLowerCase()}.${target.name}`,
  ...(namespace === undefined ? {} : { namespace })
})

const performMakePod = (
  { options: { api, rules }, podCache, self }: State,
  { key, known, view }: BranchTurn
): Effect.Effect<void, KubeError> =>
  makeBranchPod(api, rules, view).pipe(
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

const patchStatus = (
  { options: { events }, self }: State,
  api: KubeApi,
  branch: BranchDatabase,
  patch: object
): Effect.Effect<void, KubeError> => {
  const { name, namespace } = branch.metadata
  const options = { ...(namespace === undefined ? {} : { namespace }), subresource: "status" as const }
  return Effect.map(api.mergePatch(branchDatabases, name, patch, options), (after) => {
    self.cache.wrote(after)
    events.changed(branchDatabases, branch, after, branchEvents)
  })
}

/** Another process than this, or nobody, may begin to use the branch from now on. */
const endedMeanwhile = ({ options: { api } }: State, operation: string, detail: string): KubeError =>
  new KubeError({ cluster: api.cluster, operation, reason: "Conflict", detail })

const performDelete = (
  state: State,
  { key, known, view }: BranchTurn,
  { precondition: { uid }, why }: Act<"DeleteBranch">
): Effect.Effect<void, KubeError> =>
  Effect.suspend(() => {
    // The turn may have paused since it was planned. Nobody can use a branch that has failed.
    if (view.status?.phase !== "Failed" && Object.keys(known.uses).length > 0) {
      return Effect.fail(endedMeanwhile(state, "delete", `a session has begun to use the branch ${key}`))
    }
    known.isEnding = true
    const { api, events } = state.options
    const { name, namespace } = view.metadata
    return api.delete(branchDatabases, name, { uid, ...(namespace === undefined ? {} : { namespace }) }).pipe(
      Effect.andThen(audit({ act: "branchDeleted", message: why, ...audited(view) })),
      Effect.andThen(
        Effect.sync(() => {
          if (view.status?.phase === "Ready") events.record(branchDatabases, view, branchExpiredEvent)
        })
      ),
      Effect.catch((error) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error))),
      Effect.onError(() => Effect.sync(() => void (known.isEnding = false)))
    )
  })

const perform = (state: State, turn: BranchTurn, action: Performed): Effect.Effect<void, KubeError> => {
  switch (action._tag) {
    case "MakePod":
      return performMakePod(state, turn)
    case "ReadPassword":
      return performReadPassword(state, turn)
    case "PatchStatus":
      return patchStatus(state, state.options.api, turn.view, {
        metadata: action.precondition,
        status: action.patch
      })
    case "DeleteBranch":
      return performDelete(state, turn, action)
  }
}

const turnsOf = (
  options: BranchesOptions,
  memory: BranchMemory,
  podCache: Reflector,
  self: PlannedController<BranchDatabase>
): PlannedTurns<BranchDatabase, KnownBranch, ObservedBranch, Performed> => {
  const state = { options, memory, podCache, self }
  return {
    changed: ({ metadata }) => self.enqueue(keyOf(metadata.namespace, metadata.name)),
    forget: (key) => Effect.sync(() => void memory.delete(key)),
    unreadable: (key, problem) => logWarning("branch of a database ignored", { branch: key, problem }),
    isOver: ({ metadata }) => isBeingDeleted(metadata),
    // A pod that has not been read would count as gone.
    known: (key, { metadata }) =>
      Effect.andThen(
        podCache.awaitSynced,
        Effect.map(Clock.currentTimeMillis, (now) => knownBranch(memory, key, metadata, now))
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
  const request = requestOf(branch)
  const over = isBeingDeleted(branch.metadata)
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
const mostTries = 5

/** Writes a use into the status; the branch must still be there, and `Ready`. */
const recordUse = (
  state: State,
  branch: UsableBranch,
  { sessionId, user }: BranchUse,
  tries = mostTries
): Effect.Effect<void, KubeError> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const current = state.self.view(keyOf(branch.namespace, branch.name))
    if (current?.metadata.uid !== branch.uid || current.status?.phase !== "Ready" || isBeingDeleted(current.metadata)) {
      return yield* endedMeanwhile(state, "use", `the branch ${branch.name} is not ready any more`)
    }
    const { resourceVersion } = current.metadata
    const expireTime = timestamp(expiryAfterUse(ttlMillisOf(current.spec), now))
    const sessionInfo = { [sessionId]: { id: sessionId, owner: user } }
    const patch = { metadata: { uid: branch.uid, resourceVersion }, status: { expireTime, sessionInfo } }
    yield* patchStatus(state, state.options.awaited, current, patch).pipe(
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

const use = (state: State, branch: UsableBranch, session: BranchUse): Effect.Effect<void, KubeError> =>
  Effect.suspend(() => {
    const known = state.memory.get(keyOf(branch.namespace, branch.name))
    if (known === undefined || known.uid !== branch.uid || known.isEnding) {
      return Effect.fail(endedMeanwhile(state, "use", `the branch ${branch.name} is not ready any more`))
    }
    const { sessionId, user } = session
    // At once, so that no turn of the controller can take the branch for unused.
    known.uses[sessionId] = { id: sessionId, owner: user }
    known.released.delete(sessionId)
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

/** Runs the controller for as long as the scope lives. */
export const makeBranches = (options: BranchesOptions): Effect.Effect<BranchDirectory, never, Scope.Scope> =>
  Effect.gen(function* () {
    const memory: BranchMemory = new Map()
    yield* countHolding("branches of databases", () => memory.size)
    // The pods are there before the branches that ask for them.
    let controller: PlannedController<BranchDatabase> | undefined
    const podCache = yield* makeReflector(
      options.api,
      pods,
      ({ metadata: { namespace, ownerReferences } }) => {
        for (const { name } of ownerReferences ?? []) controller?.enqueue(keyOf(namespace, name))
      },
      { labelSelector: podLabel }
    )
    const self = yield* makePlannedController(
      { name: "BranchDatabase", api: options.api, resource: branchDatabases },
      (made) => turnsOf(options, memory, podCache, made)
    )
    controller = self
    const state: State = { options, memory, podCache, self }
    return {
      started: Effect.andThen(self.cache.awaitSynced, podCache.awaitSynced),
      find: (namespace, name) => find(state, namespace, name),
      use: (branch, session) => use(state, branch, session),
      release: (branch, sessionId) => release(state, branch, sessionId)
    }
  })
