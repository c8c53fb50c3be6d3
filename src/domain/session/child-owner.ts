/** What a child says about the parent that made it. */
export interface ChildMarks {
  /** `spec.multiClusterParentName`. */
  readonly parentName: string | undefined
  /** UID of the parent, where the annotation says so; people may have removed it. */
  readonly parentUid: string | undefined
}

/** Whose child it is: this parent's, that of an earlier parent of the same name, or somebody else's. */
export type ChildOwner = "This" | "Earlier" | "Other"

/** What carries a parent's UID is its child, whatever else was done to it; without any UID the name decides. */
export const childOwner = (child: ChildMarks, parent: { readonly name: string; readonly uid: string }): ChildOwner => {
  if (child.parentUid === parent.uid) return "This"
  if (child.parentName !== parent.name) return "Other"
  return child.parentUid === undefined ? "This" : "Earlier"
}
