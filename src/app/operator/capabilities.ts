/**
 * The list of this operator's capabilities. A new capability is a line here and a folder of its own; none is
 * implemented here. A capability takes the services of those above it, and the compiler refuses a list in which one
 * stands above a capability that it needs.
 */

import { Layer } from "effect"
import type { Agents } from "../../ports/agents.ts"
import type { ClusterConnector } from "../../ports/cluster-connector.ts"
import type { BranchedEngines, Branches } from "../branches/branches.ts"
import { branchLayer } from "../branches/cluster-branches.ts"
import { branchSyncLayer } from "../branches/sync/branch-sync-capability.ts"
import { copyLayer, type CopySettings } from "../copies/copy-target-capability.ts"
import type { Changes } from "../kernel/change-feed.ts"
import type { Events } from "../kernel/event-recorder.ts"
import { policyLayer } from "../policies/policy-capability.ts"
import { tlsLayer } from "../policies/tls-capability.ts"
import type { QueueSplits } from "../queues/queue-splits.ts"
import type { QueueSplitting } from "../queues/queue-splitting.ts"
import { splitLayer } from "../queues/split-capability.ts"
import { fleetSplitsLayer } from "../queues/sync/fleet-splits.ts"
import { splitSyncLayer } from "../queues/sync/split-sync-capability.ts"
import type { Capabilities } from "../services/capability.ts"
import type { CopyTargets } from "../services/copy-targets.ts"
import type { FleetView } from "../services/fleet-view.ts"
import type { OwnCluster } from "../services/own-cluster.ts"
import type { Sessions } from "../services/sessions.ts"
import type { Targets } from "../services/targets.ts"
import type { UsageReports } from "../services/usage-reports.ts"
import { memberLayer } from "../sessions/member/member-capability.ts"
import { type PrimaryServices, primaryLayer } from "../sessions/primary/primary-capability.ts"
import type { SessionServices } from "../sessions/session-services.ts"
import { usageLayer } from "../usage/usage-capability.ts"
import type { UsageKeeping } from "../usage/usage-keeping.ts"

/** The services that the operator gives to its capabilities. `Capabilities`: none yet. */
export type OperatorServices =
  | Capabilities
  | OwnCluster
  | Changes
  | Events
  | SessionServices
  | PrimaryServices
  | BranchedEngines
  | CopySettings
  | QueueSplitting
  | UsageKeeping

/** The services of the capabilities that the operator asks. */
export type Asked = Capabilities | Sessions | Targets | FleetView | CopyTargets | Branches | QueueSplits | UsageReports

export type OperatorCapabilities = Layer.Layer<Asked, never, OperatorServices | Agents | ClusterConnector>

/**
 * The capabilities in the order in which they are made and asked. A capability that sessions may wait for stands before
 * the sessions.
 */
export const operatorCapabilities: OperatorCapabilities = policyLayer.pipe(
  (above) => Layer.provideMerge(tlsLayer, above),
  (above) => Layer.provideMerge(branchLayer, above),
  (above) => Layer.provideMerge(splitLayer, above),
  (above) => Layer.provideMerge(memberLayer, above),
  (above) => Layer.provideMerge(primaryLayer, above),
  (above) => Layer.provideMerge(branchSyncLayer, above),
  (above) => Layer.provideMerge(splitSyncLayer, above),
  (above) => Layer.provideMerge(fleetSplitsLayer, above),
  (above) => Layer.provideMerge(copyLayer, above),
  (above) => Layer.provideMerge(usageLayer, above)
)
