import { Context, Effect, Layer } from "effect"
import { BranchedEngines, Branches, noBranches } from "../../../../src/app/branches/branches.ts"
import { branchSyncLayer } from "../../../../src/app/branches/sync/branch-sync-capability.ts"
import { Capabilities } from "../../../../src/app/services/capability.ts"
import { FleetView, type ReachedCluster } from "../../../../src/app/services/fleet-view.ts"
import type { OwnCluster } from "../../../../src/app/services/own-cluster.ts"
import { Sessions } from "../../../../src/app/services/sessions.ts"
import type { BranchSettings } from "../../../../src/domain/branches/branch-settings.ts"
import { servicesOf } from "../../../support/services.ts"

/** The branches of a primary without sessions: what it says of itself, and what others ask of its branches. */
export const syncAlone = Effect.fnUntraced(function* (
  own: Parameters<typeof servicesOf>[0] & Pick<OwnCluster["Service"], "fleet">,
  settings: BranchSettings,
  clusters: () => ReadonlyArray<ReachedCluster>
) {
  const services = (yield* servicesOf(own)).pipe(
    Context.add(BranchedEngines, settings),
    Context.add(Branches, noBranches),
    Context.add(FleetView, { objects: () => [], readiness: () => new Map(), clusters }),
    Context.add(Sessions, { served: [], distant: () => [] })
  )
  const made = yield* Effect.provideContext(Layer.build(branchSyncLayer), services)
  return { capability: Context.get(made, Capabilities)[0] ?? {}, branches: Context.get(made, Branches) }
})
