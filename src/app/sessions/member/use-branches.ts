/**
 * Lets a client that attaches to a session use the database branches that it names.
 *
 * Not here: the branches (app/branches), and the messages that carry the session's variables (app/relay).
 */

import { Effect, Result } from "effect"
import {
  type EnvironmentPlan,
  everyVariable,
  literalVariables,
  rewriteEnvironment
} from "../../../domain/branches/environment-plan.ts"
import { pods } from "../../../domain/resources/core-kinds.ts"
import type { MirrordClusterSession } from "../../../domain/resources/mirrord-cluster-session.ts"
import type { NamedBranch } from "../../../domain/sessions/connect-request.ts"
import { type SessionId, sessionIdHex } from "../../../domain/sessions/session-id.ts"
import type { AgentPlacement } from "../../../domain/targets/pod-choice.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { type ApiError, badRequest, conflict } from "../../api/status.ts"
import type { SessionBranches } from "../../branches/session-branches.ts"
import type { SessionNotifier } from "../../kernel/session-notifier.ts"
import type { ClusterSessionController } from "./cluster-session-controller.ts"

interface BranchServices {
  readonly branches: SessionBranches
  readonly controller: Pick<ClusterSessionController, "sessions">
  readonly notifier: SessionNotifier
}

/** A client that attaches, and the branches that it names. */
interface BranchClient {
  readonly id: SessionId
  /** Whether it is a user, and not the operator of a primary. */
  readonly isUser: boolean
  readonly branches: ReadonlyArray<NamedBranch>
}

/**
 * Records the use of the branches, if any are named, and plans the session's variables. A primary learns of a session
 * that cannot go on by a code of its own, since `ReconnectNotPossible` only says that the child is gone.
 */
export const useBranches = (
  { branches, controller, notifier }: BranchServices,
  { branches: names, id, isUser }: BranchClient,
  { metadata: { name }, spec: { namespace, owner } }: MirrordClusterSession,
  hasBegun: boolean
): Effect.Effect<EnvironmentPlan | undefined, ApiError> => {
  const ended = notifier.until(name, () => (controller.sessions.get(name) === undefined ? { gone: true } : undefined))
  const using = branches.use({ id: sessionIdHex(id), user: owner, hasBegun, ended }, { namespace, names })
  return isUser
    ? using
    : Effect.mapError(using, (error) => (error.reason === "ReconnectNotPossible" ? conflict(error.message) : error))
}

/**
 * Refuses a session of whose variables it is known beforehand that they cannot lead to its branches. All others are
 * proved when the agent answers them, so a pod that cannot be read is no failure.
 */
export const proveVariables = (
  api: KubeApi,
  plan: EnvironmentPlan,
  { containerName, podName, podNamespace }: AgentPlacement
): Effect.Effect<void, ApiError> =>
  api.get(pods, podName, podNamespace).pipe(
    Effect.match({
      onFailure: () => new Map<string, string>(),
      onSuccess: (pod) => literalVariables({ ...pod }, containerName)
    }),
    Effect.flatMap((variables) => {
      const rewritten = rewriteEnvironment(plan, variables, everyVariable)
      return Result.isFailure(rewritten) ? Effect.fail(badRequest(rewritten.failure)) : Effect.void
    })
  )
