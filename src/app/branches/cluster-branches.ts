/**
 * The branches of databases of a cluster that serves sessions itself: none where no engine is switched on, and none at
 * a primary whose sessions have their databases in another cluster.
 *
 * Not here: making branches (branch-controller.ts).
 */

import { Effect, Result, type Scope } from "effect"
import { branchFeatures } from "../../domain/branches/branch-features.ts"
import type { BranchSettings } from "../../domain/branches/branch-settings.ts"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { roleOf } from "../../domain/fleet/roles.ts"
import type { Feature } from "../../domain/resources/mirrord-operator.ts"
import type { SessionBounds } from "../../domain/sessions/session-bounds.ts"
import type { ProtectedNamespaces } from "../../domain/targets/protected-namespaces.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import type { EventRecorder } from "../kernel/event-recorder.ts"
import { logWarning } from "../kernel/log.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { type Branches, makeBranches } from "./branch-controller.ts"

/** The parts of the operator that branches build on. */
export interface BranchGround {
  readonly api: KubeApi
  readonly fleet: FleetConfiguration | undefined
  readonly protectedNamespaces: ProtectedNamespaces
  readonly events: EventRecorder
  readonly bounds: SessionBounds
  /** The engines that are switched on; nothing: none. */
  readonly branchSettings?: BranchSettings | undefined
}

export interface ClusterBranches {
  readonly directory: Branches
  /** By these a client knows which engines have branches. */
  readonly features: ReadonlyArray<Feature>
}

/** Tells in the log which engines are refused for their files, and which fields have no effect. */
const warn = (settings: BranchSettings): Effect.Effect<void> =>
  Effect.forEach(
    Object.entries(settings),
    ([engine, found]) =>
      Result.match(found, {
        onFailure: (problem) => logWarning("branches of an engine are refused", { engine, problem }),
        onSuccess: ({ unserved }) =>
          unserved.length === 0
            ? Effect.void
            : logWarning("fields without effect", { file: `${engine}-branch-config.yaml`, fields: unserved.join(", ") })
      }),
    { discard: true }
  )

/** The branches of this cluster; nothing: it makes none. */
export const makeClusterBranches = ({
  api,
  bounds,
  branchSettings = {},
  events,
  fleet,
  protectedNamespaces
}: BranchGround): Effect.Effect<ClusterBranches | undefined, never, Scope.Scope> =>
  Effect.gen(function* () {
    const role = roleOf(fleet)
    const isElsewhere = role._tag === "Primary" && (role.managementOnly || !role.isDefault)
    if (isElsewhere || Object.keys(branchSettings).length === 0) return undefined
    yield* warn(branchSettings)
    const rules = { settings: branchSettings, protectedNamespaces }
    const directory = yield* makeBranches({ api, awaited: retryingApi(api), rules, events, bounds })
    return { directory, features: branchFeatures(branchSettings) }
  })
