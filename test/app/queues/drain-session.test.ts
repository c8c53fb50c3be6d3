import { Effect, Fiber } from "effect"
import { describe, expect } from "vitest"
import { it } from "../../support/effect-it.ts"
import { type SessionOptions, SplitWorld } from "./split-world.ts"

/** A session that was taken out, with what it left in its queue. */
const left = Effect.fnUntraced(function* (count: number, options: SessionOptions = {}, isFifo = false) {
  const world = new SplitWorld(isFifo, "drain")
  const ann = world.session("ann", options)
  const { crash, forwarder } = yield* world.start(ann)
  for (let i = 0; i < count; i++) world.put(`m${i}`, { to: "ann" })
  yield* world.pass(2_000)
  yield* forwarder.changeSessions([])
  yield* crash
  yield* world.pass(10_000)
  /** The end of a drain and its time, ms. */
  const drain = Effect.fnUntraced(function* () {
    const draining = yield* Effect.forkChild(world.drain(ann))
    const start = world.now
    while (draining.pollUnsafe() === undefined && world.now < start + 3_600_000) yield* world.pass(1_000)
    expect(draining.pollUnsafe()).toBeDefined()
    return { ms: world.now - start, end: yield* Fiber.join(draining) }
  })
  return { ann, drain, world }
})

/** The session's process takes messages, and dies with them. */
const takeAndDie = (world: SplitWorld, url: string, visibilitySeconds: number) =>
  Effect.forkChild(world.sqs.port().receive({ url, max: 1, waitSeconds: 0, visibilitySeconds }))

describe("a drain", () => {
  it.effect.each([false, true])("moves all that a session left to main, as it was: FIFO %s", function* (isFifo) {
    const { ann, drain, world } = yield* left(25, {}, isFifo)
    const { end } = yield* drain()
    expect(end).toEqual({ _tag: "Drained", moved: 25 })
    expect([new Set(world.in(world.main)), world.in(ann.queue)]).toEqual([new Set(world.bodies), []])
    if (isFifo) expect(world.in(world.main)).toEqual(world.bodies)
    const moved = yield* Effect.forkChild(
      world.sqs.port().receive({ url: world.main.url, max: 10, waitSeconds: 0, visibilitySeconds: 1 })
    )
    yield* world.pass(100)
    for (const { MessageAttributes = {} } of yield* Fiber.join(moved))
      expect(Object.keys(MessageAttributes)).toEqual(["to"])
  })

  it.effect("leaves the copies of a session that mirrored where they are", function* () {
    const { ann, drain, world } = yield* left(5, { mode: "mirror" })
    expect((yield* drain()).end).toEqual({ _tag: "Drained", moved: 0 })
    expect([world.in(world.main), world.in(ann.queue)]).toEqual([world.bodies, world.bodies])
  })

  it.effect("finds a message that comes back between its looks, however old the counts are", function* () {
    const { ann, drain, world } = yield* left(1)
    yield* takeAndDie(world, ann.queue.url, 40)
    yield* world.pass(1_000)
    world.sqs.faults.countLag = 300_000
    const { end } = yield* drain()
    expect([end._tag, end.moved, world.in(world.main)]).toEqual(["Drained", 1, ["m0"]])
  })

  it.effect("says how many messages a dead process still has, and gets them when they are back", function* () {
    const { ann, drain, world } = yield* left(3)
    yield* takeAndDie(world, ann.queue.url, 600)
    yield* world.pass(1_000)
    expect((yield* drain()).end).toEqual({ _tag: "Hidden", moved: 2, left: 1 })
    yield* world.pass(600_000)
    expect((yield* drain()).end).toEqual({ _tag: "Drained", moved: 1 })
  })

  it.effect.each([
    ["ReceiveMessage", "ann", 0],
    ["DeleteMessageBatch", "ann", 3],
    ["SendMessageBatch", "main", 0]
  ] as const)("without the right to %s of %s counts what is lost", function* ([operation, name, sent]) {
    const { drain, world } = yield* left(3)
    world.allows = (asked, queue) => asked !== operation || queue !== name
    const { end } = yield* drain()
    expect(end).toMatchObject({ _tag: "Failed", moved: 0, left: 3, error: { reason: "Denied" } })
    // Never more than once, although the message stays.
    expect(world.in(world.main)).toHaveLength(sent)
  })

  it.effect("goes on through throttles and failures, and ends where the queue is gone", function* () {
    const { ann, drain, world } = yield* left(12)
    Object.assign(world.sqs.faults, { throttles: 0.4, outages: 0.4 })
    const { end } = yield* drain()
    expect([end._tag, new Set(world.in(world.main))]).toEqual(["Drained", new Set(world.bodies)])
    Object.assign(world.sqs.faults, { throttles: 0, outages: 0 })
    yield* Effect.forkChild(world.remove(ann.queue))
    yield* world.pass(100)
    expect(yield* drain()).toEqual({ ms: 1_000, end: { _tag: "Drained", moved: 0 } })
    expect(world.sqs.lost).toEqual([])
  })
})
