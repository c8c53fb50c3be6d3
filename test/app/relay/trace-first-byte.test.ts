import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { type EndedSpan, tellSpans } from "../../../lab/simulation/world/ended-span.ts"
import { CurrentTracing } from "../../../src/app/kernel/tracing.ts"
import { traceFirstByte } from "../../../src/app/relay/trace-first-byte.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import { it } from "../../support/effect-it.ts"

const within = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`
const bytes = new Uint8Array([1])

const other: Omit<FrameChannel, "send"> = {
  open: () => {},
  close: () => {},
  pause: () => {},
  resume: () => {},
  queuedBytes: () => 0
}

/** A channel whose `send` is its class's, as of a socket. */
class ClassChannel {
  readonly sent: Array<Uint8Array> = []
  send(one: Uint8Array): void {
    this.sent.push(one)
  }
}

/** The two sorts of channels: `send` of a class, and of the object itself. */
const channels = (): ReadonlyArray<readonly [FrameChannel, ReadonlyArray<Uint8Array>]> => {
  const ofClass = Object.assign(new ClassChannel(), other)
  const sent: Array<Uint8Array> = []
  return [
    [ofClass, ofClass.sent],
    [{ ...other, send: (one) => void sent.push(one) }, sent]
  ]
}

const tracing = (spans: Array<EndedSpan>) =>
  Effect.map(Clock.Clock, (clock) => tellSpans(clock, (span) => spans.push(span)))

describe("the first bytes to a client", () => {
  it.effect("end their span, pass like all others, and are the only ones that are seen", () =>
    Effect.gen(function* () {
      for (const [channel, sent] of channels()) {
        const spans: Array<EndedSpan> = []
        const { send } = channel
        yield* traceFirstByte(channel, "mc-1", within).pipe(
          Effect.provideService(CurrentTracing, yield* tracing(spans))
        )
        yield* TestClock.adjust(40)
        expect(spans).toEqual([])
        channel.send(bytes)
        expect(channel.send).toBe(send)
        channel.send(bytes)
        yield* TestClock.adjust(5)
        expect(sent).toEqual([bytes, bytes])
        expect(spans).toMatchObject([{ name: "first byte", traceId: "1".repeat(32), parentSpanId: "2".repeat(16) }])
        expect((spans[0]?.endedAt ?? 0) - (spans[0]?.startedAt ?? 0)).toBe(40)
      }
    })
  )

  it.effect("are not waited for as long as a session lives", () =>
    Effect.gen(function* () {
      for (const [channel] of channels()) {
        const spans: Array<EndedSpan> = []
        yield* traceFirstByte(channel, "mc-1", within).pipe(
          Effect.provideService(CurrentTracing, yield* tracing(spans))
        )
        yield* TestClock.adjust("1 hour")
        expect(spans).toMatchObject([{ attributes: { "braid.outcome": "interrupted" } }])
      }
    })
  )

  it.effect("are not looked at while traces are off, and without a trace", () =>
    Effect.gen(function* () {
      for (const [channel] of channels()) {
        const { send } = channel
        const spans: Array<EndedSpan> = []
        yield* traceFirstByte(channel, "mc-1", within)
        yield* traceFirstByte(channel, "mc-1", undefined).pipe(
          Effect.provideService(CurrentTracing, yield* tracing(spans))
        )
        expect(channel.send).toBe(send)
      }
    })
  )
})
