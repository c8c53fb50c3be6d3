/**
 * Decides what is next for the copy of a configuration of queue splits in one member. It is written on the primary, and
 * every member has it in the same namespace under the same name (queue splitting over several clusters: "written on the
 * primary and synced to all").
 *
 * Not here: the ConfigMaps and Secrets that a property list names, which have no copies; observing and acting.
 */

import * as Schema from "effect/Schema"
import { keptBy, withNames } from "../resources/kept-fields.ts"
import { type MergePatch, mergePatch, plain } from "../resources/merge-patch.ts"
import { mirrorNeed, type MirrorOwner, skipLabel } from "../resources/mirrored-object.ts"
import { isBeingDeleted, ObjectMeta, type Precondition, preconditionOf } from "../resources/object-meta.ts"
import { mirrordPropertyLists } from "../resources/queues/mirrord-property-list.ts"
import { mirrordSplitConfigs } from "../resources/queues/mirrord-split-config.ts"
import { mirrordWorkloadQueueRegistries } from "../resources/queues/mirrord-workload-queue-registry.ts"
import { apiVersionOf, type ResourceDescriptor, type WatchedResource } from "../resources/resource-descriptor.ts"
import { ownerLabel } from "../sessions/names.ts"

/** Label of a copy, by which it is a primary's: the UID of the namespace `kube-system` of that primary's cluster. */
export const splitOriginLabel = "operator.metalbear.co/split-origin-cluster-uid"

/** Annotation of a copy: UID and generation of its original, with a slash between them. */
const splitVersionAnnotation = "operator.metalbear.co/split-origin-version"

/** Fields that this version does not know travel along. Labels of the original mean something in its cluster only. */
const SplitConfigurationObject = Schema.Struct({
  metadata: ObjectMeta,
  spec: Schema.optionalKey(Schema.NullOr(Schema.Record(Schema.String, Schema.Unknown)))
})
export type SplitConfigurationObject = typeof SplitConfigurationObject.Type

export type SyncedConfigurationKind = WatchedResource<SplitConfigurationObject>

const synced = ({ group, kind, plural, scope, version }: ResourceDescriptor<unknown>): SyncedConfigurationKind => ({
  group,
  version,
  kind,
  plural,
  scope,
  schema: SplitConfigurationObject,
  keeps: withNames(keptBy(SplitConfigurationObject), {
    labels: [skipLabel, splitOriginLabel, ...Object.keys(ownerLabel)],
    annotations: [splitVersionAnnotation],
    longest: 128
  })
})

/** The kinds that are copied. */
export const syncedConfigurationKinds: ReadonlyArray<SyncedConfigurationKind> = [
  synced(mirrordSplitConfigs),
  synced(mirrordWorkloadQueueRegistries),
  synced(mirrordPropertyLists)
]

/**
 * A write of a copy as the member has answered it. A difference that is left between original and copy is that API
 * server's own, such as a default value, and is not written again.
 */
export interface WrittenCopy {
  /** As in {@link splitVersionAnnotation}. */
  readonly version: string
  /** The copy's generation after the write. */
  readonly generation: number | undefined
  /** Epoch ms. */
  readonly at: number
}

/** A write that the member has refused. */
export interface RefusedCopy {
  readonly version: string
  /** A sentence. */
  readonly why: string
  /** Epoch ms. */
  readonly at: number
}

/** Everything from which the next step for a copy follows. */
export interface ObservedConfiguration {
  readonly resource: SyncedConfigurationKind
  /** The member. */
  readonly cluster: string
  readonly primaryUid: string
  /** The object on the primary; `undefined` if there is none. */
  readonly original: SplitConfigurationObject | undefined
  /** The object at the same place in the member; `undefined` if there is none. */
  readonly copy: SplitConfigurationObject | undefined
  readonly written: WrittenCopy | undefined
  readonly refused: RefusedCopy | undefined
}

export type ConfigurationStep =
  /** The member has what it should have. */
  | { readonly _tag: "Done" }
  | { readonly _tag: "Create"; readonly object: object }
  | { readonly _tag: "Patch"; readonly patch: MergePatch; readonly precondition: Precondition }
  | { readonly _tag: "Delete"; readonly precondition: Precondition }
  /** The member's own object has the name, and counts there. `why`: a sentence. */
  | { readonly _tag: "Taken"; readonly why: string }
  /** The member refuses the write; it is tried again at a time, epoch ms. `why`: a sentence. */
  | { readonly _tag: "Refused"; readonly why: string; readonly until: number }
  /** Another writer has changed the copy at once; it is made right at a time, epoch ms. */
  | { readonly _tag: "Later"; readonly until: number }
  /** An object at the place is being deleted, and something follows when it is gone. */
  | { readonly _tag: "Ending" }

