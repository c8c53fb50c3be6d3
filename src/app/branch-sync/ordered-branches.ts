/**
 * The branches that users have ordered at a primary, as a connect names them: by the namespace of the target, in which
 * their copies are.
 *
 * Not here: the branches themselves, at which the default cluster looks again.
 */

import { copyOf, phaseOf, type SyncedBranch, syncedBranches } from "../../domain/branch-sync/synced-branch.ts"
import { olderKinds } from "../../domain/branch/branch-kinds.ts"
import type { BranchObstacle } from "../../domain/branch/usable-branch.ts"
import type { NamedBranch } from "../../domain/session/connect-request.ts"
import { branchAt, copyAddress, isAlive, type SyncState } from "./sync-state.ts"

/** The origin of the branch of a name in a namespace of the default cluster; nothing: there is none. */
const originFor = (
  { options, origins }: Pick<SyncState, "options" | "origins">,
  namespace: string,
  name: string
): SyncedBranch | undefined =>
  [namespace, options.primary.namespace]
    .flatMap((place) => branchAt(origins.cache, { namespace: place, name }) ?? [])
    .find((origin) => copyAddress(origin, { copy: undefined }, options)?.namespace === namespace)

/** Why no session can use a branch, as far as its origin tells; nothing: it can. */
const originObstacle = (
  { options: { clusters, ownCluster } }: Pick<SyncState, "options">,
  origin: SyncedBranch
): BranchObstacle | undefined => {
  if (!isAlive(origin)) return { _tag: "BeingDeleted" }
  const phase = phaseOf(origin)
  if (phase === "Failed") return { _tag: "Failed" }
  if (phase !== "Ready") return { _tag: "NotReady", phase: phase ?? "none" }
  const place = copyOf(origin)?.cluster
  const today = clusters().find(({ isDefault, name }) => isDefault && name !== ownCluster)?.name
  if (place === today) return undefined
  const problem =
    `it is in cluster ${place ?? ownCluster}, and sessions have their databases in another cluster now; stop it ` +
    "(mirrord db-branches stop), and run the command again."
  return { _tag: "Unserved", problem }
}

/**
 * Why no session can use the branch that a connect names; nothing: it can. `states`: of all kinds, of which
 * BranchDatabase counts first, and then the older kind of the list that has the name.
 */
export const orderObstacle = (
  states: ReadonlyArray<Pick<SyncState, "options" | "origins">>,
  namespace: string,
  { name, olderKind }: NamedBranch
): BranchObstacle | undefined => {
  const kinds = [syncedBranches.kind, ...(olderKind === undefined ? [] : [olderKinds[olderKind].resource.kind])]
  for (const state of states.filter(({ options }) => kinds.includes(options.resource.kind))) {
    const origin = originFor(state, namespace, name)
    if (origin !== undefined) return originObstacle(state, origin)
  }
  return { _tag: "Unknown" }
}
