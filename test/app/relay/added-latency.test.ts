import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { durations } from "../../../src/app/kernel/metrics.ts"
import { timeReads } from "../../../src/app/relay/added-latency.ts"
import { it } from "../../support/effect-it.ts"
import { separately } from "../../support/scrape.ts"

const latency = (from: "client" | "member") =>
  Effect.map(Metric.value(durations("braid_added_latency_seconds", { from })), ({ count, sum }) => ({ count, sum }))

describe("the latency that the operator adds", () => {
  it.effect("is the time from a read until its messages were taken, by their sender", () =>
    Effect.gen(function* () {
      const { client } = yield* timeReads
      const [taken] = Array.from({ length: 16 }, () => client()).flatMap((timed) => timed ?? [])
      yield* TestClock.adjust("250 millis")
      taken?.()
      expect([yield* latency("client"), yield* latency("member")]).toEqual([
        { count: 1, sum: 0.25 },
        { count: 0, sum: 0 }
      ])
    }).pipe(separately)
  )

  it.effect("is measured of one read in 16 of all connections together, and of none that nobody took", () =>
    Effect.gen(function* () {
      const connections = [yield* timeReads, yield* timeReads, yield* timeReads]
      const timed = Array.from({ length: 160 }, (_, at) => connections[at % 3]?.member()).flatMap((one) => one ?? [])
      expect(timed).toHaveLength(10)
      for (const taken of timed.slice(3)) taken()
      expect((yield* latency("member")).count).toBe(7)
    }).pipe(separately)
  )
})
