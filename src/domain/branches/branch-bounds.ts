/**
 * How many branches of databases there may be at a time, and the sentence for a branch that is beyond. A branch has no
 * user who could be counted: nothing in its object says who made it.
 *
 * Not here: counting them (app/branches/branch-places.ts), and the memory of one of them (kept-branch.ts).
 */

import { reachedBound, type SessionBounds } from "../sessions/session-bounds.ts"

type BranchBounds = Pick<SessionBounds, "branches" | "branchesPerNamespace">

/** Why a branch is beyond a bound, as a sentence; `undefined` if it is not. `others`: namespaces of the others. */
export const branchBoundProblem = (
  bounds: BranchBounds,
  namespace: string,
  others: ReadonlyArray<string>
): string | undefined => {
  const beside = others.filter((one) => one === namespace).length
  const { branches, branchesPerNamespace } = bounds
  const here =
    beside < branchesPerNamespace
      ? undefined
      : reachedBound(`branches of namespace ${namespace}`, "branchesPerNamespace", beside, branchesPerNamespace)
  const everywhere =
    others.length < branches
      ? undefined
      : reachedBound("branches of all namespaces", "branches", others.length, branches)
  const problem = here ?? everywhere
  return problem === undefined
    ? undefined
    : `${problem.charAt(0).toUpperCase()}${problem.slice(1)}; stop one (mirrord db-branches stop), or ask an ` +
        "administrator to raise the value."
}
