import type { Invariant } from "./invariant.ts"

/** All that must hold in every story. */
export const invariants: ReadonlyArray<Invariant> = []
