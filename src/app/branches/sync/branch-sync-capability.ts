/**
 * Branches of databases in a fleet whose default cluster is another one than the primary's, as a capability of the
 * primary: users order branches here, and their sessions have them in the default cluster.
 *
 * Not here: making branches, which the default cluster's operator does (app/branches).
 */

import { Context, Deferred, Effect, Layer } from "effect"
import { branchFeatures } from "../../../domain/branches/branch-features.ts"
import { watchedOrders } from "../../../domain/branches/watched-branches.ts"
import { type ClusterName, clusterSlug } from "../../../domain/fleet/cluster-name.ts"
import { roleOf } from "../../../domain/fleet/roles.ts"
import { branchNames } from "../../../domain/sessions/connect-request.ts"
import { sessionIdHex } from "../../../domain/sessions/session-id.ts"
import { knownClusterUid } from "../../kernel/cluster-uid.ts"
import { Events } from "../../kernel/event-recorder.ts"
import { countHolding } from "../../kernel/holdings.ts"
import type { Reflector } from "../../kernel/reflector.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import { type Capability, withCapability } from "../../services/capability.ts"
import { FleetView } from "../../services/fleet-view.ts"
import { OwnCluster } from "../../services/own-cluster.ts"
import { Sessions } from "../../services/sessions.ts"
import { BranchPlaces } from "../branch-places.ts"
import { BranchedEngines, Branches } from "../branches.ts"
import { branchRefusal, onceRead, onceUsable } from "../session-branch-refusal.ts"
import { keepBranchesKnown } from "./engaged-clusters.ts"
import { awaitCopy, usableOrder } from "./ordered-branches.ts"
import { begunOrigins, makeOriginController } from "./origin-controller.ts"
import { sendCredentials } from "./send-credentials.ts"
import type { SyncState } from "./sync-state.ts"

/**
 * Refuses branches that a new session could not use, before anything is made for it, and has the others kept. The
 * default cluster looks at the branches of all sessions, and at those of a session that has begun it alone.
 */
const admitBranches =
  (
    states: Deferred.Deferred<ReadonlyArray<SyncState>>,
    { served }: Sessions["Service"]
  ): NonNullable<Capability["admit"]> =>
  ({ _tag, id, params, request: { namespace } }) => {
    const names = _tag === "MultiCluster" ? branchNames(params) : []
    const hasBegun = served.some(({ find, nameOf }) => find(nameOf(id)) !== undefined)
    if (names.length === 0 || hasBegun) return Effect.void
    const caches: Array<Reflector> = []
    const read = Effect.flatMap(Deferred.await(states), (known) => {
      caches.push(...known.map(({ origins }) => origins.cache))
      return Effect.forEach(caches, ({ awaitSynced }) => awaitSynced, { discard: true })
    })
    return Effect.gen(function* () {
      yield* onceRead(read, caches)
      const known = yield* Deferred.await(states)
      const orders = yield* Effect.forEach(names, (named) =>
        Effect.flatMap(
          onceUsable(() => usableOrder(known, namespace, named)),
          Effect.fromResult
        ).pipe(Effect.mapError((obstacle) => branchRefusal(named.name, namespace, obstacle)))
      )
      const session = sessionIdHex(id)
      yield* Effect.forEach(orders, (order) => awaitCopy(order, session), { concurrency: "unbounded", discard: true })
    })
  }

/**
 * Makes a controller for each kind of order, as soon as this cluster's identity is known. The result looks again at the
 * clusters.
 */
const keepOrders = Effect.fnUntraced(function* (
  ownCluster: ClusterName,
  known: Deferred.Deferred<ReadonlyArray<SyncState>>
) {
  const { api, bounds, namespace } = yield* OwnCluster
  const settings = yield* BranchedEngines
  const { clusters } = yield* FleetView
  const events = yield* Events
  let looks: ReadonlyArray<() => void> = []
  const start = Effect.gen(function* () {
    const uid = yield* knownClusterUid(api, "branches wait for the identity of this cluster")
    let states: ReadonlyArray<SyncState> = []
    const places = new BranchPlaces(bounds, () => states.flatMap(begunOrigins))
    yield* countHolding("places of ordered branches", () => places.size)
    const options = {
      api,
      primary: { uid, cluster: clusterSlug(ownCluster, sha256Hex), namespace },
      ownCluster,
      clusters,
      events,
      places
    }
    states = yield* Effect.forEach(watchedOrders(settings, sha256Hex), (resource) =>
      makeOriginController({ ...options, resource })
    )
    looks = yield* Effect.forEach(states, keepBranchesKnown)
    yield* Deferred.succeed(known, states)
  })
  yield* Effect.forkScoped(Effect.andThen(start, Effect.never))
  return (): void => {
    for (const look of looks) look()
  }
})

/** The branches of a primary whose default cluster is another one. All other operators keep those of their cluster. */
export const branchSyncLayer = Layer.effectContext(
  Effect.gen(function* () {
    const { api, fleet, namespace } = yield* OwnCluster
    const settings = yield* BranchedEngines
    const own = yield* Branches
    const role = roleOf(fleet)
    const isElsewhere = fleet !== undefined && role._tag === "Primary" && !role.isDefault
    if (!isElsewhere || Object.keys(settings).length === 0) return Context.add(yield* withCapability({}), Branches, own)
    const { clusters } = yield* FleetView
    const orderedIn = (target: string): string => (role.managementOnly ? namespace : target)
    const known = yield* Deferred.make<ReadonlyArray<SyncState>>()
    const lookAgain = yield* keepOrders(fleet.clusterName, known)
    const capability = yield* withCapability({
      // Until the default cluster has reported its own, an order is better than a wrong "not enabled": it waits.
      features: () =>
        clusters()
          .find(({ isDefault }) => isDefault)
          ?.branchFeatures?.() ?? branchFeatures(settings),
      admit: admitBranches(known, yield* Sessions),
      hear: (change) => {
        if (change._tag === "ClusterChanged") lookAgain()
      }
    })
    return Context.add(capability, Branches, {
      ...own,
      areMade: true,
      areServed: (route) => route === "MultiCluster" || own.areServed(route),
      takeCredentials: (credentials, caller) => sendCredentials({ api, clusters, orderedIn }, credentials, caller)
    })
  })
)
