/**
 * Exports spans to a collector over OTLP/HTTP with Effect's own exporter, within bounds: a collector that is away, slow
 * or refuses costs spans, which are counted, and nothing else.
 *
 * Not here: which spans there are (domain/tracing), and when they begin and end (app/kernel/tracing.ts).
 */

import { ConfigProvider, Effect, Layer, Redacted, type Scope, Tracer } from "effect"
import { FetchHttpClient, HttpClient, type HttpBody, HttpClientResponse, type HttpClientRequest } from "effect/http"
import { OtlpExporter, OtlpSerialization, OtlpTracer } from "effect/observability"

/** Where spans go, and as what. */
export interface OtlpSettings {
  /** The collector's URL for traces, such as `http://collector:4318/v1/traces`. */
  readonly url: string
  readonly headers: Redacted.Redacted<Readonly<Record<string, string>>>
  readonly protocol: "http/protobuf" | "http/json"
  /** Attributes of this process, `service.name` among them. */
  readonly resource: Readonly<Record<string, string>>
}

export interface OtlpTracerOptions {
  readonly settings: OtlpSettings
  /** Reports dropped spans, with a reason that holds no secret. */
  readonly dropped: (count: number, why: string) => Effect.Effect<void>
  /** Runs when the collector has taken spans. */
  readonly taken: Effect.Effect<void>
  /** Time between two exports, ms; 5,000 unless given. */
  readonly exportEvery?: number
  /** How long one export may take with all its tries, ms; 10,000 unless given. */
  readonly patience?: number
  /** The most spans that wait for the collector; 2,048 unless given, as in OpenTelemetry's SDKs. */
  readonly maxWaiting?: number
}

/** The most spans of one request, as in OpenTelemetry's SDKs. */
const maxBatch = 512
/** How long the last export may hold up the end of the process, ms. */
const shutdownTimeout = 3_000
/** Further tries of an export that failed for a passing reason. */
const furtherTries = 2

/** Spans on their way, counted from their end until the collector has answered. */
interface OnTheirWay {
  waiting: number
  /** Spans that found no room, reported with the next export. */
  withoutRoom: number
  /** The number of spans in a request's body. */
  readonly spansIn: WeakMap<HttpBody.HttpBody, number>
}

const counted = (
  serialization: OtlpSerialization.OtlpSerialization["Service"],
  { spansIn }: OnTheirWay
): OtlpSerialization.OtlpSerialization["Service"] => ({
  ...serialization,
  traces: (data) => {
    const body = serialization.traces(data)
    const spans = data.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans: some }) => some))
    spansIn.set(body, spans.length)
    return body
  }
})

/** The answer of a collector that took a request, which the exporter gets in any case: it has no bound of its own. */
const settled = (request: HttpClientRequest.HttpClientRequest): HttpClientResponse.HttpClientResponse =>
  HttpClientResponse.fromWeb(request, new Response(null, { status: 200 }))

/** Sends requests within bounds, and never fails: the exporter would stop for a minute, and drop spans in silence. */
const withinBounds = (
  client: HttpClient.HttpClient,
  onTheirWay: OnTheirWay,
  { dropped, patience = 10_000, taken }: OtlpTracerOptions
): HttpClient.HttpClient => {
  const sending = client.pipe(HttpClient.filterStatusOk, HttpClient.retryTransient({ times: furtherTries }))
  return HttpClient.make(
    Effect.fnUntraced(function* (request) {
      const spans = onTheirWay.spansIn.get(request.body) ?? 0
      const { withoutRoom } = onTheirWay
      onTheirWay.withoutRoom = 0
      if (withoutRoom > 0) yield* dropped(withoutRoom, "the collector is too slow")
      yield* sending.execute(request).pipe(
        // The answer is read, so that its connection can be used again.
        Effect.flatMap((response) => Effect.ignore(response.arrayBuffer)),
        Effect.timeoutOrElse({
          duration: patience,
          orElse: () => Effect.fail({ reason: { _tag: "NoAnswer" } } as const)
        }),
        Effect.andThen(taken),
        Effect.catch((error) => dropped(spans, reasonOf(error))),
        Effect.onInterrupt(() => dropped(spans, "the operator ended before the collector answered")),
        Effect.ensuring(
          Effect.sync(() => {
            onTheirWay.waiting -= spans
          })
        )
      )
      return settled(request)
    })
  )
}

/** Why an export failed; never the request, whose headers are secret. */
const reasonOf = ({
  reason
}: {
  readonly reason: { readonly _tag: string; readonly response?: { readonly status: number } | undefined }
}): string => {
  if (reason.response !== undefined) return `the collector answered ${reason.response.status}`
  return reason._tag === "NoAnswer" ? "the collector did not answer in time" : "the collector cannot be reached"
}

/** A tracer whose spans find no room while too many are on their way. */
const bounded = (
  tracer: Tracer.Tracer,
  onTheirWay: OnTheirWay,
  { maxWaiting = 2_048 }: OtlpTracerOptions
): Tracer.Tracer =>
  Tracer.make({
    span: (options) => {
      const span = tracer.span(options)
      const end = span.end.bind(span)
      span.end = (endTime, exit) => {
        if (span.status._tag === "Ended" || !span.sampled) return
        if (onTheirWay.waiting >= maxWaiting) {
          onTheirWay.withoutRoom++
          return
        }
        onTheirWay.waiting++
        end(endTime, exit)
      }
      return span
    }
  })

const serializations = {
  "http/protobuf": OtlpSerialization.layerProtobuf,
  "http/json": OtlpSerialization.layerJson
} as const

/** A tracer that exports until the scope ends, and then what is left, for a moment. */
export const makeOtlpTracer = Effect.fnUntraced(function* (
  options: OtlpTracerOptions
): Effect.fn.Return<Tracer.Tracer, never, Scope.Scope> {
  const { exportEvery = 5_000, settings } = options
  const onTheirWay: OnTheirWay = { waiting: 0, withoutRoom: 0, spansIn: new WeakMap() }
  const scope = yield* Effect.scope
  const services = yield* Layer.buildWithScope(
    Layer.mergeAll(serializations[settings.protocol], FetchHttpClient.layer, OtlpExporter.layerFlusher),
    scope
  )
  const { "service.name": serviceName = "mirrord-operator", ...attributes } = settings.resource
  const tracer = yield* OtlpTracer.make({
    url: settings.url,
    headers: Redacted.value(settings.headers),
    resource: { serviceName, attributes },
    exportInterval: exportEvery,
    maxBatchSize: maxBatch,
    shutdownTimeout
  }).pipe(
    Effect.updateService(HttpClient.HttpClient, (client) => withinBounds(client, onTheirWay, options)),
    Effect.updateService(OtlpSerialization.OtlpSerialization, (one) => counted(one, onTheirWay)),
    Effect.provideContext(services),
    // The variables are read and checked with the operator's other settings.
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown({}))
  )
  return bounded(tracer, onTheirWay, options)
})
