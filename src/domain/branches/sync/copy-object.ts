/**
 * The copy of a branch as it is made in the default cluster, and the patch that brings it to a later spec of its
 * origin. The spec flows in this direction alone.
 *
 * Not here: when a copy is made or patched (origin-plan.ts).
 */

import { asObject, asString, at, jsonEqual, type JsonObject } from "../../json.ts"
import { mergePatch, type MergePatch } from "../../resources/merge-patch.ts"
import { apiVersionOf } from "../../resources/resource-descriptor.ts"
import { leftOutProblem } from "../kept-branch.ts"
import { isArchiveMark } from "../migrations/archive-mark.ts"
import { originAnnotations, originLabel, phaseOf, plain, type SyncedBranch, type SyncedKind } from "./synced-branch.ts"

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
