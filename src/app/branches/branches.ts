/**
 * Database branches for the other capabilities and for users' requests: those of this cluster, which its sessions use,
 * and whether and where values for branches are taken.
 *
 * Not here: making branches (branch-controller.ts), and which engines have branches
 * (domain/branches/branch-settings.ts).
 */

import { Context, Effect } from "effect"
import type { BranchCredentials } from "../../domain/branches/branch-credentials.ts"
import type { BranchSettings } from "../../domain/branches/branch-settings.ts"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import { type ApiError, notFound } from "../api/status.ts"
import type { ConnectAttempt } from "../services/capability.ts"
import type { BranchDirectory } from "./branch-directory.ts"

/** The engines that are switched on; empty: the operator has no branches. The operator provides them. */
export class BranchedEngines extends Context.Service<BranchedEngines, BranchSettings>()("braid/app/BranchedEngines") {}

export class Branches extends Context.Service<
  Branches,
  {
    /** Those of this cluster. */
    readonly directory: BranchDirectory
    /** Whether this operator makes branches or orders them. Otherwise no request has to wait until it has started. */
    readonly areMade: boolean
    /** Whether connects of a sort may name branches. */
    readonly areServed: (route: ConnectAttempt["_tag"]) => boolean
    /** Takes values for a branch, and returns the name of the Secret that the branch's spec is to name. */
    readonly takeCredentials: (credentials: BranchCredentials, caller: Caller) => Effect.Effect<string, ApiError>
  }
>()("braid/app/Branches") {}

/** The branches of an operator that has none. */
export const noBranches: Branches["Service"] = {
  directory: {
    started: Effect.void,
    caches: [],
    find: () => undefined,
    await: () => Effect.void,
    isUsedBy: () => false,
    use: () => Effect.void,
    release: () => Effect.void
  },
  areMade: false,
  areServed: () => false,
  takeCredentials: () =>
    Effect.fail(
      notFound(
        "This operator has no database branches made: its administrator has switched on no engine, as the chart's " +
          "value operator.pgBranching does; leave feature.db_branches out, or ask for the value."
      )
    )
}
