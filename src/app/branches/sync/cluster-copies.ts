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
import { keyOfObject, makePlannedController, type PlannedTurns, type Turn } from "../../kernel/planned-controller.ts"
import {
  branchAt,
  changedMeanwhile,
  copyAddress,
  type CopiesOfCluster,
  isAlive,
  keyOf,
  originAddresses,
  type SyncState
} from "./sync-state.ts"

type CopyTurn = Turn<SyncedBranch, undefined>

/** Whether an origin without a copy wants the name of a copy of another one. */
const isNameWanted = (state: SyncState, copy: SyncedBranch): boolean => {
  const { options, origins } = state
  const { name, namespace = "" } = copy.metadata
  return originAddresses(state, copy).some((address) => {
    const origin = branchAt(origins.cache, address)
    if (origin === undefined || !isAlive(origin) || copyOf(origin) !== undefined) return false
    const wanted = copyAddress(origin, { copy: undefined }, options)
    return wanted?.namespace === namespace && wanted.name === name && originOf(copy)?.uid !== origin.metadata.uid
  })
}

const observed = (state: SyncState, { view }: CopyTurn): ObservedCopy => {
  const { options, origins, stopped } = state
  return {
    copy: view,
    owner: ownerOf(view, options.primary.uid, (address) => branchAt(origins.cache, address)),
    areOriginsComplete: origins.cache.synced(),
    wasOriginSeen: stopped.has(originOf(view)?.uid ?? ""),
    isNameWanted: isNameWanted(state, view)
  }
}

/** A list may have been older than its server's state, so the origin is asked for once more. */
const performDelete = (
  { options, origins, stopped }: SyncState,
  { api, cluster }: Pick<CopiesOfCluster, "api" | "cluster">,
  { view }: CopyTurn,
  { marks, precondition }: DeleteCopy
): Effect.Effect<void, KubeError> =>
  Effect.gen(function* () {
    const { name, namespace = "" } = view.metadata
    const address = { name, namespace: marks.namespace }
    const origin = yield* options.api
      .get(options.resource, name, marks.namespace)
      .pipe(Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed(undefined) : Effect.fail(error))))
    if (origin !== undefined && origin.metadata.uid === marks.uid && isAlive(origin)) {
      origins.cache.wrote(origin)
      return yield* changedMeanwhile(options.api, "delete", address)
    }
    const message = `its branch ${keyOf(address)} is gone in the primary's cluster`
    yield* api.delete(options.resource, name, { namespace, ...precondition }).pipe(
      Effect.andThen(audit({ act: "branchDeleted", branch: name, namespace, clusters: [cluster], message })),
      Effect.catch((error) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error)))
    )
    stopped.delete(marks.uid)
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
        perform: (turn, action) => performDelete(state, { api, cluster }, turn, action),
        order: "InOrder"
      })
    ),
    (controller) => ({ cluster, api, controller })
  )
