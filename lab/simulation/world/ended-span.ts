/**
 * The tracing of a simulated process: each span that ends is told, as it would be exported. The spans are those of
 * Effect's own tracer in memory.
 *
 * Not here: which spans there are (src/app/kernel/tracing.ts).
 */

import { type Clock, Option, Tracer } from "effect"
import type { Tracing } from "../../../src/app/kernel/tracing.ts"
import { defaultSampler } from "../../../src/domain/tracing/sampler.ts"

/** A span as a collector gets it. Times in ms. */
export interface EndedSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | undefined
  readonly startedAt: number
  readonly endedAt: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly moments: ReadonlyArray<string>
  /** The text of its failure. */
  readonly failure: string | undefined
}

const millis = (nanos: bigint): number => Number(nanos / 1_000_000n)

const toldSpan = (span: Tracer.Span): EndedSpan | undefined => {
  const { attributes, events, name, parent, spanId, status, traceId } = span as Tracer.NativeSpan
  if (status._tag !== "Ended") return undefined
  return {
    name,
    traceId,
    spanId,
    parentSpanId: Option.getOrUndefined(parent)?.spanId,
    startedAt: millis(status.startTime),
    endedAt: millis(status.endTime),
    attributes: Object.fromEntries(attributes),
    moments: events.map(([moment]) => moment),
    failure: status.exit._tag === "Failure" ? String(status.exit.cause) : undefined
  }
}

/** Tells each span at its end. */
export const tellSpans = (clock: Clock.Clock, told: (span: EndedSpan) => void): Tracing => ({
  clock,
  sampler: defaultSampler,
  tracer: Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      const end = span.end.bind(span)
      span.end = (endTime, exit) => {
        end(endTime, exit)
        const ended = toldSpan(span)
        if (ended !== undefined) told(ended)
      }
      return span
    }
  })
})
