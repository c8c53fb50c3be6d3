/**
 * The branches that sessions of this cluster use: checks those that a connect names, records their use, and releases
 * them when the session has ended.
 *
 * Not here: making branches, and the variables that lead to them (domain/branches/environment-plan.ts).
 */

import { Effect, FiberMap, Result, Schedule, type Scope } from "effect"
import { type EnvironmentPlan, environmentPlan, type SessionBranch } from "../../domain/branches/environment-plan.ts"
import { branchFor, type BranchObstacle, isPassing, type UsableBranch } from "../../domain/branches/usable-branch.ts"
import { quoted } from "../../domain/clean-text.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import { type NamedBranch, namedBranchKey } from "../../domain/sessions/connect-request.ts"
import { type ApiError, badRequest, internalError, reconnectNotPossible } from "../api/status.ts"
import { countHolding } from "../kernel/holdings.ts"
import { logWarning } from "../kernel/log.ts"
import type { BranchDirectory } from "./branch-directory.ts"
import { branchRefusal, onceRead, onceUsable } from "./session-branch-refusal.ts"

/** The branches that a connect names. */
export interface NamedBranches {
  /** The namespace of the session's target. */
  readonly namespace: string
  readonly names: ReadonlyArray<NamedBranch>
}

/** A session that uses branches. */
export interface BranchSession {
  /** Its id as users see it. */
  readonly id: string
  readonly user: SessionOwner
  /** Whether a client was connected to it before. */
  readonly hasBegun: boolean
  /** Completes when the session is gone. */
  readonly ended: Effect.Effect<unknown>
}

export interface SessionBranches {
  /** Refuses branches that no session could use, before anything is made for it, and keeps the others for it. */
  readonly check: (sessionId: string, named: NamedBranches) => Effect.Effect<void, ApiError>
  /**
   * Records that a session uses branches, until it has ended, and plans its variables. A session that has begun fails
   * with `ReconnectNotPossible` where a branch is not the one that it used, or where it names none any more.
   */
  readonly use: (session: BranchSession, named: NamedBranches) => Effect.Effect<EnvironmentPlan | undefined, ApiError>
  /**
   * Keeps a session whose variables were refused with a sentence from another connection: its client has variables of
   * the source from an earlier one, and its internal proxy would go on with them.
   */
  readonly refuse: (sessionId: string, sentence: string) => void
}

interface State {
  readonly directory: BranchDirectory
  /** The branches in use, by session and by {@link namedBranchKey}. */
  readonly uses: Map<string, Map<string, UsableBranch>>
  readonly ends: FiberMap.FiberMap<string>
  /** Why sessions that use branches may not go on, by session. */
  readonly refused: Map<string, string>
}

/** How a release is tried again. */
const again = { times: 5, schedule: Schedule.exponential(1_000) }

/** A branch that a connect names, as it is and as the session uses it. */
interface FoundBranch {
  readonly key: string
  readonly branch: UsableBranch
  readonly used: SessionBranch
}

const found = (
  { directory, uses }: State,
  { hasBegun, id }: Pick<BranchSession, "hasBegun" | "id">,
  { names, namespace }: NamedBranches
): Effect.Effect<ReadonlyArray<FoundBranch>, ApiError> =>
  Effect.andThen(
    onceRead(directory.started, directory.caches),
    Effect.forEach(names, (named) => {
      const { name, olderKind } = named
      const key = namedBranchKey(named)
      const look = (): Result.Result<FoundBranch, BranchObstacle> => {
        const branch = directory.find(namespace, name, olderKind)
        if (branch === undefined) return Result.fail({ _tag: "Unknown" })
        const usable = branchFor(branch, { id, hasBegun, uses: uses.get(id)?.get(key)?.uid })
        return Result.map(usable, (used) => ({ key, branch, used }))
      }
      return Effect.flatMap(onceUsable(look), (usable) => {
        if (Result.isSuccess(usable)) return Effect.succeed(usable.success)
        const refused = branchRefusal(name, namespace, usable.failure)
        const isFinal = hasBegun && !isPassing(usable.failure)
        return Effect.fail(isFinal ? reconnectNotPossible(`The session cannot go on: ${refused.message}`) : refused)
      })
    })
  )

