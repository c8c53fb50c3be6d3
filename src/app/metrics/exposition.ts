/**
 * The metrics of this process in the form that Prometheus reads: the counters of events, and what is measured at this
 * moment.
 */

import { Context, Effect, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import { metricCatalogue, type Sample } from "../../domain/metrics/catalogue.ts"
import { CurrentMeasurements } from "../kernel/metrics.ts"

/** Shows a sample in a registry that has no value for it yet; so one update by the value is right for a counter too. */
const show = (registry: Context.Context<never>, { labels, name, value }: Sample): void => {
  const { help: description, type } = metricCatalogue[name]
  const options = { description, attributes: labels as Metric.Metric.Attributes }
  const metric = type === "counter" ? Metric.counter(name, options) : Metric.gauge(name, options)
  metric.updateUnsafe(value, registry)
}

/** Samples are shown in a registry of their own, which is gone afterwards: nothing outlives what it measures. */
const measured = (samples: ReadonlyArray<Sample>): string => {
  const registry = Context.make(Metric.MetricRegistry, new Map())
  for (const sample of samples) show(registry, sample)
  return PrometheusMetrics.formatUnsafe(registry)
}

export const exposition: Effect.Effect<string> = Effect.gen(function* () {
  const { now } = yield* CurrentMeasurements
  return (yield* PrometheusMetrics.format()) + measured(now())
})
