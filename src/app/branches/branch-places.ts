/**
 * Counts branches, and refuses those beyond the bounds: each costs memory, and a pod in its cluster. The objects are
 * counted, so a new leader counts as its predecessor did; a branch that was just let in counts at once.
 *
 * Not here: the rule (domain/branches/branch-bounds.ts).
 */

import { branchBoundProblem } from "../../domain/branches/branch-bounds.ts"
import type { SessionBounds } from "../../domain/sessions/session-bounds.ts"

/** Branches by any text that is their own, with the namespace in which each is counted. */
export type CountedBranches = ReadonlyArray<readonly [branch: string, namespace: string]>

export class BranchPlaces {
  readonly #bounds: SessionBounds
  readonly #begun: () => CountedBranches
  readonly #taken = new Map<string, string>()

  /** `begun`: the branches that are made or being made, as their objects say. */
  constructor(bounds: SessionBounds, begun: () => CountedBranches) {
    this.#bounds = bounds
    this.#begun = begun
  }

  /** Lets a new branch in; the result says in a sentence why it is beyond a bound. Asking again is free. */
  take(branch: string, namespace: string): string | undefined {
    if (this.#taken.has(branch)) return undefined
    const counted = new Map([...this.#begun(), ...this.#taken])
    counted.delete(branch)
    const problem = branchBoundProblem(this.#bounds, namespace, [...counted.values()])
    if (problem === undefined) this.#taken.set(branch, namespace)
    return problem
  }

  /** The branch is over. */
  giveBack(branch: string): void {
    this.#taken.delete(branch)
  }

  get size(): number {
    return this.#taken.size
  }
}