/** The variables that lead to the branches, each of which may be named in more than one list. */
const planOf = (found: ReadonlyArray<FoundBranch>): Effect.Effect<EnvironmentPlan, ApiError> => {
  const branches = new Map(found.map(({ branch, used }) => [branch.uid, used]))
  return Effect.fromResult(Result.mapError(environmentPlan([...branches.values()]), (problem) => badRequest(problem)))
}

/** Releases what a session uses, once it has ended. */
const release = ({ directory, refused, uses }: State, id: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const branches = [...(uses.get(id)?.values() ?? [])]
    uses.delete(id)
    refused.delete(id)
    return Effect.forEach(
      branches,
      (branch) =>
        Effect.retry(directory.release(branch, id), again).pipe(
          Effect.catch(({ message }) =>
            logWarning("database branch not released", { branch: branch.name, session: id, problem: message })
          )
        ),
      { discard: true }
    )
  })

/** A session that used branches may not go on with the databases of its target. */
const withoutBranches = (
  { directory }: State,
  { hasBegun, id }: Pick<BranchSession, "hasBegun" | "id">
): Effect.Effect<undefined, ApiError> =>
  Effect.suspend(() =>
    hasBegun && directory.isUsedBy(id)
      ? Effect.fail(
          reconnectNotPossible(
            "The session cannot go on: it uses database branches, and the request names none; start a new session."
          )
        )
      : Effect.succeed(undefined)
  )

/** Records the uses that this process has not recorded yet, and sees to their release whatever becomes of the rest. */
const record = (
  state: State,
  { ended, id, user }: BranchSession,
  branches: ReadonlyArray<FoundBranch>
): Effect.Effect<void, ApiError> => {
  const recordOne = ({ branch, key }: FoundBranch): Effect.Effect<void, ApiError> =>
    Effect.suspend(() => {
      const known = state.uses.get(id) ?? new Map<string, UsableBranch>()
      if (known.get(key)?.uid === branch.uid) return Effect.void
      return state.directory.use(branch, { sessionId: id, user }).pipe(
        Effect.mapError(({ detail }) =>
          internalError(`The use of the database branch ${quoted(branch.name)} cannot be recorded: ${detail}.`)
        ),
        Effect.tap(() => Effect.sync(() => state.uses.set(id, known.set(key, branch))))
      )
    })
  const watched = FiberMap.run(state.ends, id, Effect.andThen(ended, release(state, id)), { onlyIfMissing: true })
  return Effect.uninterruptible(Effect.ensuring(Effect.forEach(branches, recordOne, { discard: true }), watched))
}

/** The branches of a directory for sessions, for as long as the scope lives. */
export const makeSessionBranches = Effect.fnUntraced(function* (
  directory: BranchDirectory
): Effect.fn.Return<SessionBranches, never, Scope.Scope> {
  const state: State = { directory, uses: new Map(), ends: yield* FiberMap.make<string>(), refused: new Map() }
  yield* countHolding("branches of sessions", () => state.uses.size)
  return {
    check: Effect.fnUntraced(function* (id, named) {
      const branches = yield* found(state, { id, hasBegun: false }, named)
      yield* planOf(branches)
      yield* Effect.forEach(branches, ({ branch }) => directory.await(branch, id), { discard: true })
    }),
    use: Effect.fnUntraced(function* (session, named) {
      const refusal = state.refused.get(session.id)
      if (refusal !== undefined) return yield* reconnectNotPossible(`The session cannot go on: ${refusal}`)
      if (named.names.length === 0) return yield* withoutBranches(state, session)
      const branches = yield* found(state, session, named)
      const plan = yield* planOf(branches)
      yield* record(state, session, branches)
      return plan
    }),
    refuse: (id, sentence) => {
      if (state.uses.has(id)) state.refused.set(id, sentence)
    }
  }
})
