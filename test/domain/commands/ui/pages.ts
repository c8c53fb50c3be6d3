/** Fleets for tests of the page of `braid ui`, and their pages. */

import type { SessionRow } from "../../../../src/domain/commands/overview/session-row.ts"
import { fleetPage, type FleetPage } from "../../../../src/domain/commands/ui/fleet-page.ts"
import type { SeenFleet } from "../../../../src/domain/commands/ui/seen-fleet.ts"
import type { MirrordCluster } from "../../../../src/domain/resources/mirrord-cluster.ts"
import { timestamp } from "../../../../src/domain/resources/object-meta.ts"
import type { SessionInfo } from "../../../../src/domain/resources/session.ts"

export const now = Date.UTC(2026, 10, 29, 12, 0, 0)

const sinceMinute = timestamp(now - 60_000)

/** A cluster that is ready, or not for a reason. */
export const aCluster = (
  name: string,
  reason = "Connected",
  message = "Its operator answers, and its sessions are known."
): MirrordCluster => ({
  metadata: { name },
  spec: { roles: name === "a" ? ["Default"] : [] },
  status: {
    operatorVersion: "3.250.0",
    credentialsExpireAt: timestamp(now + 3_600_000),
    sessions: 1,
    conditions: [
      {
        type: "Ready",
        status: reason === "Connected" ? "True" : "False",
        reason,
        message,
        lastTransitionTime: sinceMinute
      }
    ]
  }
})

/** A session of ann over the clusters a, b and c. */
export const aSession = (more: Partial<SessionRow> = {}): SessionRow => ({
  name: "mc-00000000000000ff",
  kind: "MirrordMultiClusterSession",
  phase: "Ready",
  namespace: "shop",
  target: "deployment/web/container/app",
  user: "ann",
  clusters: ["a", "b", "c"].map((name) => ({ name, ready: true, reason: undefined })),
  parent: undefined,
  createdAt: now - 90_000,
  reason: undefined,
  ...more
})

/** The session as lists have it, which steals port 80. */
export const aListedSession = (more: Partial<SessionInfo> = {}): SessionInfo => ({
  id: "FF",
  duration_secs: 90,
  user: "ann/ann@laptop",
  target: "deployment/web/container/app",
  namespace: "shop",
  key: "ann-key",
  locked_ports: [{ port: 80, kind: "steal" }],
  ...more
})

/** A fleet of three clusters and one session. */
export const aFleet = (more: Partial<SeenFleet> = {}, listed: ReadonlyArray<SessionInfo> = [aListedSession()]) =>
  ({
    context: "primary",
    operator: {
      metadata: { name: "operator" },
      spec: {
        operator_version: "3.250.0",
        default_namespace: "default",
        supported_features: ["MultiClusterPrimary"],
        license: { name: "braid", organization: "braid", expire_at: "9999-12-31" }
      },
      status: {
        sessions: listed,
        connected_clusters: [
          { name: "b", lastCheck: sinceMinute, error: { message: "it does not answer" } },
          { name: "a", lastCheck: sinceMinute, connected: { operatorVersion: "3.250.0" } }
        ]
      }
    },
    clusters: ["a", "b", "c"].map((name) => aCluster(name)),
    sessions: [aSession()],
    branches: [],
    queues: [],
    local: [],
    localEvents: new Map(),
    events: [],
    notes: [],
    ...more
  }) satisfies SeenFleet

export const aPage = (more: Partial<SeenFleet> = {}): FleetPage => fleetPage(aFleet(more), now)
