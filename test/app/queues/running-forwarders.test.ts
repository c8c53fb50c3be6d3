import { Effect, Exit, Scope } from "effect"
import { describe, expect } from "vitest"
import { SplitTotals } from "../../../src/app/queues/queue-totals.ts"
import { makeRunningForwarders } from "../../../src/app/queues/running-forwarders.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { SplitWorld } from "./split-world.ts"

const begin = Effect.fnUntraced(function* () {
  const world = new SplitWorld()
  const ann = world.session("ann")
  const news = { changes: 0 }
  const forwarders = yield* makeRunningForwarders({ report: () => {}, changed: () => void news.changes++ })
  // They end with their polls, for which time has to pass.
  yield* Effect.addFinalizer(() => Effect.forkDetach(pass("6 seconds")))
  const source = { identity: "arn", reference: "orders", name: "orders", url: world.orders, ids: ["orders"] }
  const route = { id: ann.id, startedAt: 0, mode: "steal" as const, uid: "ann", ids: ["orders"], queue: "ann" }
  const start = (isForAnn: boolean, sns = false) =>
    world.provide(
      forwarders.start({
        table: { source, main: "main", routes: isForAnn ? [route] : [] },
        source: { url: world.orders, isFifo: false, sns, jqLimit: 200 },
        main: world.main,
        sessions: isForAnn ? [ann] : [],
        totals: new SplitTotals().of(world.orders)
      })
    )
  return { world, forwarders, start, news }
})

describe("the forwarders of a split", () => {
  it.effect("begin again if the queue is to be read in another way", function* () {
    const { forwarders, news, start, world } = yield* begin()
    expect([yield* start(false), yield* start(false, true), yield* start(false, true)]).toEqual([true, false, false])
    expect(forwarders.running()).toMatchObject([{ isStopping: true }])
    yield* world.pass(6_000)
    expect([forwarders.running(), news.changes]).toEqual([[], 1])
    expect(yield* start(true, true)).toBe(true)
  })

  it.effect("forward what their last polls give before they end", function* () {
    const scope = yield* Scope.make()
    const { start, world } = yield* begin().pipe(Scope.provide(scope))
    yield* start(false)
    yield* world.pass(1_000)
    const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
    yield* world.pass(1)
    world.put("last")
    yield* world.pass(6_000)
    expect([closing.pollUnsafe() === undefined, world.in(world.main), world.in(world.orders)]).toEqual([
      false,
      ["last"],
      []
    ])
  })

  it.effect("may send to a queue until the last batch of the last table with it has settled", function* () {
    const { forwarders, start, world } = yield* begin()
    const after = Effect.fnUntraced(function* (ms: number) {
      yield* world.pass(ms)
      return forwarders.running()[0]?.stillSendsTo
    })
    for (const isForAnn of [true, false]) yield* start(isForAnn)
    expect(yield* after(9_000)).toEqual(["ann"])
    for (const isForAnn of [true, false]) yield* start(isForAnn)
    expect(yield* after(2_000)).toEqual(["ann"])
    expect(yield* after(9_000)).toEqual([])
  })
})
