/**
 * The copy of a branch in the default cluster: its namespace, the object and the patch that brings it to a later spec
 * of its origin, and the status that the origin repeats. The spec flows to the copy alone, the status back alone.
 *
 * Not here: when a copy is made or patched, and the status of a branch that cannot be copied (origin-plan.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../../clean-text.ts"
import { isDnsLabel } from "../../fleet/cluster-name.ts"
import { asNumber, asObject, asObjects, asString, at, isObject, jsonEqual, type JsonObject, omit } from "../../json.ts"
import { type MergePatch, mergePatch, plain } from "../../resources/merge-patch.ts"
import { type ObjectMeta, timestamp } from "../../resources/object-meta.ts"
import { apiVersionOf } from "../../resources/resource-descriptor.ts"
import { targetNamespaceAnnotation } from "../branch-admission.ts"
import { leftOutProblem } from "../kept-branch.ts"
import { isArchiveMark } from "../migrations/archive-mark.ts"
import {
  type CopyReference,
  originAnnotations,
  originLabel,
  originOf,
  phaseOf,
  type SyncedBranch,
  type SyncedKind
} from "./synced-branch.ts"

/** `operatorNamespace`: of this primary. The failure is a sentence for the user. */
export const copyNamespace = (
  { annotations, namespace = "" }: ObjectMeta,
  operatorNamespace: string
): Result.Result<string, string> => {
  const named = annotations?.[targetNamespaceAnnotation]
  if (named === undefined || named === namespace) return Result.succeed(namespace)
  if (namespace !== operatorNamespace) {
    return Result.fail(
      `The annotation ${targetNamespaceAnnotation} names another namespace than ${namespace}: make the branch in the ` +
        `target's own namespace, or in ${operatorNamespace}.`
    )
  }
  return isDnsLabel(named)
    ? Result.succeed(named)
    : Result.fail(
        `The annotation ${targetNamespaceAnnotation} is ${quoted(named)}; it must be the name of a namespace: ` +
          "lower-case letters, digits and hyphens, at most 63."
      )
}

/** The primary as copies name it. */
export interface PrimaryIdentity {
  /** UID of its cluster. */
  readonly uid: string
  /** Name of its cluster as a DNS label. */
  readonly cluster: string
  /** Namespace of its operator. */
  readonly namespace: string
}

/** The labels of an origin that its copy has too; the others mean something in the origin's cluster only. */
export const copiedLabels = [
  "mirrord-branch-id",
  "mirrord-pg-branch-id",
  "mirrord-mysql-branch-id",
  "mirrord-mongodb-branch-id",
  "operator.metalbear.co/owner"
]

const labelsOf = ({ metadata: { labels } }: SyncedBranch, { cluster }: PrimaryIdentity) => ({
  ...Object.fromEntries(Object.entries(labels ?? {}).filter(([name]) => copiedLabels.includes(name))),
  [originLabel]: cluster
})

/** Whether an object, or a patch of it, has the mark of an archive in its spec, where the archive belongs. */
export const lacksArchive = (part: object): boolean =>
  isArchiveMark(asString(at(part, "spec", "migrations", "archive")) ?? "")

/** The object or patch with the archive of the origin. `origin`: as its API server has it. */
export const withArchive = (part: object, origin: object): JsonObject => {
  const spec = asObject(at(part, "spec"))
  const archive = at(origin, "spec", "migrations", "archive")
  return { ...part, spec: { ...spec, migrations: { ...asObject(spec["migrations"]), archive } } }
}

const generationOf = ({ metadata: { generation } }: SyncedBranch): string => String(generation ?? 0)

/** The object to create. The target's namespace is no part of it: the copy is in that namespace. */
export const copyObject = (
  resource: SyncedKind,
  origin: SyncedBranch,
  primary: PrimaryIdentity,
  namespace: string
): object => {
  const { metadata, spec } = origin
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: {
      name: metadata.name,
      namespace,
      labels: labelsOf(origin, primary),
      annotations: {
        [originAnnotations.clusterUid]: primary.uid,
        [originAnnotations.namespace]: metadata.namespace ?? "",
        [originAnnotations.uid]: metadata.uid ?? "",
        [originAnnotations.generation]: generationOf(origin)
      }
    },
    spec: plain(spec)
  }
}

