/**
 * The branches of databases of a cluster that serves sessions itself, as a capability: none where no engine is switched
 * on, and none at a primary whose sessions have their databases in another cluster.
 *
 * Not here: making branches (branch-controller.ts).
 */

import { Context, Effect, Layer, Result } from "effect"
import { branchFeatures } from "../../domain/branches/branch-features.ts"
import type { BranchSettings } from "../../domain/branches/branch-settings.ts"
import { roleOf } from "../../domain/fleet/roles.ts"
import { Events } from "../kernel/event-recorder.ts"
import { logWarning } from "../kernel/log.ts"
import { retryingApi } from "../kernel/retrying-api.ts"
import { withCapability } from "../services/capability.ts"
import { OwnCluster } from "../services/own-cluster.ts"
import { makeBranches } from "./branch-controller.ts"
import { BranchedEngines, Branches, noBranches } from "./branches.ts"

/** Logs which engines are refused for their files, and which fields have no effect. */
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

/** The branches of this cluster for the sessions, with the features by which clients know which engines have some. */
export const branchLayer = Layer.effectContext(
  Effect.gen(function* () {
    const { api, bounds, fleet, protectedNamespaces } = yield* OwnCluster
    const settings = yield* BranchedEngines
    const role = roleOf(fleet)
    const isElsewhere = role._tag === "Primary" && (role.managementOnly || !role.isDefault)
    if (isElsewhere || Object.keys(settings).length === 0)
      return Context.add(yield* withCapability({}), Branches, noBranches)
    yield* warn(settings)
    const rules = { settings, protectedNamespaces }
    const events = yield* Events
    const directory = yield* makeBranches({ api, awaited: retryingApi(api), rules, events, bounds })
    const features = branchFeatures(settings)
    return Context.add(yield* withCapability({ features: () => features }), Branches, {
      directory,
      areMade: true,
      areServed: () => true,
      takeCredentials: directory.takeCredentials
    })
  })
)
