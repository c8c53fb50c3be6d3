/**
 * Makes the Job that runs a branch's migrations and the ConfigMap with their files, and takes both away. Each step may
 * have been done by an earlier process, which is found out by the name.
 *
 * Not here: when migrations run (domain/branch/migrations/migration-plan.ts), and what is in the Job (migration-job.ts
 * beside it).
 */

import { Effect, Result } from "effect"
import { admittedBranch } from "../../domain/branch/branch-admission.ts"
import { branchPodName } from "../../domain/branch/branch-name.ts"
import {
  migrationFiles,
  migrationJob,
  type MigrationJobOptions,
  migrationsName
} from "../../domain/branch/migrations/migration-job.ts"
import type { MigrationAction } from "../../domain/branch/migrations/migration-plan.ts"
import { migrationDigest } from "../../domain/branch/migrations/migration-request.ts"
import type { BranchDatabase } from "../../domain/resources/branches/branch-database.ts"
import { configMaps, jobs } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { BranchRefused } from "./branch-refused.ts"
import { isOwnedBy, ownerOf, type PodMaking, refusedBy, taken } from "./make-branch-pod.ts"
import { sourceTarget } from "./source-target.ts"

/** The files are the same whoever made them: their name has the branch's UID and its generation. */
const ensureFiles = (
  api: KubeApi,
  namespace: string,
  files: object | undefined
): Effect.Effect<void, KubeError | BranchRefused> =>
  files === undefined
    ? Effect.void
    : api.create(configMaps, files, namespace).pipe(
        Effect.asVoid,
        Effect.catch((error) =>
          error.reason === "AlreadyExists"
            ? Effect.void
            : Effect.fail(refusedBy("The ConfigMap of the migrations")(error))
        )
      )

const ensureJob = (
  api: KubeApi,
  branch: BranchDatabase,
  job: object
): Effect.Effect<KubeObject, KubeError | BranchRefused> => {
  const { generation = 0, namespace, uid = "" } = branch.metadata
  const name = migrationsName(uid, generation)
  return api.create(jobs, job, namespace).pipe(
    Effect.catch((error) =>
      error.reason === "AlreadyExists"
        ? api.get(jobs, name, namespace)
        : Effect.fail(refusedBy("The Job of the migrations")(error))
    ),
    Effect.filterOrFail(
      (found) => isOwnedBy(found, branch),
      () => taken(jobs, branch, name)
    )
  )
}

/** Makes what is missing of the Job for a branch's generation. `host`: IP address of the branch's pod. */
export const makeMigrations = (
  { api, kind, rules }: Omit<PodMaking, "offered">,
  branch: BranchDatabase,
  host: string
): Effect.Effect<KubeObject, KubeError | BranchRefused> =>
  Effect.gen(function* () {
    const refused = (why: string) => new BranchRefused({ why })
    const { metadata, spec } = branch
    const { generation = 0, namespace = "" } = metadata
    const { request, settings } = yield* Effect.fromResult(Result.mapError(admittedBranch(rules, branch), refused))
    const { databaseName: database = "", migrations } = request
    if (migrations === undefined) return yield* refused("The branch asks for no migrations any more.")
    const options: MigrationJobOptions = {
      request,
      migrations,
      digest: migrationDigest(migrations, sha256Hex),
      branch: { host, secret: branchPodName(metadata), database },
      ...(yield* sourceTarget(api, namespace, spec.target)),
      namespace,
      owner: ownerOf({ kind }, branch),
      generation
    }
    const job = yield* Effect.fromResult(
      Result.mapError(migrationJob(settings.pod, settings.migrations, options), refused)
    )
    yield* ensureFiles(api, namespace, migrationFiles(options))
    return yield* ensureJob(api, branch, job)
  })

const unlessGone = (error: KubeError): Effect.Effect<void, KubeError> =>
  error.reason === "NotFound" ? Effect.void : Effect.fail(error)

/** Takes a run away. Its Job goes last: as long as it is there, somebody knows of its files. */
export const endMigrations = (
  api: KubeApi,
  { metadata: { namespace = "" } }: BranchDatabase,
  { job, uid }: Extract<MigrationAction, { readonly _tag: "EndMigrations" }>
): Effect.Effect<void, KubeError> =>
  api
    .delete(configMaps, job, { namespace })
    .pipe(Effect.catch(unlessGone), Effect.andThen(api.delete(jobs, job, { namespace, uid })), Effect.catch(unlessGone))
