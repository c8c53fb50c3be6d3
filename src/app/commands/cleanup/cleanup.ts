/**
 * Ends all sessions of a cluster before its operator is uninstalled, so that nothing waits for a finalizer for ever.
 *
 * Not here: removing the operator itself, which is helm's work. A running operator does as much of the work as it can.
 */

import { Effect, Schedule } from "effect"
import { type BranchKind, branchKinds } from "../../../domain/branches/branch-kinds.ts"
import { branchEngines } from "../../../domain/resources/chart-switches.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import { parentFinalizer } from "../../../domain/sessions/names.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"
import { logInfo, logWarning } from "../../kernel/log.ts"
import { orIf } from "../../kernel/or-if.ts"
import { cleanUpCopies, type Tell } from "./cleanup-copies.ts"
import { deleted, listed } from "./cleanup-objects.ts"
import { cleanUpSplits } from "./cleanup-splits.ts"

/** Time between two lists of the sessions that still exist. */
const listEvery = "1 second"
/** How often removing a finalizer is tried while other writers come first. */
const attempts = 5

/** Removes our finalizer, and no other, from a session that is being deleted. */
const released = (api: KubeApi, name: string): Effect.Effect<void, KubeError> =>
  Effect.gen(function* () {
    const { metadata } = yield* api.get(mirrordMultiClusterSessions, name)
    const finalizers = metadata.finalizers ?? []
    if (!finalizers.includes(parentFinalizer)) return
    yield* api.mergePatch(mirrordMultiClusterSessions, name, {
      metadata: {
        resourceVersion: metadata.resourceVersion,
        finalizers: finalizers.filter((finalizer) => finalizer !== parentFinalizer)
      }
    })
    yield* logInfo("finalizer removed", { session: name })
  }).pipe(
    Effect.retry({ times: attempts, while: ({ reason }) => reason === "Conflict" }),
    orIf("NotFound", Effect.void)
  )

/** Notes each failure among the problems, after which the other value counts. */
export const telling =
  (problems: Array<string>): Tell =>
  (doing, effect, otherwise) =>
    effect.pipe(
      Effect.catch((error) => {
        problems.push(`${doing}: ${error.detail}.`)
        return Effect.as(logWarning(`${doing} failed`, { problem: error.message }), otherwise)
      })
    )

const endBranchesOf = (api: KubeApi, { resource }: BranchKind, tell: Tell): Effect.Effect<void> =>
  Effect.flatMap(tell(`listing the ${resource.plural}`, listed(api, resource), []), (branches) =>
    Effect.forEach(
      branches,
      (branch) =>
        tell(
          `deleting branch ${branch.metadata.name} in namespace ${branch.metadata.namespace ?? ""}`,
          deleted(api, resource, branch),
          undefined
        ),
      { discard: true }
    )
  )

/** Kubernetes deletes the pods and Secrets of branches. */
const endBranches = (api: KubeApi, tell: Tell): Effect.Effect<void> =>
  Effect.forEach(branchKinds(branchEngines), (kind) => endBranchesOf(api, kind, tell), { discard: true })

export interface CleanupOptions {
  /** How long a running operator gets to end the sessions itself, children in other clusters included; in seconds. */
  readonly waitSecs: number
  /** Whether copies of targets end too. A primary makes none, and its hook may not look for them. */
  readonly copies?: boolean
  /** Whether branches of databases end too: no operator would delete them later. */
  readonly branches?: boolean
  /** How long a running operator gets to end all splits of queues, in seconds; without it, none are looked for. */
  readonly splitSecs?: number | undefined
}

/**
 * Deletes every session of a cluster. Multi-cluster sessions come first, so that a running operator deletes their
 * children. A parent that is left after the wait has no operator, and its finalizer is removed. Then the sessions of
 * this cluster are deleted, and Kubernetes deletes the agents that they own.
 *
 * A refusal does not stop the rest. Returns the problems, one sentence each; no problem means that nothing is left.
 */
export const cleanup = Effect.fnUntraced(function* (
  api: KubeApi,
  { branches = false, copies = false, splitSecs, waitSecs }: CleanupOptions
): Effect.fn.Return<ReadonlyArray<string>> {
  const problems: Array<string> = []
  const tell = telling(problems)
  const parents = yield* tell("listing the multi-cluster sessions", listed(api, mirrordMultiClusterSessions), [])
  for (const parent of parents) {
    yield* tell(
      `deleting multi-cluster session ${parent.metadata.name}`,
      deleted(api, mirrordMultiClusterSessions, parent),
      undefined
    )
  }
  const left = yield* tell(
    "waiting for the multi-cluster sessions to end",
    parents.length === 0
      ? Effect.succeed([])
      : listed(api, mirrordMultiClusterSessions).pipe(
          Effect.repeat({
            until: (items) => items.length === 0,
            times: waitSecs,
            schedule: Schedule.spaced(listEvery)
          })
        ),
    parents
  )
  for (const { metadata } of left) {
    // A parent that could not be deleted keeps its finalizer: without it no trace of its children would remain.
    if (problems.some((problem) => problem.startsWith(`deleting multi-cluster session ${metadata.name}:`))) continue
    yield* tell(
      `removing the finalizer of multi-cluster session ${metadata.name}`,
      released(api, metadata.name),
      undefined
    )
  }

  const sessions = yield* tell("listing the sessions", listed(api, mirrordClusterSessions), [])
  for (const session of sessions) {
    yield* tell(`deleting session ${session.metadata.name}`, deleted(api, mirrordClusterSessions, session), undefined)
  }
  if (branches) yield* endBranches(api, tell)
  if (copies) problems.push(...(yield* cleanUpCopies(api, tell)))
  // Last, because it takes longest: the Job of the chart has an end.
  if (splitSecs !== undefined) problems.push(...(yield* cleanUpSplits(api, tell, splitSecs)))
  yield* logInfo("sessions ended", { multiCluster: parents.length, here: sessions.length, problems: problems.length })
  return problems
})
