/**
 * The metadata of Kubernetes objects, as far as controllers read it, and the times in it.
 *
 * Not here: names and labels with a meaning of their own (domain/sessions/names.ts).
 */

import * as Schema from "effect/Schema"

const StringMap = Schema.Record(Schema.String, Schema.String)

/** `metav1.OwnerReference`. */
export const OwnerReference = Schema.Struct({
  apiVersion: Schema.String,
  kind: Schema.String,
  name: Schema.String,
  uid: Schema.String,
  controller: Schema.optionalKey(Schema.Boolean),
  blockOwnerDeletion: Schema.optionalKey(Schema.Boolean)
})
export type OwnerReference = typeof OwnerReference.Type

/** The API group of an owner's kind; the core group has no name. */
export const groupOfOwner = ({ apiVersion }: OwnerReference): string =>
  apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : ""

/** The fields of `metav1.ObjectMeta` that controllers read. Times are RFC 3339 text as the server sent them. */
export const ObjectMeta = Schema.Struct({
  name: Schema.String,
  namespace: Schema.optionalKey(Schema.String),
  uid: Schema.optionalKey(Schema.String),
  resourceVersion: Schema.optionalKey(Schema.String),
  generation: Schema.optionalKey(Schema.Int),
  creationTimestamp: Schema.optionalKey(Schema.NullOr(Schema.String)),
  deletionTimestamp: Schema.optionalKey(Schema.NullOr(Schema.String)),
  finalizers: Schema.optionalKey(Schema.Array(Schema.String)),
  labels: Schema.optionalKey(Schema.NullOr(StringMap)),
  annotations: Schema.optionalKey(Schema.NullOr(StringMap)),
  ownerReferences: Schema.optionalKey(Schema.Array(OwnerReference))
})
export type ObjectMeta = typeof ObjectMeta.Type

/**
 * The object that a write is meant for. Sent along as `metadata.uid` and `metadata.resourceVersion` (for DELETE as
 * preconditions), so that a decision from an old view fails with 409 instead of undoing what another writer did.
 */
export interface Precondition {
  readonly uid: string
  readonly resourceVersion: string
}

export const preconditionOf = ({ resourceVersion = "", uid = "" }: ObjectMeta): Precondition => ({
  uid,
  resourceVersion
})

/** Whether the object is being deleted: it waits for its finalizers only. */
export const isBeingDeleted = ({ deletionTimestamp }: { readonly deletionTimestamp?: string | null }): boolean =>
  (deletionTimestamp ?? undefined) !== undefined

/** A server's timestamp in epoch ms; undefined if it is absent or unreadable. */
export const timeOf = (text: string | null | undefined): number | undefined => {
  if (text === undefined || text === null) return undefined
  const time = Date.parse(text)
  return Number.isNaN(time) ? undefined : time
}

/** Epoch ms as RFC 3339 text, which Kubernetes and the mirrord client read. */
export const timestamp = (time: number): string => new Date(time).toISOString()
