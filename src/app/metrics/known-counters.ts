/**
 * Shows counters before their first event. Prometheus sees an increase only between two scrapes: one that appeared with
 * its first event would hide it.
 */

import { Effect, Metric } from "effect"
import { sessionActs } from "../../domain/sessions/session-act.ts"
import { counter, durations } from "../kernel/metrics.ts"

/** Statuses of refused connects (api/status.ts). */
const refusals = ["400", "401", "403", "404", "410", "413", "500", "503"]

const counters = [
  counter("mirrord_sessions_create_total", {}),
  counter("mirrord_ci_sessions_create_total", {}),
  counter("braid_unknown_connect_parameters_total", {}),
  counter("braid_spans_dropped_total", {}),
  ...sessionActs.map((act) => counter("braid_session_acts_total", { act })),
  ...refusals.map((code) => counter("braid_connects_refused_total", { code })),
  ...["succeeded", "failed"].map((outcome) => counter("braid_credential_renewals_total", { outcome }))
]

const histograms = [
  durations("mirrord_sessions_duration", {}),
  durations("mirrord_ci_sessions_duration", {}),
  ...["client", "member"].map((from) => durations("braid_added_latency_seconds", { from }))
]

export const showKnownCounters: Effect.Effect<void> = Effect.gen(function* () {
  for (const one of counters) yield* Metric.update(one, 0)
  // Looked up is shown.
  for (const one of histograms) yield* Metric.value(one)
})
