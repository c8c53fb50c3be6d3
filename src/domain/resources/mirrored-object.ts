/**
 * An object that the operator wants in another cluster, such as a session's child or a branch's copy: to whom the
 * object there belongs, and what is to be done about it. Its name, its marks and its contents are the caller's.
 *
 * Not here: calls about it (app/kernel/mirrored-object.ts).
 */

/** Label of objects for the primary's own cluster alone: with the value `true` they have no copy elsewhere. */
export const skipLabel = "operator.metalbear.co/skip-mc-sync"

/** By its marks: the object that wants it, an earlier one of ours that is gone, or another user or primary. */
export type MirrorOwner = "This" | "Earlier" | "Other"

/**
 * `Keep`: it is the wanted one. `Delete`: an earlier owner's is in the way. `Yield`: the name is taken, and the object
 * is left alone. `Wait`: it goes by itself.
 */
export type MirrorNeed = "Keep" | "Delete" | "Yield" | "Wait"

const needs = { This: "Keep", Earlier: "Delete", Other: "Yield" } as const

/** The need of an object that is there. */
export const mirrorNeed = (owner: MirrorOwner, isEnding: boolean): MirrorNeed => (isEnding ? "Wait" : needs[owner])
