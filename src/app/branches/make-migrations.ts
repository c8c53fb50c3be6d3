/**
 * Makes the Job that runs a branch's migrations and the ConfigMap with their files, and takes both away. Each step may
 * have been done by an earlier process, which is found out by the name and the owner.
 *
 * Not here: when migrations run (domain/branches/migrations/migration-plan.ts), and what is in the Job
 * (migration-job.ts beside it).
 */

import { Effect, Result } from "effect"
import { migrateProgram } from "../../adapters/engines/programs.ts"
import { admittedBranch } from "../../domain/branches/branch-admission.ts"
import { branchPodName } from "../../domain/branches/branch-name.ts"
import {
  migrationFiles,
  migrationJob,
  type MigrationJobOptions,
  migrationsName
} from "../../domain/branches/migrations/migration-job.ts"
import type { MigrationAction } from "../../domain/branches/migrations/migration-plan.ts"
import { migrationDigest } from "../../domain/branches/migrations/migration-request.ts"
import { at } from "../../domain/json.ts"
import type { BranchDatabase } from "../../domain/resources/branches/branch-database.ts"
import { configMaps, jobs } from "../../domain/resources/core-kinds.ts"
import { readResource } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { changedMeanwhile, deleteMeant, deleteSeen } from "../kernel/mirrored-object.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { BranchRefused, ensureOwn, isOwnedBy, ownerOf, type PodMaking, sourceTarget } from "./make-branch-pod.ts"

/** The branch with the archive of its migrations, which no cache has. A `Conflict` if it has changed since. */
const wholeBranch = Effect.fnUntraced(function* (
  { api, kind: { resource } }: Pick<PodMaking, "api" | "kind">,
  known: BranchDatabase
): Effect.fn.Return<BranchDatabase, KubeError | BranchRefused> {
  const { generation, name, namespace, uid } = known.metadata
  if (at(known.spec.migrations, "archive") === undefined) return known
  const read = readResource(resource, yield* api.get(resource, name, namespace))
  if (Result.isFailure(read)) return yield* new BranchRefused({ why: read.failure.message })
  const { metadata } = read.success
  if (metadata.uid === uid && metadata.generation === generation) return read.success
  return yield* changedMeanwhile(api, `get ${name}`, `the branch ${name} has changed meanwhile`)
})

/** Makes what is missing of the Job for a branch's generation. `host`: IP address of the branch's pod. */
export const makeMigrations = Effect.fnUntraced(function* (
  making: Omit<PodMaking, "offered">,
  known: BranchDatabase,
  host: string
): Effect.fn.Return<KubeObject, KubeError | BranchRefused> {
  const { api, kind, rules } = making
  const refused = (why: string) => new BranchRefused({ why })
  const branch = yield* wholeBranch(making, known)
  const { metadata, spec } = branch
  const { generation = 0, namespace = "" } = metadata
  const { request, settings } = yield* Effect.fromResult(Result.mapError(admittedBranch(rules, branch), refused))
  const { databaseName: database = "", migrations } = request
  if (migrations === undefined) return yield* refused("The branch asks for no migrations any more.")
  const options: MigrationJobOptions = {
    request,
    migrations,
    program: migrateProgram,
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
  const name = migrationsName(metadata.uid ?? "", generation)
  const files = migrationFiles(options)
  if (files !== undefined) {
    const what = "The ConfigMap of the migrations"
    yield* ensureOwn(api, branch, { resource: configMaps, name, object: files, what })
  }
  return yield* ensureOwn(api, branch, { resource: jobs, name, object: job, what: "The Job of the migrations" })
})

/** Deletes a run. Its Job is deleted last, because the files are found by it. */
export const endMigrations = (
  api: KubeApi,
  branch: BranchDatabase,
  { job, uid }: Extract<MigrationAction, { readonly _tag: "EndMigrations" }>
): Effect.Effect<void, KubeError> => {
  const { namespace = "" } = branch.metadata
  const files = deleteMeant({ api, resource: configMaps, name: job, namespace }, (found) => isOwnedBy(found, branch))
  return Effect.andThen(files, Effect.asVoid(deleteSeen({ api, resource: jobs, name: job, namespace }, { uid })))
}
