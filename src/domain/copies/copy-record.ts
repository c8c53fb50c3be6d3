/**
 * All that the operator has to remember of a copy, in an annotation of its pod: so it goes with the pod, and a new
 * leader knows as much as its predecessor did.
 *
 * Not here: the pod (copied-pod.ts), and what clients see of the copy (copy-info.ts).
 */

import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { pods } from "../resources/core-kinds.ts"
import { withNames } from "../resources/kept-fields.ts"
import type { ObjectMeta } from "../resources/object-meta.ts"
import { SessionOwner } from "../resources/session-shapes.ts"

/** Label of every copy's pod. */
export const copyLabel = "operator.metalbear.co/copy-target"
/** Annotation of a copy's pod that holds its record. */
export const copyAnnotation = "operator.metalbear.co/copy-target"

/** Longest record that is read, UTF-16 code units: any user may give a pod the label of copies, and a longer text. */
const maxRecord = 65_536

/** The pods of copies as the operator watches them. */
export const copiedPods: typeof pods = {
  ...pods,
  keeps: withNames(pods.keeps, { labels: [copyLabel], annotations: [copyAnnotation], longest: maxRecord })
}

const CopyRecord = Schema.Struct({
  /** The client's spec as it came. */
  spec: Schema.Record(Schema.String, Schema.Unknown),
  owner: SessionOwner,
  /** The id of the session that the copy was made for, as listed. */
  session: Schema.String,
  /** Path form of the copied target. */
  target: Schema.String,
  /** The container that sessions use. */
  container: Schema.String,
  /** The primary that has ordered the copy: its cluster's name as a DNS label. */
  primary: Schema.optionalKey(Schema.String),
  /** The workload that has no pods while the copy is there. */
  replaces: Schema.optionalKey(
    Schema.Struct({ kind: Schema.Literals(["deployment", "statefulset", "rollout"]), name: Schema.String })
  )
})
export type CopyRecord = typeof CopyRecord.Type
const readRecord = Schema.decodeUnknownResult(Schema.fromJsonString(CopyRecord))

export const recordAnnotation = (record: CopyRecord): Readonly<Record<string, string>> => ({
  [copyAnnotation]: JSON.stringify(record)
})

/** The record of a copy's pod; `undefined` if the pod has none that can be read. */
export const copyRecord = ({ annotations }: ObjectMeta): CopyRecord | undefined =>
  Result.getOrUndefined(readRecord(annotations?.[copyAnnotation]))

/** Whether a pod is a copy. It belongs to the sessions of one user, so it is no pod of its target for others. */
export const isCopy = ({ labels }: ObjectMeta): boolean => labels?.[copyLabel] !== undefined
