/**
 * Which parent a child belongs to, as its object says. Readable in any object: what else a child holds may be garbage.
 */
import * as Predicate from "effect/Predicate"
import { childAnnotations } from "./names.ts"

/** What a child says about the parent that made it. */
export interface ChildMarks {
  /** `spec.multiClusterParentName`. */
  readonly parentName: string | undefined
  /** UID of the parent, where the annotation says so; people may have removed it. */
  readonly parentUid: string | undefined
}

/** Name of the parent of a session's object; nothing for a session that a user has made directly. */
export const parentNameOf = ({ spec }: Readonly<Record<string, unknown>>): string | undefined =>
  Predicate.hasProperty(spec, "multiClusterParentName") && typeof spec.multiClusterParentName === "string"
    ? spec.multiClusterParentName
    : undefined

/** What a session's object says about its parent. */
export const childMarks = (object: {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | null }
  readonly [field: string]: unknown
}): ChildMarks => ({
  parentName: parentNameOf(object),
  parentUid: object.metadata.annotations?.[childAnnotations.parentUid]
})

/** Whose child it is: this parent's, that of an earlier parent of the same name, or somebody else's. */
export type ChildOwner = "This" | "Earlier" | "Other"

/** What carries a parent's UID is its child, whatever else was done to it; without any UID the name decides. */
export const childOwner = (child: ChildMarks, parent: { readonly name: string; readonly uid: string }): ChildOwner => {
  if (child.parentUid === parent.uid) return "This"
  if (child.parentName !== parent.name) return "Other"
  return child.parentUid === undefined ? "This" : "Earlier"
}