/** How long a refusal holds, ms: a namespace may be made meanwhile, or a chart upgraded. */
const refusalHolds = 300_000

/** How long a copy that was just written stays as another writer makes it, ms: the two would write without end. */
const writtenHolds = 1_000

/** The original that is to have copies; `undefined` if none is. */
export const wantedOriginal = (original: SplitConfigurationObject | undefined) =>
  original === undefined || isBeingDeleted(original.metadata) || original.metadata.labels?.[skipLabel] === "true"
    ? undefined
    : original

/** The version that a copy is to have; of a copy that is to go, an empty text. */
export const wantedVersion = ({ original }: Pick<ObservedConfiguration, "original">): string => {
  const wanted = wantedOriginal(original)
  return wanted === undefined ? "" : `${wanted.metadata.uid}/${wanted.metadata.generation}`
}

/** Whether an object in a member is a copy of this primary's. */
export const isSplitCopy = ({ labels }: ObjectMeta, primaryUid: string): boolean =>
  labels?.[splitOriginLabel] === primaryUid

const ownerOf = (isOurs: boolean, isWanted: boolean): MirrorOwner => {
  if (!isOurs) return "Other"
  return isWanted ? "This" : "Earlier"
}

const marksOf = (observed: ObservedConfiguration) => ({
  labels: { ...ownerLabel, [splitOriginLabel]: observed.primaryUid },
  annotations: { [splitVersionAnnotation]: wantedVersion(observed) }
})

/** The values under the names that are written. Others belong to other writers. */
const known = (values: ObjectMeta["labels"], written: object) =>
  Object.fromEntries(Object.keys(written).map((name) => [name, values?.[name]]))

const created = (observed: ObservedConfiguration, { metadata, spec }: SplitConfigurationObject): ConfigurationStep => {
  const { name, namespace } = metadata
  const { kind } = observed.resource
  const object = {
    apiVersion: apiVersionOf(observed.resource),
    kind,
    metadata: { name, namespace, ...marksOf(observed) }
  }
  return { _tag: "Create", object: { ...object, spec } }
}

const brought = (
  observed: ObservedConfiguration,
  original: SplitConfigurationObject,
  copy: SplitConfigurationObject
): ConfigurationStep => {
  const { generation, annotations, labels } = copy.metadata
  const version = wantedVersion(observed)
  const marks = marksOf(observed)
  const before = { labels: known(labels, marks.labels), annotations: known(annotations, marks.annotations) }
  const metadata = mergePatch(before, marks)
  const { written } = observed
  const isWritten = metadata === undefined && written?.version === version && written.generation === generation
  const spec = isWritten ? undefined : mergePatch(plain(copy.spec), plain(original.spec))
  if (metadata === undefined && spec === undefined) return { _tag: "Done" }
  const patch = { ...(metadata === undefined ? {} : { metadata }), ...(spec === undefined ? {} : { spec }) }
  return { _tag: "Patch", patch, precondition: preconditionOf(copy.metadata) }
}

const taken = ({ cluster, resource: { kind } }: ObservedConfiguration): ConfigurationStep => ({
  _tag: "Taken",
  why:
    `Cluster ${cluster} has its own ${kind} of this name and keeps it: delete it there, or give the primary's ` +
    `the label ${skipLabel}: "true".`
})

const stepOf = (observed: ObservedConfiguration): ConfigurationStep => {
  const { copy, primaryUid } = observed
  const original = wantedOriginal(observed.original)
  if (copy === undefined) return original === undefined ? { _tag: "Done" } : created(observed, original)
  const isOurs = isSplitCopy(copy.metadata, primaryUid)
  if (original === undefined && !isOurs) return { _tag: "Done" }
  const need = mirrorNeed(ownerOf(isOurs, original !== undefined), isBeingDeleted(copy.metadata))
  if (need === "Wait") return { _tag: "Ending" }
  if (need === "Yield") return taken(observed)
  return original === undefined
    ? { _tag: "Delete", precondition: preconditionOf(copy.metadata) }
    : brought(observed, original, copy)
}

/** The next step for a copy. `now`: epoch ms. */
export const planConfiguration = (observed: ObservedConfiguration, now: number): ConfigurationStep => {
  const { refused, written } = observed
  const step = stepOf(observed)
  if (step._tag !== "Create" && step._tag !== "Patch" && step._tag !== "Delete") return step
  const version = wantedVersion(observed)
  const refusedUntil = refused?.version === version ? refused.at + refusalHolds : now
  if (refused !== undefined && now < refusedUntil) return { _tag: "Refused", why: refused.why, until: refusedUntil }
  const until = written?.version === version ? written.at + writtenHolds : now
  return now < until ? { _tag: "Later", until } : step
}
