/**
 * The sources of the program's metrics. Events are counted by Effect's own metrics, which are never forgotten: their
 * labels are known to the program. All that belongs to something that may go, such as a cluster, is measured when it is
 * asked for, and goes with it.
 *
 * Not here: the counts of the relay (relay-counts.ts), names and meanings (domain/metrics), and the form in which
 * metrics are read (app/metrics).
 */

import { Context, Effect, Metric, type Scope } from "effect"
import { metricCatalogue, type MetricLabels, type MetricName, type Sample } from "../../domain/metrics/catalogue.ts"

type NameOf<T extends string> = {
  [N in MetricName]: (typeof metricCatalogue)[N]["type"] extends T ? N : never
}[MetricName]

/** A counter of events. It is shown from its first update on, which may be by 0. */
export const counter = <N extends NameOf<"counter">>(
  name: N,
  labels: MetricLabels<N>
): Metric.Metric<number, Metric.CounterState<number>> =>
  Metric.withAttributes(
    Metric.counter(name, { description: metricCatalogue[name].help, incremental: true }),
    labels as Metric.Metric.Attributes
  )

/** A histogram of durations, in seconds. */
export const durations = <N extends NameOf<"histogram">>(
  name: N,
  labels: MetricLabels<N>
): Metric.Metric<number, Metric.HistogramState> => {
  const { buckets: boundaries, help: description } = metricCatalogue[name]
  return Metric.withAttributes(Metric.histogram(name, { description, boundaries }), labels as Metric.Metric.Attributes)
}

/** Counts an event. */
export const countOne = (of: Metric.Metric<number, unknown>): Effect.Effect<void> => Metric.update(of, 1)

type Source = () => ReadonlyArray<Sample>

/** Everything that is measured on demand. */
export class Measurements {
  readonly #sources = new Set<Source>()

  /** Adds a source, until the returned function is called. */
  readonly add = (source: Source): (() => void) => {
    this.#sources.add(source)
    return () => void this.#sources.delete(source)
  }

  readonly now = (): ReadonlyArray<Sample> => [...this.#sources].flatMap((source) => source())
}

/** The measurements of this process, unless others are provided. */
export const CurrentMeasurements = Context.Reference("braid/app/CurrentMeasurements", {
  defaultValue: () => new Measurements()
})

/** Shows what `source` measures for as long as the scope lives. */
export const measure = (source: Source): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(CurrentMeasurements, ({ add }) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => add(source)),
        (remove) => Effect.sync(remove)
      )
    )
  )
