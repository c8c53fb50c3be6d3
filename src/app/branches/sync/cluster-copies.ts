/**
 * Follows the branches of databases of one cluster, for as long as it is engaged, and deletes copies whose origin is
 * gone. `domain/branches/sync/copy-plan.ts` decides.
 *
 * Not here: everything else about copies (origin-controller.ts), and which clusters are engaged (engaged-clusters.ts).
 */

import { Effect, type Scope } from "effect"
import { type DeleteCopy, type ObservedCopy, planCopy } from "../../../domain/branches/sync/copy-plan.ts"
import { copyOf, originOf, ownerOf, type SyncedBranch } from "../../../domain/branches/sync/synced-branch.ts"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { isBeingDeleted } from "../../../domain/resources/object-meta.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { audit } from "../../kernel/audit.ts"
import { confirmGone, deleteSeen } from "../../kernel/mirrored-object.ts"
import { keyOfObject, makePlannedController, type PlannedTurns, type Turn } from "../../kernel/planned-controller.ts"
import { copyAddress, type CopiesOfCluster, isAlive, keyOf, originAddresses, type SyncState } from "./sync-state.ts"

type CopyTurn = Turn<SyncedBranch, undefined>

/** Whether an origin without a copy wants the name of a copy of another one. */
const isNameWanted = (state: SyncState, copy: SyncedBranch): boolean => {
  const { options, origins } = state
  const { name, namespace = "" } = copy.metadata
  return originAddresses(state, copy).some((address) => {
    const origin = origins.view(keyOf(address))
    if (origin === undefined || !isAlive(origin) || copyOf(origin) !== undefined) return false
    const wanted = copyAddress(origin, { copy: undefined }, options)
    return wanted?.namespace === namespace && wanted.name === name && originOf(copy)?.uid !== origin.metadata.uid
  })
}

const observed = (state: SyncState, { view }: CopyTurn): ObservedCopy => {
  const { options, origins, stopped } = state
  return {
    copy: view,
    owner: ownerOf(view, options.primary.uid, (address) => origins.view(keyOf(address))),
    areOriginsComplete: origins.cache.synced(),
    wasOriginSeen: stopped.has(originOf(view)?.uid ?? ""),
    isNameWanted: isNameWanted(state, view)
  }
}

const performDelete = Effect.fnUntraced(function* (
  state: SyncState,
  { cluster, controller }: Omit<CopiesOfCluster, "api">,
  { key, view }: CopyTurn,
  { marks, precondition }: DeleteCopy
): Effect.fn.Return<void, KubeError> {
  const { name, namespace = "" } = view.metadata
  const origin = keyOf({ name, namespace: marks.namespace })
  yield* confirmGone(state.origins.place(origin), ({ metadata }) => metadata.uid === marks.uid)
  const message = `its branch ${origin} is gone in the primary's cluster`
  if ((yield* deleteSeen(controller.place(key), precondition)) === "Begun")
    yield* audit({ act: "branchDeleted", branch: name, namespace, clusters: [cluster], message })
  state.stopped.delete(marks.uid)
})

/** Plans the origins that a branch of the cluster concerns. */
const branchChanged = (state: SyncState, copy: KubeObject, deleted: boolean): void => {
  const { origins, stopped } = state
  if (deleted) stopped.delete(originOf(copy)?.uid ?? "")
  for (const address of originAddresses(state, copy)) {
    if (origins.cache.get(address.name, address.namespace) !== undefined) origins.enqueue(keyOf(address))
  }
}

/** Follows the branches of a cluster for as long as the scope lives. */
export const makeClusterCopies = (
  state: SyncState,
  cluster: ClusterName,
  api: KubeApi
): Effect.Effect<CopiesOfCluster, never, Scope.Scope> =>
  Effect.map(
    makePlannedController(
      { name: `${state.options.resource.kind}Copy`, api, resource: state.options.resource },
      (self): PlannedTurns<SyncedBranch, undefined, ObservedCopy, DeleteCopy> => ({
        changed: (object, deleted) => {
          self.enqueue(keyOfObject(object))
          branchChanged(state, object, deleted)
        },
        forget: () => Effect.void,
        unreadable: () => Effect.void,
        isOver: ({ metadata }) => isBeingDeleted(metadata),
        // Before all origins are known, none is gone.
        known: () => Effect.as(state.origins.cache.awaitSynced, undefined),
        observe: (turn) => observed(state, turn),
        plan: planCopy,
        perform: (turn, action) => performDelete(state, { cluster, controller: self }, turn, action),
        order: "InOrder"
      })
    ),
    (controller) => ({ cluster, api, controller })
  )
