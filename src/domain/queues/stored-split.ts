/**
 * The record of a split in the cluster: a MirrordClusterWorkloadPatch, whose request is what patched pods get. The
 * notes of this operator alone stand in an annotation.
 *
 * Not here: how a split goes on (split-plan.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { keptBy, withNames } from "../resources/kept-fields.ts"
import { MirrordClusterWorkloadPatch, mirrordClusterWorkloadPatches } from "../resources/mirrord-workload-patches.ts"
import { preconditionOf } from "../resources/object-meta.ts"
import { apiVersionOf, type WatchedResource } from "../resources/resource-descriptor.ts"
import { ownerLabel } from "../sessions/names.ts"
import type { VariableUpdates } from "./environment-updates.ts"
import type { SplitRecord, SplitSource } from "./observed-split.ts"
import { placeOf, referenceOf, type SplitPlace } from "./split-place.ts"

const annotation = "operator.metalbear.co/queue-split"

/** By it `braid cleanup` has a running operator end the split at once. */
const endAnnotation = "operator.metalbear.co/split-end"
const now = "now"

/** UTF-16 code units of an annotation of ours, at most: an object may have 256 KiB of annotations. */
const longest = 262_144

export const Source = Schema.Struct({
  identity: Schema.String,
  reference: Schema.String,
  name: Schema.String,
  url: Schema.String,
  ids: Schema.Array(Schema.String)
})

const Restart = Schema.Struct({ number: Schema.Int, at: Schema.Number, attempts: Schema.Int })

const Content = Schema.fromJsonString(
  Schema.Struct({
    /** The session's container by which the configuration was chosen. */
    container: Schema.String,
    digest: Schema.String,
    sources: Schema.Array(Source),
    times: Schema.Struct({
      restartMillis: Schema.Number,
      strategy: Schema.Literals(["standard", "isolatePods"]),
      waitForPods: Schema.Union([Schema.Number, Schema.Literal("all")]),
      ttlMillis: Schema.Number,
      drainMillis: Schema.optional(Schema.Number),
      nameTemplate: Schema.optional(Schema.String)
    }),
    phase: Schema.Literals(["Starting", "Live", "Idle", "Draining", "Unpatching"]),
    since: Schema.Number,
    restart: Schema.optional(Restart)
  })
)
type Content = typeof Content.Type

const read = Schema.decodeUnknownResult(Content)
const write = Schema.encodeSync(Content)

/** The patches as the operator watches them. */
export const splitPatches: WatchedResource<MirrordClusterWorkloadPatch> = {
  ...mirrordClusterWorkloadPatches,
  keeps: withNames(keptBy(MirrordClusterWorkloadPatch), {
    labels: [],
    annotations: [annotation, endAnnotation],
    longest
  })
}

/** A split with its workload, and the values that its pods get. */
export interface StoredSplit {
  readonly place: SplitPlace
  readonly container: string
  readonly record: SplitRecord
  /** By container; empty until the names are known. */
  readonly updates: ReadonlyMap<string, VariableUpdates>
}

/** The split of an object; `undefined` if the object is no split of this operator. */
export const storedSplit = ({ metadata, spec }: MirrordClusterWorkloadPatch): StoredSplit | undefined => {
  const { workloadRef } = spec
  const place = placeOf(workloadRef.namespace, workloadRef)
  const content = Result.getOrUndefined(read(metadata.annotations?.[annotation]))
  if (place === undefined || content === undefined) return undefined
  const { container, restart, times, ...rest } = content
  const updates = new Map<string, Map<string, string>>()
  for (const { container: name, value, variable } of spec.requests.flatMap(({ envVars }) => envVars)) {
    updates.set(name, (updates.get(name) ?? new Map<string, string>()).set(variable, value))
  }
  return {
    place,
    container,
    record: {
      ...rest,
      restart,
      times: { ...times, drainMillis: times.drainMillis, nameTemplate: times.nameTemplate },
      uid: metadata.uid ?? "",
      precondition: preconditionOf(metadata),
      endsNow: metadata.annotations?.[endAnnotation] === now
    },
    updates
  }
}

export type NewSplit = Omit<Content, "sources"> & { readonly sources: ReadonlyArray<SplitSource> }

const noted = (content: NewSplit): { readonly annotations: Readonly<Record<string, string>> } => ({
  annotations: { [annotation]: write(content) }
})

/** The object for a new split. `name`: of the object. */
export const newSplitObject = (name: string, place: SplitPlace, content: NewSplit) => ({
  apiVersion: apiVersionOf(mirrordClusterWorkloadPatches),
  kind: mirrordClusterWorkloadPatches.kind,
  metadata: { name, labels: ownerLabel, ...noted(content) },
  spec: { workloadRef: { ...referenceOf(place), namespace: place.namespace }, requests: [] }
})

/** A merge patch by which a split ends at once. */
export const endedSplit = { metadata: { annotations: { [endAnnotation]: now } } }

/** A merge patch of the record. */
export const changedSplit = (
  { container, record: { digest, phase, precondition, restart, since, sources, times } }: StoredSplit,
  change: Partial<Pick<SplitRecord, "phase" | "since" | "restart">>
) => ({
  metadata: { ...precondition, ...noted({ container, digest, phase, restart, since, sources, times, ...change }) }
})

/** A merge patch with the values that pods get. */
export const withUpdates = (
  { record: { precondition, uid } }: StoredSplit,
  updates: ReadonlyMap<string, VariableUpdates>
) => ({
  metadata: precondition,
  spec: {
    requests: [
      {
        uid,
        envVars: [...updates].flatMap(([container, values]) =>
          [...values].map(([variable, value]) => ({ container, variable, value }))
        )
      }
    ]
  }
})
