import { Effect } from "effect"
import { describe, expect } from "vitest"
import { SplitTotals } from "../../../src/app/queues/queue-totals.ts"
import { makeRunningForwarders } from "../../../src/app/queues/running-forwarders.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { SplitWorld } from "./split-world.ts"

const begin = Effect.fnUntraced(function* () {
  const world = new SplitWorld()
  const ann = world.session("ann")
  const forwarders = yield* makeRunningForwarders({ report: () => {}, changed: () => {} })
  // They end with their polls, for which time has to pass.
  yield* Effect.addFinalizer(() => Effect.forkDetach(pass("6 seconds")))
  const source = { identity: "arn", reference: "orders", name: "orders", url: world.orders, ids: ["orders"] }
  const route = { id: ann.id, startedAt: 0, mode: "steal" as const, uid: "ann", ids: ["orders"], queue: "ann" }
  const start = (isForAnn: boolean, sns = false) =>
    world.provide(
      forwarders.start({
        table: { source, main: "main", routes: isForAnn ? [route] : [] },
        source: { url: world.orders, isFifo: false, sns, jqLimit: 200, s3Metadata: undefined },
        main: world.main,
        sessions: isForAnn ? [ann] : [],
        totals: new SplitTotals().of(world.orders)
      })
    )
  return { world, forwarders, start }
})

describe("the forwarders of a split", () => {
  it.effect("begin again if the queue is to be read in another way", function* () {
    const { forwarders, start, world } = yield* begin()
    expect([yield* start(false), yield* start(true), yield* start(true, true)]).toEqual([true, true, false])
    expect(forwarders.running()).toMatchObject([{ isStopping: true }])
    yield* world.pass(6_000)
    expect(forwarders.running()).toEqual([])
    expect(yield* start(true, true)).toBe(true)
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
