/**
 * The record of use, as a capability of an operator that has a place for it: follows its sessions, and makes reports of
 * the records. A primary records the sessions over its clusters, each once, and the sessions of its own cluster.
 */

import { Clock, Context, Effect, Layer } from "effect"
import { dayMillis } from "../../domain/usage/usage-spans.ts"
import { CurrentSettings } from "../kernel/setting-values.ts"
import { Capabilities, withCapability } from "../services/capability.ts"
import { FleetView } from "../services/fleet-view.ts"
import { OwnCluster } from "../services/own-cluster.ts"
import { Sessions } from "../services/sessions.ts"
import { noUsage, UsageReports } from "../services/usage-reports.ts"
import { followSessions } from "./follow-sessions.ts"
import { makeReports } from "./make-reports.ts"
import { UsageKeeping } from "./usage-keeping.ts"

const mebibyte = 1_048_576

/** The record of use, if it is switched on. */
export const usageLayer = Layer.effectContext(
  Effect.gen(function* () {
    const capability = yield* withCapability({})
    const { kept, wall } = yield* UsageKeeping
    if (kept === undefined) return Context.add(capability, UsageReports, noUsage)
    const { fleet } = yield* OwnCluster
    const { clusters, readiness } = yield* FleetView
    const { usageMaxMebibytes, usageRetentionDays } = yield* CurrentSettings
    const earlier = yield* Capabilities
    const clock = yield* Clock.Clock
    const open = yield* followSessions(
      {
        open: kept.open,
        sessions: yield* Sessions,
        readiness,
        limits: (now) => ({
          before: now - usageRetentionDays * dayMillis,
          maxBytes: usageMaxMebibytes * mebibyte
        }),
        hostAhead: () => wall.currentTimeMillisUnsafe() - clock.currentTimeMillisUnsafe()
      },
      Effect.forEach(earlier, ({ started = Effect.void }) => started, { discard: true })
    )
    const installation = () => ({
      operatorVersion: kept.version,
      chartVersion: kept.version,
      clusterName: fleet?.clusterName ?? null,
      clusters: clusters().map(({ name }) => name)
    })
    const reports = Effect.provideService(makeReports(open, { kept, installation }), Clock.Clock, wall)
    return Context.add(capability, UsageReports, yield* reports)
  })
)
