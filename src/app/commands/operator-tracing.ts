/**
 * The tracing of an operator's process: an exporter by its settings, and what is said of spans that are dropped. The
 * exporter is loaded only where traces are on.
 *
 * Not here: which spans there are (app/kernel/tracing.ts).
 */

import { Clock, Effect, Metric, type Scope } from "effect"
import { LogOnce } from "../kernel/log-once.ts"
import { logInfo, logWarning } from "../kernel/log.ts"
import { counter } from "../kernel/metrics.ts"
import type { Tracing } from "../kernel/tracing.ts"
import { version } from "../kernel/version.ts"
import type { Settings } from "../operator/settings.ts"

const droppedSpans = counter("braid_spans_dropped_total", {})

/** Attributes of every span of this process; variables of the user come first. */
const resourceOf = ({ candidacy, fleet, namespace, tracing }: Settings): Readonly<Record<string, string>> => ({
  "service.version": version,
  "k8s.namespace.name": namespace,
  ...(fleet === undefined ? {} : { "k8s.cluster.name": fleet.clusterName }),
  ...(candidacy === undefined ? {} : { "k8s.pod.name": candidacy.pod.name, "service.instance.id": candidacy.pod.uid }),
  ...tracing?.otlp.resource
})

/** The tracing of this process until the scope ends; `undefined` while traces are off. */
export const makeOperatorTracing = Effect.fnUntraced(function* (
  settings: Settings
): Effect.fn.Return<Tracing | undefined, never, Scope.Scope> {
  const { tracing } = settings
  if (tracing === undefined) return undefined
  const { makeOtlpTracer } = yield* Effect.promise(() => import("../../adapters/otlp/otlp-tracer.ts"))
  const troubles = new LogOnce()
  const tracer = yield* makeOtlpTracer({
    settings: { ...tracing.otlp, resource: resourceOf(settings) },
    dropped: (count, why) =>
      Effect.andThen(
        Metric.update(droppedSpans, count),
        troubles.tell(why, logWarning("spans dropped", { problem: why }))
      ),
    taken: Effect.sync(troubles.reset)
  })
  yield* logInfo("traces are exported", { protocol: tracing.otlp.protocol })
  return { tracer, clock: yield* Clock.Clock, sampler: tracing.sampler }
})
