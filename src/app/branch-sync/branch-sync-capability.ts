/**
 * Branches of databases in a fleet whose default cluster is another one than the primary's, as a capability of the
 * primary: users order branches here, and their sessions have them in the default cluster.
 *
 * Not here: making branches, which the default cluster's operator does (app/branches).
 */

import { Effect, type Scope } from "effect"
import type { BranchSettings } from "../../domain/branch/branch-settings.ts"
import { clusterSlug } from "../../domain/fleet/cluster-name.ts"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { roleOf } from "../../domain/fleet/roles.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { Capability } from "../api/capability.ts"
import { clusterUid } from "../kernel/cluster-uid.ts"
import type { EventRecorder } from "../kernel/event-recorder.ts"
import { LogOnce } from "../kernel/log-once.ts"
import { logWarning } from "../kernel/log.ts"
import { sha256Hex } from "../kernel/sha256-hex.ts"
import { keepEngaged } from "./engaged-clusters.ts"
import { makeOriginController } from "./origin-controller.ts"

/** Pause before this cluster's identity is asked for again. */
const askAgain = "10 seconds"

/** The parts of the operator that the capability builds on. */
export interface BranchSyncGround {
  readonly api: KubeApi
  readonly namespace: string
  readonly fleet: FleetConfiguration | undefined
  readonly events: EventRecorder
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

/** `earlier`: the capability that knows the clusters of the primary is among them. */
export const makeBranchSyncCapability = (
  { api, branchSettings = {}, events, fleet, namespace }: BranchSyncGround,
  earlier: ReadonlyArray<Capability>
): Effect.Effect<Capability, never, Scope.Scope> =>
  Effect.gen(function* () {
    const role = roleOf(fleet)
    if (fleet === undefined || role._tag !== "Primary" || role.isDefault) return {}
    if (Object.keys(branchSettings).length === 0) return {}
    const { clusterName: ownCluster } = fleet
    let lookAgain = (): void => {}
    const start = Effect.gen(function* () {
      const uid = yield* ownUid(api)
      const state = yield* makeOriginController({
        api,
        primary: { uid, cluster: clusterSlug(ownCluster, sha256Hex), namespace },
        ownCluster,
        clusters: () => earlier.flatMap(({ clusters }) => clusters?.() ?? []),
        events
      })
      lookAgain = yield* keepEngaged(state)
    })
    yield* Effect.forkScoped(Effect.andThen(start, Effect.never))
    return {
      hear: (change) => {
        if (change._tag === "ClusterChanged") lookAgain()
      }
    }
  })
