/**
 * Traces of sessions: makes the spans of their phases, and carries a trace from one process to the next as W3C Trace
 * Context. Without `CurrentTracing` nothing is made and nothing is carried. domain/tracing says which spans there are.
 *
 * Not here: the export of spans (adapters/otlp). Nothing on the way of messages makes spans.
 */

import { Cause, type Clock, Context, Effect, Exit, Option, Tracer } from "effect"
import { Headers, HttpTraceContext } from "effect/http"
import { cleanText, textLimits } from "../../domain/clean-text.ts"
import { isSampled, type Sampler } from "../../domain/tracing/sampler.ts"
import type { SpanAttributes, SpanName, SpanOutcome } from "../../domain/tracing/span-catalogue.ts"
import { randomHex } from "./random-hex.ts"

/** Where the spans of this process go. */
export interface Tracing {
  readonly tracer: Tracer.Tracer
  /** The host's clock: the spans of several clusters stand in one picture. */
  readonly clock: Clock.Clock
  readonly sampler: Sampler
}

/** The tracing of this process; `undefined` while traces are off, which is the default. */
export const CurrentTracing = Context.Reference<Tracing | undefined>("braid/app/CurrentTracing", {
  defaultValue: () => undefined
})

/** The span that the current phase belongs to. */
const CurrentSpan = Context.Reference<Tracer.Span | undefined>("braid/app/CurrentSpan", {
  defaultValue: () => undefined
})

/** A phase of a session, as its span shows it. */
export interface TracedPhase {
  readonly name: SpanName
  readonly attributes: SpanAttributes
  readonly kind?: Tracer.SpanKind
  /** The `traceparent` of the phase around this one, where that is no phase of the same task; nothing else is read. */
  readonly within?: string | undefined
  /** Whether the phase begins a trace where there is none. Otherwise it is not traced then. */
  readonly isRoot?: boolean
}

/** The error of a phase, as an exporter shows it: without a stack, and without the parts of the error. */
class PhaseFailed extends Error {
  override readonly name: string
  constructor(type: string, message: string) {
    super(cleanText(message, textLimits.message))
    this.name = cleanText(type, textLimits.name)
    this.stack = ""
  }
}

const textOf = (value: unknown, field: "_tag" | "message" | "reason"): string | undefined => {
  const found = typeof value === "object" && value !== null ? (Reflect.get(value, field) as unknown) : undefined
  return typeof found === "string" && found !== "" ? found : undefined
}

/** Defects may quote anything; a log line tells them already. */
const failureOf = (cause: Cause.Cause<unknown>): PhaseFailed => {
  if (!Cause.hasFails(cause)) return new PhaseFailed("Defect", "The operator's log says why.")
  const error = Cause.squash(cause)
  return new PhaseFailed(textOf(error, "reason") ?? textOf(error, "_tag") ?? "Error", textOf(error, "message") ?? "")
}

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): SpanOutcome => {
  if (Exit.isSuccess(exit)) return "ok"
  return Cause.hasInterruptsOnly(exit.cause) ? "interrupted" : "failed"
}

const finishSpan = ({ clock }: Tracing, span: Tracer.Span, exit: Exit.Exit<unknown, unknown>): void => {
  const outcome = outcomeOf(exit)
  span.attribute("braid.outcome", outcome)
  const failure = Exit.isFailure(exit) && outcome === "failed" ? failureOf(exit.cause) : undefined
  if (failure !== undefined) span.attribute("error.type", failure.name)
  const told = failure === undefined ? Exit.asVoid(exit) : Exit.fail(failure)
  span.end(clock.currentTimeNanosUnsafe(), told)
}

const contextIn = (traceparent: string | undefined): Option.Option<Tracer.ExternalSpan> =>
  traceparent === undefined ? Option.none() : HttpTraceContext.w3c(Headers.fromRecordUnsafe({ traceparent }))

/** Begins the span of a phase; `undefined` if the phase belongs to no trace. */
const begin = Effect.fnUntraced(function* (
  tracing: Tracing,
  phase: TracedPhase
): Effect.fn.Return<Tracer.Span | undefined> {
  const around = yield* CurrentSpan
  const parent: Option.Option<Tracer.AnySpan> = around === undefined ? contextIn(phase.within) : Option.some(around)
  if (Option.isNone(parent) && phase.isRoot !== true) return undefined
  const traceId = Option.isSome(parent) ? parent.value.traceId : yield* randomHex(32)
  const sampled = around?.sampled ?? isSampled(tracing.sampler, traceId, Option.getOrUndefined(parent)?.sampled)
  const span = tracing.tracer.span({
    name: phase.name,
    parent,
    annotations: Context.empty(),
    links: [],
    startTime: tracing.clock.currentTimeNanosUnsafe(),
    kind: phase.kind ?? "internal",
    root: Option.isNone(parent),
    sampled
  })
  // Effect's spans draw their ids from the machine's chance.
  Object.defineProperties(span, { traceId: { value: traceId }, spanId: { value: yield* randomHex(16) } })
  for (const [key, value] of Object.entries(phase.attributes))
    if (value !== undefined)
      span.attribute(key, typeof value === "string" ? cleanText(value, textLimits.targetName) : value)
  return span
})

/** Traces a phase: its span begins and ends with it, and phases within it are its children. */
export const traced =
  (phase: TracedPhase) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(CurrentTracing, (tracing) =>
      tracing === undefined
        ? effect
        : Effect.flatMap(begin(tracing, phase), (span) =>
            span === undefined
              ? effect
              : effect.pipe(
                  Effect.provideService(CurrentSpan, span),
                  Effect.onExit((exit) => Effect.sync(() => finishSpan(tracing, span, exit)))
                )
          )
    )

/**
 * Runs `beside` along a phase that is traced, only to trace it as well, and ends it with the phase. It still sees
 * things that happen at the moment of the phase's end.
 */
export const tracedBeside =
  (beside: Effect.Effect<unknown>) =>
  <A, E, R>(phase: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(CurrentSpan, (span) =>
      span === undefined
        ? phase
        : Effect.raceFirst(
            Effect.andThen(beside, Effect.never),
            Effect.tap(phase, () => Effect.yieldNow)
          )
    )

/** A moment within the current phase, such as that an agent is ready. */
export const traceEvent = (name: string): Effect.Effect<void> =>
  Effect.flatMap(CurrentTracing, (tracing) =>
    tracing === undefined
      ? Effect.void
      : Effect.map(CurrentSpan, (span) => span?.event(name, tracing.clock.currentTimeNanosUnsafe()))
  )

/** The current phase as W3C `traceparent`, for another process; `undefined` if it belongs to no trace. */
export const currentTraceparent: Effect.Effect<string | undefined> = Effect.map(CurrentSpan, (span) =>
  span === undefined ? undefined : HttpTraceContext.toHeaders(span)["traceparent"]
)
