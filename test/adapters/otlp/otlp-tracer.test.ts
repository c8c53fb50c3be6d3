/** The exporter against a collector over real HTTP: what arrives, and that a bad collector costs spans alone. */

import { Clock, Effect, Exit, Redacted, Scope } from "effect"
import { describe, expect } from "vitest"
import { makeOtlpTracer, type OtlpSettings, type OtlpTracerOptions } from "../../../src/adapters/otlp/otlp-tracer.ts"
import { CurrentTracing, traced, type Tracing } from "../../../src/app/kernel/tracing.ts"
import { defaultSampler } from "../../../src/domain/tracing/sampler.ts"
import { it } from "../../support/effect-it.ts"
import { untilTrue } from "../../support/until-true.ts"
import { type CollectorStandIn, collectorStandIn } from "./collector-stand-in.ts"

const settingsFor = ({ url }: Pick<CollectorStandIn, "url">, further: Partial<OtlpSettings> = {}): OtlpSettings => ({
  url,
  headers: Redacted.make({ authorization: "Bearer canary-of-a-collector" }),
  protocol: "http/json",
  resource: { "service.name": "braid-test", "k8s.cluster.name": "primary" },
  ...further
})

/** A tracing that notes what was dropped and how often the collector took something. */
const exporting = Effect.fnUntraced(function* (settings: OtlpSettings, further: Partial<OtlpTracerOptions> = {}) {
  const dropped: Array<readonly [number, string]> = []
  const noted = { taken: 0 }
  const scope = yield* Scope.make()
  yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
  const tracer = yield* makeOtlpTracer({
    settings,
    dropped: (count, why) => Effect.sync(() => void dropped.push([count, why])),
    taken: Effect.sync(() => void noted.taken++),
    exportEvery: 20,
    ...further
  }).pipe(Effect.provideService(Scope.Scope, scope))
  const tracing: Tracing = { tracer, clock: yield* Clock.Clock, sampler: defaultSampler }
  const trace = <A, E>(effect: Effect.Effect<A, E>) => Effect.provideService(effect, CurrentTracing, tracing)
  return { dropped, noted, trace, tracing, end: Scope.close(scope, Exit.void) }
})

const connect = traced({
  name: "session connect",
  kind: "server",
  isRoot: true,
  attributes: { "braid.session": "mc-1" }
})

const until = (holds: () => boolean): Effect.Effect<void> =>
  Effect.promise(() => untilTrue("what the collector is to get, or not", holds))

describe("the exporter of traces", () => {
  it.live("gives a collector spans as OTLP JSON, with its headers, under the ids that were carried", function* () {
    const collector = yield* collectorStandIn
    const { dropped, noted, trace } = yield* exporting(settingsFor(collector))
    const inner = traced({ name: "link open", kind: "client", attributes: { "k8s.cluster.name": "a" } })
    yield* trace(connect(inner(Effect.void)))
    yield* Effect.exit(trace(connect(Effect.fail({ reason: "Forbidden", message: "not allowed" }))))
    yield* until(() => noted.taken > 0 && collector.spans().length === 3)
    const [request] = collector.requests
    expect(request).toMatchObject({
      path: "/v1/traces",
      headers: { "content-type": "application/json", authorization: "Bearer canary-of-a-collector" }
    })
    expect(request?.body).not.toContain("canary")
    expect(request?.body).toContain('{"key":"service.name","value":{"stringValue":"braid-test"}}')
    const [link, root, failed] = collector.spans()
    expect(link).toMatchObject({
      name: "link open",
      kind: 3,
      traceId: root?.["traceId"],
      parentSpanId: root?.["spanId"]
    })
    expect(root).toMatchObject({ name: "session connect", kind: 2, status: { code: 1 } })
    expect(root?.["traceId"]).toMatch(/^[0-9a-f]{32}$/)
    expect(failed).toMatchObject({ status: { code: 2, message: "not allowed" } })
    expect(dropped).toEqual([])
  })

  it.live("speaks protobuf where it is asked to", function* () {
    const collector = yield* collectorStandIn
    const { noted, trace } = yield* exporting(settingsFor(collector, { protocol: "http/protobuf" }))
    yield* trace(connect(Effect.void))
    yield* until(() => noted.taken > 0)
    expect(collector.requests[0]?.headers["content-type"]).toBe("application/x-protobuf")
    expect(collector.requests[0]?.body).toContain("session connect")
  })

  it.live("exports what is left when the process ends", function* () {
    const collector = yield* collectorStandIn
    const { end, trace } = yield* exporting(settingsFor(collector), { exportEvery: 1_000_000 })
    yield* trace(connect(Effect.void))
    yield* end
    expect(collector.spans()).toHaveLength(1)
  })

  it.live("exports nothing that is not sampled", function* () {
    const collector = yield* collectorStandIn
    const { end, tracing } = yield* exporting(settingsFor(collector))
    const nothing = { ...tracing, sampler: { followsParent: true, ratio: 0 } }
    yield* Effect.provideService(connect(Effect.void), CurrentTracing, nothing)
    yield* end
    expect(collector.requests).toEqual([])
  })

  it.live("counts spans that a collector refuses, with its status and no secret, and goes on", function* () {
    const collector = yield* collectorStandIn
    collector.answer = 401
    const { dropped, noted, trace } = yield* exporting(settingsFor(collector))
    yield* trace(connect(Effect.void))
    yield* until(() => dropped.length > 0)
    expect(dropped).toEqual([[1, "the collector answered 401"]])
    collector.answer = 200
    yield* trace(connect(Effect.void))
    yield* until(() => noted.taken > 0)
  })

  it.live("counts spans for which there is no collector", function* () {
    const gone = yield* Effect.scoped(collectorStandIn)
    const { dropped, trace } = yield* exporting(settingsFor(gone))
    yield* trace(connect(Effect.void))
    yield* until(() => dropped.length > 0)
    expect(dropped).toEqual([[1, "the collector cannot be reached"]])
  })

  it.live("keeps no more spans than its bound while a collector does not answer, and holds up nobody", function* () {
    const collector = yield* collectorStandIn
    collector.answer = undefined
    const { dropped, trace } = yield* exporting(settingsFor(collector), { patience: 200, maxWaiting: 10 })
    for (let count = 0; count < 25; count++) yield* trace(connect(Effect.void))
    yield* until(() => dropped.some(([count]) => count === 10))
    yield* trace(connect(Effect.void))
    yield* until(() => dropped.reduce((sum, [count]) => sum + count, 0) === 26)
    expect(dropped).toContainEqual([10, "the collector did not answer in time"])
    expect(dropped).toContainEqual([15, "the collector is too slow"])
  })

  it.live("ends within its bound although the collector does not answer", function* () {
    const collector = yield* collectorStandIn
    collector.answer = undefined
    const { dropped, end, trace } = yield* exporting(settingsFor(collector), { exportEvery: 1_000_000 })
    yield* trace(connect(Effect.void))
    yield* end
    expect(dropped).toEqual([[1, "the operator ended before the collector answered"]])
  })
})
