/**
 * The branches of this cluster, as a session needs them: the seam between the controller of branches, which makes the
 * directory, and the sessions, which use it.
 *
 * Not here: making branches (branch-controller.ts), and the environment of a session.
 */

import type { Effect, Redacted, Result } from "effect"
import type { BranchRequest } from "../../domain/branch/branch-request.ts"
import type { BranchStatus } from "../../domain/resources/branches/branch-shapes.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { KubeError } from "../../ports/kube-api.ts"

/** The address and the credentials of a branch. */
export interface BranchAccess {
  /** IP address of the branch's pod. */
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: Redacted.Redacted
  /** Nothing: the database has the name that it has in the source. */
  readonly database: string | undefined
}

/** A branch as a session sees it. It can be used if it is `Ready`, is not being deleted, and has an access. */
export interface UsableBranch {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly phase: BranchStatus["phase"] | undefined
  readonly isBeingDeleted: boolean
  /** The branch as it was asked for; the failure is a sentence. */
  readonly request: Result.Result<BranchRequest, string>
  readonly access: BranchAccess | undefined
}

/** The use of a branch by a session. */
export interface BranchUse {
  readonly sessionId: string
  /** The session's user, as `status.sessionInfo` names them. */
  readonly user: SessionOwner
}

/** The branches of this cluster, as a session needs them. */
export interface BranchDirectory {
  /**
   * The branch as cached now (BranchDatabase first, then the older kind of the list that named it); nothing: there is
   * none.
   */
  readonly find: (namespace: string, name: string) => UsableBranch | undefined
  /**
   * Records that a session uses a branch, in its status, before the connect is answered; and that it does not any more.
   */
  readonly use: (branch: UsableBranch, session: BranchUse) => Effect.Effect<void, KubeError>
  readonly release: (branch: UsableBranch, sessionId: string) => Effect.Effect<void, KubeError>
}
