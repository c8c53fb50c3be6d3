/**
 * Branches of databases in a fleet whose default cluster is another one than the primary's, as a capability of the
 * primary: users order branches here, and their sessions have them in the default cluster.
 *
 * Not here: making branches, which the default cluster's operator does (app/branches).
 */

import { Deferred, Effect, type Scope } from "effect"
import { branchFeatures } from "../../../domain/branches/branch-features.ts"
import type { BranchSettings } from "../../../domain/branches/branch-settings.ts"
import { watchedOrders } from "../../../domain/branches/watched-branches.ts"
import { clusterSlug } from "../../../domain/fleet/cluster-name.ts"
import type { FleetConfiguration } from "../../../domain/fleet/configuration.ts"
import { roleOf } from "../../../domain/fleet/roles.ts"
import { branchNames } from "../../../domain/sessions/connect-request.ts"
import type { SessionBounds } from "../../../domain/sessions/session-bounds.ts"
import { sessionIdHex } from "../../../domain/sessions/session-id.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import type { Capability, ReachedCluster } from "../../api/capability.ts"
import { clusterUid } from "../../kernel/cluster-uid.ts"
import type { EventRecorder } from "../../kernel/event-recorder.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { LogOnce } from "../../kernel/log-once.ts"
import { logWarning } from "../../kernel/log.ts"
import type { Reflector } from "../../kernel/reflector.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import { BranchPlaces } from "../branch-places.ts"
import { branchRefusal, onceRead, onceUsable } from "../session-branch-refusal.ts"
import { keepEngaged } from "./engaged-clusters.ts"
import { awaitCopy, usableOrder } from "./ordered-branches.ts"
import { begunOrigins, makeOriginController } from "./origin-controller.ts"
import { sendCredentials } from "./send-credentials.ts"
import type { SyncState } from "./sync-state.ts"

/** Pause before this cluster's identity is asked for again. */
const askAgain = "10 seconds"

/** The parts of the operator that the capability builds on. */
export interface BranchSyncGround {
  readonly api: KubeApi
  readonly namespace: string
  readonly fleet: FleetConfiguration | undefined
  readonly events: EventRecorder
  readonly bounds: SessionBounds
  /** The engines that are switched on; nothing: none. */
  readonly branchSettings?: BranchSettings | undefined
}

/** The identity of this cluster. Without it the copies of other primaries could not be told from ours. */
const ownUid = (api: KubeApi, log = new LogOnce()): Effect.Effect<string> =>
  clusterUid(api).pipe(
    Effect.flatMap((uid) => (uid === undefined ? Effect.fail({ message: "it cannot be read" }) : Effect.succeed(uid))),
    Effect.catch(({ message }) =>
      log.tell(message, logWarning("branches wait for the identity of this cluster", { problem: message })).pipe(
        Effect.andThen(Effect.sleep(askAgain)),
        Effect.andThen(() => ownUid(api, log))
      )
    )
  )

/**
 * Refuses branches that a new session could not use, before anything is made for it, and has the others kept. The
 * default cluster looks at the branches of all sessions, and at those of a session that has begun it alone.
 */
const admitBranches =
  (
    states: Deferred.Deferred<ReadonlyArray<SyncState>>,
    earlier: ReadonlyArray<Capability>
  ): NonNullable<Capability["admit"]> =>
  ({ _tag, id, params, request: { namespace } }) => {
    const names = _tag === "MultiCluster" ? branchNames(params) : []
    const hasBegun = earlier.some(({ sessions }) => sessions?.find(sessions.nameOf(id)) !== undefined)
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

/** `earlier`: the capability that knows the clusters of the primary is among them. */
export const makeBranchSyncCapability = (
  { api, bounds, branchSettings = {}, events, fleet, namespace }: BranchSyncGround,
  earlier: ReadonlyArray<Capability>
): Effect.Effect<Capability, never, Scope.Scope> =>
  Effect.gen(function* () {
    const role = roleOf(fleet)
    if (fleet === undefined || role._tag !== "Primary" || role.isDefault) return {}
    if (Object.keys(branchSettings).length === 0) return {}
    const { clusterName: ownCluster } = fleet
    const clusters = (): ReadonlyArray<ReachedCluster> => earlier.flatMap((capability) => capability.clusters?.() ?? [])
    const orderedIn = (target: string): string => (role.managementOnly ? namespace : target)
    let lookAgain = (): void => {}
    const known = yield* Deferred.make<ReadonlyArray<SyncState>>()
    const start = Effect.gen(function* () {
      const uid = yield* ownUid(api)
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
      states = yield* Effect.forEach(watchedOrders(branchSettings, sha256Hex), (resource) =>
        makeOriginController({ ...options, resource })
      )
      const looks = yield* Effect.forEach(states, keepEngaged)
      lookAgain = () => {
        for (const look of looks) look()
      }
      yield* Deferred.succeed(known, states)
    })
    yield* Effect.forkScoped(Effect.andThen(start, Effect.never))
    return {
      // Until the default cluster has told its own, an order is better than a wrong "not enabled": it waits.
      features: () =>
        clusters()
          .find(({ isDefault }) => isDefault)
          ?.branchFeatures?.() ?? branchFeatures(branchSettings),
      servesBranches: (route) => route === "MultiCluster",
      admit: admitBranches(known, earlier),
      takeCredentials: (credentials, caller) => sendCredentials({ api, clusters, orderedIn }, credentials, caller),
      hear: (change) => {
        if (change._tag === "ClusterChanged") lookAgain()
      }
    }
  })
