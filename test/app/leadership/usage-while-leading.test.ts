import { Effect } from "effect"
import { describe, expect } from "vitest"
import { LeaseTerm } from "../../../src/app/kernel/term.ts"
import { usageWhileLeading } from "../../../src/app/leadership/usage-while-leading.ts"
import { defaultLeaseTimes } from "../../../src/domain/leadership/lease-times.ts"
import { noneRunning, SpanSumming } from "../../../src/domain/usage/span-sums.ts"
import { dayAt } from "../../../src/domain/usage/usage-spans.ts"
import type { UsageStore, UsageStoreError } from "../../../src/ports/usage-store.ts"
import { record } from "../../domain/usage/some-records.ts"
import { it } from "../../support/effect-it.ts"

describe("the record of use of a leader", () => {
  it.effect("takes no change after the term, and goes on to be read", function* () {
    const time = { now: 0 }
    const done: Array<string> = []
    const act = <A>(name: string, answer: A) =>
      Effect.sync(() => {
        done.push(name)
        return answer
      })
    const store: UsageStore = {
      open: act("open", []),
      put: () => act("put", undefined),
      page: () => act("page", []),
      prune: () => act("prune", 0),
      newest: () => act("newest", []),
      nextStart: () => act("next start", undefined),
      summed: act("summed", []),
      sums: () => act("sums", undefined),
      openHealth: act("open health", { open: [], end: undefined }),
      firstHealth: act("first health", undefined),
      putHealth: () => act("put health", undefined),
      health: () => act("health", []),
      beginSums: () => act("begin sums", undefined),
      keepSums: () => act("keep sums", undefined)
    }
    const term = new LeaseTerm(0, 0, defaultLeaseTimes, () => time.now)
    const led = yield* Effect.scoped(usageWhileLeading(term, Effect.succeed(store)))
    const day = dayAt(0)
    const changes: ReadonlyArray<Effect.Effect<unknown, UsageStoreError>> = [
      led.put(record()),
      led.prune({ before: 0, maxBytes: 0 }),
      led.putHealth([]),
      led.beginSums([day], 1),
      led.keepSums(day, new SpanSumming(day, noneRunning).sums(), 1)
    ]
    for (const change of changes) yield* change
    expect(done).toEqual(["put", "prune", "put health", "begin sums", "keep sums"])
    time.now = 10_000
    for (const change of changes) expect((yield* Effect.flip(change)).message).toContain("not the leader any more")
    yield* Effect.all([led.open, led.page(day, undefined, 1), led.newest(1), led.nextStart(0)])
    yield* Effect.all([led.summed, led.sums(day), led.openHealth, led.firstHealth])
    yield* led.health(day, undefined, 1)
    const reads = ["open", "page", "newest", "next start", "summed", "sums", "open health", "first health", "health"]
    expect(done.slice(5)).toEqual(reads)
  })
})
