/**
 * The branches that users have ordered at a primary, as a connect names them: by the namespace of the target, in which
 * their copies are.
 *
 * Not here: the branches themselves, at which the default cluster looks again.
 */

import { Clock, Effect, Result } from "effect"
import { olderKinds } from "../../../domain/branches/branch-kinds.ts"
import {
  copyOf,
  originAnnotations,
  phaseOf,
  type SyncedBranch,
  syncedBranches
} from "../../../domain/branches/sync/synced-branch.ts"
import type { BranchObstacle } from "../../../domain/branches/usable-branch.ts"
import { timestamp } from "../../../domain/resources/object-meta.ts"
import type { NamedBranch } from "../../../domain/sessions/connect-request.ts"
import { logWarning } from "../../kernel/log.ts"
import { copyAddress, keyOf, type SyncState } from "./sync-state.ts"

/** The origin of the branch of a name in a namespace of the default cluster; `undefined` if there is none. */
const originFor = (
  { options, origins }: Pick<SyncState, "options" | "origins">,
  namespace: string,
  name: string
): SyncedBranch | undefined =>
  [namespace, options.primary.namespace]
    .flatMap((place) => origins.view(keyOf({ namespace: place, name })) ?? [])
    .find((origin) => copyAddress(origin, { copy: undefined }, options)?.namespace === namespace)

/** A branch that users have ordered, among those of its kind. */
interface BranchOrder {
  readonly state: SyncState
  readonly origin: SyncedBranch
}

/**
 * The order of the branch that a connect names; `undefined` if there is none. `states`: of all kinds, of which
 * BranchDatabase counts first, and then the older kind of the list that has the name.
 */
const orderFor = (
  states: ReadonlyArray<SyncState>,
  namespace: string,
  { name, olderKind }: NamedBranch
): BranchOrder | undefined => {
  const kinds = [syncedBranches.kind, ...(olderKind === undefined ? [] : [olderKinds[olderKind].resource.kind])]
  for (const state of states.filter(({ options }) => kinds.includes(options.resource.kind))) {
    const origin = originFor(state, namespace, name)
    if (origin !== undefined) return { state, origin }
  }
  return undefined
}

/** Why no session can use an ordered branch, as far as its origin tells; `undefined` if it can. */
const orderObstacle = ({
  origin,
  state: {
    options: { clusters, ownCluster }
  }
}: BranchOrder): BranchObstacle | undefined => {
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

/** The order of the branch that a connect names, if a session can use it. */
export const usableOrder = (...named: Parameters<typeof orderFor>): Result.Result<BranchOrder, BranchObstacle> => {
  const order = orderFor(...named)
  if (order === undefined) return Result.fail({ _tag: "Unknown" })
  const obstacle = orderObstacle(order)
  return obstacle === undefined ? Result.succeed(order) : Result.fail(obstacle)
}

/**
 * Has the copy of a branch kept for a session that has named it, until that has started in all its clusters. A branch
 * that another writer made is never written; the session's cluster says later whether it is there.
 */
export const awaitCopy = ({ origin, state }: BranchOrder, sessionId: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const copy = copyOf(origin)
    const copies = copy === undefined ? undefined : state.engaged.get(copy.cluster)
    if (copy === undefined || copies === undefined || copy.borrowed === true) return Effect.void
    const { name } = origin.metadata
    const { namespace, uid } = copy
    const { awaitedBy, awaitedSince } = originAnnotations
    const patch = { metadata: { uid, annotations: { [awaitedBy]: sessionId, [awaitedSince]: timestamp(now) } } }
    return copies.api.mergePatch(state.options.resource, name, patch, { namespace }).pipe(
      Effect.map((after) => copies.controller.cache.wrote(after)),
      Effect.catch(({ message }) =>
        logWarning("database branch not kept for a session", { branch: name, session: sessionId, problem: message })
      )
    )
  })
