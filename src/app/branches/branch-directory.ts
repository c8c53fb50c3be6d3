/**
 * The branches of this cluster, as a session needs them: the seam between the controller of branches, which makes the
 * directory, and the sessions, which use it.
 *
 * Not here: making branches, and the environment of a session (session-branches.ts).
 */

import type { Effect } from "effect"
import type { UsableBranch } from "../../domain/branches/usable-branch.ts"
import type { OlderBranchEngine } from "../../domain/resources/branches/legacy-branch-databases.ts"
import type { SessionOwner } from "../../domain/resources/session-shapes.ts"
import type { KubeError } from "../../ports/kube-api.ts"
import type { Reflector } from "../kernel/reflector.ts"

export type { UsableBranch } from "../../domain/branches/usable-branch.ts"

/** The use of a branch by a session. */
export interface BranchUse {
  readonly sessionId: string
  /** The session's user, as `status.sessionInfo` names them. */
  readonly user: SessionOwner
}

/** The branches of this cluster, as a session needs them. */
export interface BranchDirectory {
  /** Completes when the branches have been read: a branch that is not found until then may be there. */
  readonly started: Effect.Effect<void>
  /** The caches that have to be read for that. */
  readonly caches: ReadonlyArray<Pick<Reflector, "problem">>
  /**
   * The branch as cached now (BranchDatabase first, then the older kind of the list that named it); `undefined` if
   * there is none.
   */
  readonly find: (namespace: string, name: string, olderKind?: OlderBranchEngine) => UsableBranch | undefined
  /** Keeps a branch for a session that has named it and is not there yet. */
  readonly await: (branch: UsableBranch, sessionId: string) => Effect.Effect<void>
  /** Whether a branch knows of a session that uses it. */
  readonly isUsedBy: (sessionId: string) => boolean
  /**
   * Records that a session uses a branch, in its status, before the connect is answered; and that it does not any more.
   */
  readonly use: (branch: UsableBranch, session: BranchUse) => Effect.Effect<void, KubeError>
  readonly release: (branch: UsableBranch, sessionId: string) => Effect.Effect<void, KubeError>
}
