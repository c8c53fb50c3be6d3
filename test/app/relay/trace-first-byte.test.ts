import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { type EndedSpan, tellSpans } from "../../../lab/simulation/world/ended-span.ts"
import { CurrentTracing } from "../../../src/app/kernel/tracing.ts"
import { traceFirstByte } from "../../../src/app/relay/trace-first-byte.ts"
import { type MessageFilter, pass } from "../../../src/domain/protocol/message-filter.ts"
import { it } from "../../support/effect-it.ts"

const within = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`
const send = (filter: MessageFilter | undefined) => filter?.toClient?.hear(new Uint8Array([1]), undefined)

const tracing = (spans: Array<EndedSpan>) =>
  Effect.map(Clock.Clock, (clock) => tellSpans(clock, (span) => spans.push(span)))

describe("the first bytes to a client", () => {
  it.effect("end their span, pass like all others, and are the only ones that count", function* () {
    const spans: Array<EndedSpan> = []
    const filter = yield* Effect.provideService(traceFirstByte("mc-1", within), CurrentTracing, yield* tracing(spans))
    yield* TestClock.adjust(40)
    expect(spans).toEqual([])
    expect([send(filter), send(filter)]).toEqual([pass, pass])
    yield* TestClock.adjust(5)
    expect(spans).toMatchObject([{ name: "first byte", traceId: "1".repeat(32), parentSpanId: "2".repeat(16) }])
    expect((spans[0]?.endedAt ?? 0) - (spans[0]?.startedAt ?? 0)).toBe(40)
  })

  it.effect("are not waited for as long as a session lives", function* () {
    const spans: Array<EndedSpan> = []
    yield* Effect.provideService(traceFirstByte("mc-1", within), CurrentTracing, yield* tracing(spans))
    yield* TestClock.adjust("1 hour")
    expect(spans).toMatchObject([{ attributes: { "braid.outcome": "interrupted" } }])
  })

  it.effect("are not heard while traces are off, and without a trace", function* () {
    expect(yield* traceFirstByte("mc-1", within)).toBeUndefined()
    const untraced = traceFirstByte("mc-1", undefined)
    expect(yield* Effect.provideService(untraced, CurrentTracing, yield* tracing([]))).toBeUndefined()
  })
})
