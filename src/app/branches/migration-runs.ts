/**
 * The Jobs of migrations and their pods, as cached from the API server.
 *
 * Not here: when a run begins (domain/branches/migrations/migration-plan.ts), and making its Job (make-migrations.ts).
 */

import { Effect, type Scope } from "effect"
import { branchAnnotation, isMigrationsName, migrationsLabel } from "../../domain/branches/migrations/migration-job.ts"
import { type MigrationRun, migrationRun } from "../../domain/branches/migrations/migration-run.ts"
import { migrationJobs, migrationPods } from "../../domain/branches/watched-branches.ts"
import type { ObjectMeta } from "../../domain/resources/object-meta.ts"
import type { KubeApi, KubeObject } from "../../ports/kube-api.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"
import { isOwnedBy } from "./make-branch-pod.ts"

export interface MigrationRuns {
  readonly awaitSynced: Effect.Effect<void>
  /** Why the Jobs or their pods cannot be read at the moment, if so. */
  readonly problem: Reflector["problem"]
  /** The run of a branch's migrations. */
  readonly of: (branch: ObjectMeta) => MigrationRun
  /** Takes the Job that was made. */
  readonly wrote: (job: KubeObject) => void
}

/** Any user may give an object this label, so its namespace has to fit too. */
const ofBranch = (cache: Reflector, { namespace, uid = "" }: ObjectMeta): ReadonlyArray<KubeObject> =>
  cache.all().filter(({ metadata }) => metadata.namespace === namespace && metadata.labels?.[migrationsLabel] === uid)

/** The runs of all branches, for as long as the scope lives. `changed`: a run of the branch has changed. */
export const makeMigrationRuns = Effect.fnUntraced(function* (
  api: KubeApi,
  changed: (namespace: string | undefined, name: string) => void
): Effect.fn.Return<MigrationRuns, never, Scope.Scope> {
  const selection = { labelSelector: migrationsLabel }
  const jobCache = yield* makeReflector(
    api,
    migrationJobs,
    ({ metadata: { namespace, ownerReferences } }) => {
      for (const { name } of ownerReferences ?? []) changed(namespace, name)
    },
    selection
  )
  const podCache = yield* makeReflector(
    api,
    migrationPods,
    ({ metadata: { annotations, namespace } }) => {
      const name = annotations?.[branchAnnotation]
      if (name !== undefined) changed(namespace, name)
    },
    selection
  )
  return {
    awaitSynced: Effect.andThen(jobCache.awaitSynced, podCache.awaitSynced),
    problem: () => jobCache.problem() ?? podCache.problem(),
    of: (branch) => {
      const made = ofBranch(jobCache, branch).filter(
        (job) => isMigrationsName(branch.uid ?? "", job.metadata.name) && isOwnedBy(job, { metadata: branch })
      )
      return migrationRun(made, ofBranch(podCache, branch))
    },
    wrote: (job) => jobCache.wrote(job)
  }
})
