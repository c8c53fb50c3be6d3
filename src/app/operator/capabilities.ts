/**
 * The list of this operator's capabilities, and how they are made. A new capability is a line here and a folder of its
 * own; none is implemented here.
 */

import { Effect, type Scope } from "effect"
import type { Agents } from "../../ports/agents.ts"
import type { ClusterConnector } from "../../ports/cluster-connector.ts"
import type { Capability } from "../api/capability.ts"
import type { BranchDirectory } from "../branches/branch-directory.ts"
import { type BranchGround, makeClusterBranches } from "../branches/cluster-branches.ts"
import { type BranchSyncGround, makeBranchSyncCapability } from "../branches/sync/branch-sync-capability.ts"
import { type CopyTargetGround, makeCopyTargetCapability } from "../copies/copy-target-capability.ts"
import { makePolicyCapability, type PolicyGround } from "../policies/policy-capability.ts"
import { makeTlsCapability, type TlsGround } from "../policies/tls-capability.ts"
import { makeMemberCapability, type MemberGround } from "../sessions/member/member-capability.ts"
import { makePrimaryCapability, type PrimaryGround } from "../sessions/primary/primary-capability.ts"

/** The ground that every capability may build on; each capability names the part that it needs. */
export interface Ground
  extends PolicyGround, TlsGround, BranchGround, MemberGround, PrimaryGround, BranchSyncGround, CopyTargetGround {
  /** The branches of this cluster for its sessions; nothing: it makes none, and connects that name some are refused. */
  readonly branches?: BranchDirectory | undefined
}

/** `earlier`: the capabilities before this one in the list, which it may ask. */
export type MakeCapability = (
  ground: Ground,
  earlier: ReadonlyArray<Capability>
) => Effect.Effect<Capability, never, Agents | ClusterConnector | Scope.Scope>

/** The branches of databases in this cluster, and its sessions, which use them. */
const makeBranchesAndSessions: MakeCapability = (ground, earlier) =>
  Effect.gen(function* () {
    const branches = yield* makeClusterBranches(ground)
    const grounded: Ground = branches === undefined ? ground : { ...ground, branches: branches.directory }
    const sessions = yield* makeMemberCapability(grounded, earlier)
    return {
      ...sessions,
      features: () => [...(sessions.features?.() ?? []), ...(branches?.features ?? [])],
      ...(branches === undefined ? {} : { takeCredentials: branches.directory.takeCredentials })
    }
  })

/**
 * The capabilities in the order in which they are made. A capability that sessions may wait for stands before the
 * sessions, and one that asks which sessions there are stands after them.
 */
export const operatorCapabilities: ReadonlyArray<MakeCapability> = [
  makePolicyCapability,
  makeTlsCapability,
  makeBranchesAndSessions,
  makePrimaryCapability,
  makeBranchSyncCapability,
  makeCopyTargetCapability
]

/** Makes each capability after those that it may ask, and subscribes it to changes at once. */
export const makeCapabilities = (
  ground: Ground,
  list: ReadonlyArray<MakeCapability>
): Effect.Effect<ReadonlyArray<Capability>, never, Agents | ClusterConnector | Scope.Scope> =>
  Effect.gen(function* () {
    const made: Array<Capability> = []
    for (const make of list) {
      const capability = yield* make(ground, [...made])
      if (capability.hear !== undefined) ground.feed.subscribe(capability.hear)
      made.push(capability)
    }
    return made
  })
