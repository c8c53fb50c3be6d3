/**
 * The kinds of branches, of their pods and of their Jobs as an operator watches them: each with the part of its objects
 * that is kept.
 *
 * Not here: the kinds themselves (branch-kinds.ts, domain/branches/sync/synced-branch.ts).
 */

import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import type { Sha256Hex } from "../fleet/cluster-name.ts"
import { isObject } from "../json.ts"
import type { BranchDatabase } from "../resources/branches/branch-database.ts"
import { branchEngines } from "../resources/chart-switches.ts"
import { jobs, Pod, pods } from "../resources/core-kinds.ts"
import { type Keeps, keptBy, type ReadNames, withNames } from "../resources/kept-fields.ts"
import { skipLabel } from "../resources/mirrored-object.ts"
import { ObjectMeta } from "../resources/object-meta.ts"
import type { WatchedResource } from "../resources/resource-descriptor.ts"
import { targetNamespaceAnnotation } from "./branch-admission.ts"
import { type BranchKind, branchKinds } from "./branch-kinds.ts"
import type { BranchSettings } from "./branch-settings.ts"
import { engines } from "./engines.ts"
import { keepsBranch, leftOutAnnotation } from "./kept-branch.ts"
import { branchAnnotation, digestAnnotation, migrationsLabel } from "./migrations/migration-job.ts"
import { requestAnnotation } from "./request-digest.ts"
import { copiedLabels } from "./sync/copy-object.ts"
import { originAnnotations, originLabel, SyncedBranch, syncedKind, type SyncedKind } from "./sync/synced-branch.ts"

/** Longest annotation of ours. */
const longest = 1_024

const names: ReadNames = {
  labels: [...copiedLabels, originLabel, skipLabel],
  annotations: [
    targetNamespaceAnnotation,
    leftOutAnnotation,
    ...Struct.keys(originAnnotations).map((key) => originAnnotations[key])
  ],
  longest
}

/** A kind as the operator watches it that makes its branches. */
export const watchedBranches = ({ resource }: BranchKind, sha256Hex: Sha256Hex): WatchedResource<BranchDatabase> => ({
  ...resource,
  keeps: keepsBranch({ names, fields: resource.keeps }, sha256Hex)
})

const blocks = new Set<string>(branchEngines.map((engine) => engines[engine].block))

/** The names of the blocks of options say the engine. */
const blocksOf: NonNullable<Parameters<typeof keepsBranch>[0]["always"]> = (spec) =>
  Object.fromEntries(
    Object.entries(spec).flatMap(([name, value]) => (blocks.has(name) && isObject(value) ? [[name, {}]] : []))
  )

/**
 * The kinds as a primary watches them whose objects are kept the same in two clusters, where the engines of the
 * settings are switched on. Fields of a spec that this version does not know are kept, because they travel along.
 */
export const watchedOrders = (settings: BranchSettings, sha256Hex: Sha256Hex): ReadonlyArray<SyncedKind> =>
  branchKinds(Struct.keys(settings)).map(({ resource }) =>
    syncedKind({
      ...resource,
      keeps: keepsBranch({ names, fields: keptBy(SyncedBranch), always: blocksOf }, sha256Hex)
    })
  )

const branchOwners: ReadonlySet<string> = new Set(branchKinds(branchEngines).map(({ resource }) => resource.kind))

/** Keeps the objects that belong to a branch: any user may give their label to others. */
const ofBranches =
  (keeps: Keeps): Keeps =>
  (object) =>
    (object.metadata.ownerReferences ?? []).some(({ kind }) => branchOwners.has(kind)) ? keeps(object) : undefined

const statusOfPod = keptBy(Schema.Struct({ metadata: ObjectMeta, status: Pod.fields.status }))

/** The pods of branches. */
export const branchPods: typeof pods = {
  ...pods,
  keeps: ofBranches(withNames(statusOfPod, { labels: [], annotations: [requestAnnotation], longest }))
}

const told = Schema.optionalKey(Schema.NullOr(Schema.String))
const RunJob = Schema.Struct({
  metadata: ObjectMeta,
  status: Schema.optionalKey(
    Schema.Struct({
      conditions: Schema.optionalKey(
        Schema.NullOr(
          Schema.Array(
            Schema.Struct({ type: Schema.String, status: Schema.String, reason: told, lastTransitionTime: told })
          )
        )
      )
    })
  )
})

/** The Jobs that run migrations. */
export const migrationJobs: typeof jobs = {
  ...jobs,
  keeps: ofBranches(withNames(keptBy(RunJob), { labels: [migrationsLabel], annotations: [digestAnnotation], longest }))
}

/** The pods of those Jobs, also where the Job is gone and its pod has not ended. */
export const migrationPods: typeof pods = {
  ...pods,
  keeps: withNames(statusOfPod, { labels: [migrationsLabel], annotations: [branchAnnotation], longest })
}
