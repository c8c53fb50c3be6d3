/**
 * Whether a session may use a branch, from what is known of the branch now.
 *
 * Not here: the variables that lead to it (environment-plan.ts), and the sentences for users.
 */

import * as Result from "effect/Result"
import type { BranchStatus } from "../resources/branches/branch-shapes.ts"
import type { BranchRequest } from "./branch-request.ts"
import type { BranchAccess } from "./dialect.ts"
import type { SessionBranch } from "./environment-plan.ts"

/** A branch as a session sees it. */
export interface UsableBranch {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly phase: BranchStatus["phase"] | undefined
  readonly isBeingDeleted: boolean
  /** The branch that its object asks for; the failure is a sentence. */
  readonly request: Result.Result<BranchRequest, string>
  /** `undefined` while it is not known. */
  readonly access: BranchAccess | undefined
  /** Ids of the sessions that use it, as its status names them. */
  readonly sessions: ReadonlyArray<string>
}

/** Why a branch cannot be used. */
export type BranchObstacle =
  | { readonly _tag: "Unknown" }
  | { readonly _tag: "BeingDeleted" }
  /** The session used an earlier branch of this name. */
  | { readonly _tag: "Replaced" }
  | { readonly _tag: "Failed" }
  /** It cannot be made, or its variables cannot be rewritten. `problem` is a sentence. */
  | { readonly _tag: "Unserved"; readonly problem: string }
  | { readonly _tag: "NotReady"; readonly phase: string }
  | { readonly _tag: "NoAddress" }

/** The session that names a branch. */
export interface BranchUser {
  readonly id: string
  /** Whether a client was connected to it before. */
  readonly hasBegun: boolean
  /** UID of the branch of that name that it uses; `undefined` if this process knows of none. */
  readonly uses: string | undefined
}

const isReplaced = (branch: UsableBranch, { hasBegun, id, uses }: BranchUser): boolean =>
  uses === undefined ? hasBegun && !branch.sessions.includes(id) : uses !== branch.uid

const obstacle = (_tag: Exclude<BranchObstacle["_tag"], "Unserved" | "NotReady">) => Result.fail({ _tag })

/** The branch of a session. `branch`: the one that its name finds; `undefined` if there is none. */
export const branchFor = (
  branch: UsableBranch | undefined,
  user: BranchUser
): Result.Result<SessionBranch, BranchObstacle> => {
  if (branch === undefined) return obstacle("Unknown")
  const { access, isBeingDeleted, name, phase, request } = branch
  if (isBeingDeleted) return obstacle("BeingDeleted")
  if (isReplaced(branch, user)) return obstacle("Replaced")
  if (phase === "Failed") return obstacle("Failed")
  if (Result.isFailure(request)) return Result.fail({ _tag: "Unserved", problem: request.failure })
  if (phase !== "Ready") return Result.fail({ _tag: "NotReady", phase: phase ?? "none" })
  return access === undefined ? obstacle("NoAddress") : Result.succeed({ name, request: request.success, access })
}

/** Whether an obstacle may go away by itself, soon. */
export const isPassing = ({ _tag }: BranchObstacle): boolean => _tag === "NotReady" || _tag === "NoAddress"
