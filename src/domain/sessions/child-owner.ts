/**
 * The parent that a child belongs to, as the child's object says. It can be read even if the rest of the object cannot
 * be decoded.
 */

import * as Predicate from "effect/Predicate"
import type { MirrorOwner } from "../resources/mirrored-object.ts"
import { childAnnotations, parentInName } from "./names.ts"

/** The parts of a child that name the parent which made it. */
export interface ChildMarks {
  /** `spec.multiClusterParentName`. */
  readonly parentName: string | undefined
  /** UID of the parent, where the annotation says so; people may have removed it. */
  readonly parentUid: string | undefined
}

/** Name of the parent of a session's object; `undefined` for a session that a user has made directly. */
export const parentNameOf = ({ spec }: Readonly<Record<string, unknown>>): string | undefined =>
  Predicate.hasProperty(spec, "multiClusterParentName") && typeof spec.multiClusterParentName === "string"
    ? spec.multiClusterParentName
    : undefined

/**
 * Names of the parents for which a change of a session's object is news: the parent that the object names, and the
 * parent in the object's own name, which cannot be edited.
 */
export const parentsTold = (
  object: { readonly metadata: { readonly name: string } } & Readonly<Record<string, unknown>>
): ReadonlySet<string> => {
  const named = [parentNameOf(object), parentInName(object.metadata.name)]
  return new Set(named.filter((name) => name !== undefined))
}

/** Reads the marks of a session's object. */
export const childMarks = (object: {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | null }
  readonly [field: string]: unknown
}): ChildMarks => ({
  parentName: parentNameOf(object),
  parentUid: object.metadata.annotations?.[childAnnotations.parentUid]
})

/**
 * Decides who owns a child. A child with a parent's UID belongs to that parent, whatever else was edited. Without any
 * UID the name decides.
 */
export const childOwner = (child: ChildMarks, parent: { readonly name: string; readonly uid: string }): MirrorOwner => {
  if (child.parentUid === parent.uid) return "This"
  if (child.parentName !== parent.name) return "Other"
  return child.parentUid === undefined ? "This" : "Earlier"
}