/**
 * The generations of origin and copy after a write of the copy's spec, as its API server has answered. A difference
 * that is left between them is that server's own, such as a default value, and is not written again.
 */
export interface WrittenGenerations {
  readonly origin: number | undefined
  readonly copy: number | undefined
}

/** The spec of a branch that has failed is not kept in memory, nor a spec that is too heavy. */
const isSpecKept = (branch: SyncedBranch): boolean =>
  phaseOf(branch) !== "Failed" && leftOutProblem(branch.metadata) === undefined

/** The patch that makes a copy equal to its origin; `undefined` if it is. */
export const copyPatch = (
  origin: SyncedBranch,
  copy: SyncedBranch,
  primary: PrimaryIdentity,
  written: WrittenGenerations | undefined
): MergePatch | undefined => {
  const { annotations, labels } = copy.metadata
  const name = originAnnotations.generation
  const wantedLabels = labelsOf(origin, primary)
  const knownLabels = Object.fromEntries(Object.keys(wantedLabels).map((label) => [label, labels?.[label]]))
  const metadata = mergePatch(
    { annotations: { [name]: annotations?.[name] }, labels: knownLabels },
    { annotations: { [name]: generationOf(origin) }, labels: wantedLabels }
  )
  const isWritten =
    jsonEqual(written, { origin: origin.metadata.generation, copy: copy.metadata.generation }) &&
    annotations?.[name] === generationOf(origin)
  const spec = isWritten || !isSpecKept(copy) ? undefined : mergePatch(plain(copy.spec), plain(origin.spec))
  if (metadata === undefined && spec === undefined) return undefined
  return { ...(metadata === undefined ? {} : { metadata }), ...(spec === undefined ? {} : { spec }) }
}

/** How long a branch may take that its cluster says nothing of; for people, since the default cluster decides. */
const maxWait = 1_800_000

const phases = ["Init", "Pending", "Ready", "Failed"]
const stepOf = (branch: Pick<SyncedBranch, "status">): number => phases.indexOf(phaseOf(branch) ?? "")

const notFromHere =
  "The branch was ordered in the default cluster by another owner: migrations are not run in it from here."

/** The outcome of the migrations that the origin's spec asks for, by the origin's generations. */
const migrationsOf = (origin: SyncedBranch, copy: SyncedBranch, { borrowed }: CopyReference): unknown => {
  const last = at(origin.status, "migrations") ?? undefined
  if (borrowed === true) {
    const isAsked = isObject(at(origin.spec, "migrations"))
    const observedGeneration = origin.metadata.generation ?? 0
    return isAsked ? { observedGeneration, phase: "Failed", error: notFromHere } : last
  }
  const found = at(copy.status, "migrations")
  const generation = originOf(copy)?.generation
  const isCurrent = at(found, "observedGeneration") === copy.metadata.generation
  if (!isObject(found) || generation === undefined || !isCurrent) return last
  const isOlder = generation < (asNumber(at(last, "observedGeneration")) ?? 0)
  return isOlder ? last : { ...found, observedGeneration: generation }
}

/** The status that an origin has next. `reference`: the copy's place. `now`: epoch ms. */
export const mirroredStatus = (
  origin: SyncedBranch,
  copy: SyncedBranch,
  reference: CopyReference,
  now: number
): JsonObject => {
  const before = plain(origin.status)
  if (stepOf(copy) < 0) {
    const expireTime = before["expireTime"] ?? timestamp(now + maxWait)
    return stepOf(origin) > 0 ? before : { phase: "Init", expireTime, copy: reference }
  }
  // A list may be older than what was seen before it.
  if (stepOf(copy) < stepOf(origin)) return before
  const { conditions, migrations: _, observedGeneration: __, ...found } = plain(copy.status)
  const migrations = migrationsOf(origin, copy, reference)
  return plain({
    ...found,
    conditions: conditions && asObjects(conditions).map((condition) => omit(condition, "observedGeneration")),
    migrations,
    copy: reference
  })
}
