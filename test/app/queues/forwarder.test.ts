import { Effect } from "effect"
import * as fc from "fast-check"
import { describe, expect } from "vitest"
import type { QueueSession } from "../../../src/app/queues/split-table.ts"
import { StoredObjectError } from "../../../src/ports/stored-objects.ts"
import { it } from "../../support/effect-it.ts"
import { virtualTime } from "../../support/virtual-time.ts"
import { SplitWorld } from "./split-world.ts"

/** Long enough for a message to come again after a failure, and to go on. */
const again = 60_000

const run = (story: Effect.Effect<void>): Promise<void> => Effect.runPromise(Effect.provide(story, virtualTime))

const unique = (bodies: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set(bodies)]

/** The messages of a queue by groups `g…`, first deliveries only: each has to be in the order of the original. */
const inOrder = (bodies: ReadonlyArray<string>): boolean =>
  [...Map.groupBy(unique(bodies), (body) => body.split("-")[0]).values()].every((group) =>
    group.every((body, i) => i === 0 || Number(body.split("-")[1]) > Number(group[i - 1]?.split("-")[1]))
  )

const probability = fc.constantFrom(0, 0, 0.1, 0.3)
const storyOfFaults = fc.record({
  isFifo: fc.boolean(),
  seed: fc.string(),
  faults: fc.record({
    duplicates: probability,
    reorder: probability,
    partial: probability,
    throttles: probability,
    outages: probability,
    latency: fc.constantFrom(1, 50, 700)
  }),
  messages: fc.array(fc.record({ to: fc.subarray(["ann", "bob", "cyd"]), group: fc.constantFrom("g", "h", "i") }), {
    maxLength: 120
  }),
  crashes: fc.array(fc.integer({ min: 1, max: 40_000 }), { maxLength: 2 })
})

describe("a forwarder", () => {
  it("brings each message to its taker and to the copies, in order, through crashes and faults of all kinds", () =>
    fc.assert(
      fc.asyncProperty(storyOfFaults, ({ crashes, faults, isFifo, messages, seed }) =>
        run(
          Effect.gen(function* () {
            const world = new SplitWorld(isFifo, seed)
            const bob = world.session("bob", { startedAt: 1 })
            const ann = world.session("ann", { startedAt: 2 })
            const cyd = world.session("cyd", { startedAt: 0, mode: "mirror" })
            Object.assign(world.sqs.faults, faults)
            const targetOf = new Map<string, string>()
            for (const [index, { group, to }] of messages.entries()) {
              const body = `${group}-${index}`
              world.put(body, { to: to.join(), group })
              const taker = [bob, ann].find(({ id }) => to.some((name) => BigInt(name.charCodeAt(0)) === id))
              targetOf.set(body, (taker?.queue ?? world.main).url)
            }
            for (const crash of crashes) {
              const life = yield* world.start(cyd, ann, bob)
              yield* world.pass(crash)
              yield* life.crash
            }
            const { crash, forwarder } = yield* world.start(bob, cyd, ann)
            yield* world.pass(40_000)
            Object.assign(world.sqs.faults, { duplicates: 0, partial: 0, throttles: 0, outages: 0 })
            yield* world.pass(2 * again)
            const counts = forwarder.counts()
            yield* crash
            world.look()
            expect([...world.missing]).toEqual([])
            expect(world.in(world.orders)).toEqual([])
            const { latency: _, ...chances } = faults
            const isCalm = crashes.length === 0 && Object.values(chances).every((chance) => chance === 0)
            const takers = [bob.queue, ann.queue, world.main]
            for (const { url } of takers) {
              const expected = world.bodies.filter((body) => targetOf.get(body) === url)
              expect(new Set(world.in(url))).toEqual(new Set(expected))
              if (isFifo || isCalm) expect(world.in(url)).toHaveLength(expected.length)
            }
            const wanted = messages.flatMap(({ group, to }, index) => (to.includes("cyd") ? [`${group}-${index}`] : []))
            const copies = world.in(cyd.queue)
            for (const body of copies) expect(wanted).toContain(body)
            expect(counts.lostCopies + unique(copies).length).toBeGreaterThanOrEqual(
              crashes.length > 0 ? 0 : wanted.length
            )
            if (isFifo) for (const { url } of [...takers, cyd.queue]) expect(inOrder(world.in(url))).toBe(true)
            expect(world.reports).toEqual([])
          })
        )
      ),
      { numRuns: 60 }
    ))

  it.each([false, true])("loses nothing, and doubles nothing of FIFO %s, wherever it is killed", (isFifo) =>
    run(
      Effect.gen(function* () {
        for (let ms = 1; ms < 130; ms++) {
          // The original's own timeout would hide the messages of a dead process for 12 h.
          const world = new SplitWorld(isFifo, "crash", { VisibilityTimeout: "43200" })
          const ann = world.session("ann")
          for (let i = 0; i < 20; i++) world.put(`g${i % 4}-${i}`, { to: i % 3 === 0 ? "ann" : "", group: `g${i % 4}` })
          const { crash } = yield* world.start(ann)
          yield* world.pass(ms)
          yield* crash
          const { crash: end } = yield* world.start(ann)
          yield* world.pass(52_000)
          yield* end
          world.look()
          expect([...world.missing]).toEqual([])
          expect(unique(world.in(ann.queue))).toHaveLength(7)
          expect(unique(world.in(world.main))).toHaveLength(13)
          if (!isFifo) continue
          expect(world.in(ann.queue)).toHaveLength(7)
          expect(world.in(world.main)).toHaveLength(13)
          expect(inOrder(world.in(world.main)) && inOrder(world.in(ann.queue))).toBe(true)
        }
      })
    )
  )

  it.effect("keeps the order of FIFO when a message comes again after the memory of duplicates is over", function* () {
    const world = new SplitWorld(true)
    for (let i = 0; i < 20; i++) world.put(`g-${i}`)
    const { crash } = yield* world.start()
    // Sent, not deleted.
    world.refuse = ({ operation }) => (operation === "DeleteMessageBatch" ? "Unavailable" : undefined)
    yield* world.pass(200)
    yield* crash
    world.refuse = () => undefined
    yield* world.pass(360_000)
    yield* world.start()
    yield* world.pass(again)
    expect(unique(world.in(world.main))).toEqual(world.bodies)
    expect(world.in(world.main).length).toBeLessThanOrEqual(30)
  })

  it.effect("forwards two messages with one id against duplicates if the original took both", function* () {
    const world = new SplitWorld(true)
    world.put("first", { dedup: "d" })
    yield* world.pass(360_000)
    world.put("second", { dedup: "d" })
    yield* world.pass(240_000)
    yield* world.start()
    yield* world.pass(1_000)
    expect(world.in(world.main)).toEqual(["first", "second"])
  })

  it.effect("keeps the message that failed in a batch, and brings it when it comes again", function* () {
    const world = new SplitWorld()
    for (let i = 0; i < 10; i++) world.put(`m${i}`)
    world.refuse = ({ entry, operation }) => (operation === "SendMessageBatch" && entry === "m4" ? "Other" : undefined)
    yield* world.start()
    yield* world.pass(1_000)
    expect(world.in(world.main)).toHaveLength(9)
    expect(world.in(world.orders)).toEqual(["m4"])
    world.refuse = () => undefined
    yield* world.pass(again)
    expect(world.in(world.main).at(-1)).toBe("m4")
  })

  it.effect("stops a group of FIFO behind a message that failed, also where another queue is next", function* () {
    const world = new SplitWorld(true)
    const ann = world.session("ann")
    for (const [i, to] of ["", "ann", "", "ann"].entries()) world.put(`g-${i}`, { to })
    world.put("h-0", { group: "h" })
    world.refuse = ({ entry }) => (entry === "g-1" ? "Other" : undefined)
    const { forwarder } = yield* world.start(ann)
    yield* world.pass(2_000)
    expect([world.in(world.main), world.in(ann.queue)]).toEqual([["g-0", "h-0"], []])
    // The session ends meanwhile, so its messages go to main now, and must not be behind later messages there.
    yield* Effect.forkChild(forwarder.changeSessions([]))
    world.refuse = () => undefined
    yield* world.pass(again)
    expect(world.in(world.main)).toEqual(["g-0", "h-0", "g-1", "g-2", "g-3"])
  })

  it.each([
    ["the original hides messages for 1 s alone", 1_500],
    ["sends take so long that the batch would outlive its time", 4_000]
  ])("sends nothing later than the time for which it hid the message: %s", (_, latency) =>
    run(
      Effect.gen(function* () {
        const world = new SplitWorld(true, "slow", { VisibilityTimeout: "1" })
        world.sqs.faults.latency = latency
        for (let i = 0; i < 10; i++) world.put(`g-${i}`)
        yield* world.start()
        yield* world.pass(400_000)
        expect(world.in(world.main)).toEqual(world.bodies)
        const receives = world.entries("ReceiveMessage", world.orders).map(({ at }) => at)
        const sends = world.entries("SendMessageBatch", world.main).filter(({ entry }) => entry !== undefined)
        expect(sends).toHaveLength(10)
        for (const { at } of sends) expect(at - Math.max(...receives.filter((time) => time < at))).toBeLessThan(45_000)
      })
    )
  )

  it.effect("waits at its end for the poll that is open, and forwards what that gives", function* () {
    const world = new SplitWorld()
    const { forwarder } = yield* world.start()
    yield* world.pass(1_000)
    const stopping = yield* Effect.forkChild(forwarder.stop)
    yield* world.pass(2_000)
    expect(stopping.pollUnsafe()).toBeUndefined()
    world.put("late")
    yield* world.pass(3_000)
    expect(stopping.pollUnsafe()).toBeDefined()
    expect([world.in(world.main), world.in(world.orders)]).toEqual([["late"], []])
    world.put("later")
    yield* world.pass(again)
    expect(world.in(world.orders)).toEqual(["later"])
  })

  it.effect(
    "has a message at most the time of its visibility later after a poll that died with the process",
    function* () {
      const world = new SplitWorld()
      const { crash } = yield* world.start()
      yield* world.pass(1_000)
      yield* crash
      world.put("swallowed")
      yield* world.pass(1)
      yield* world.start()
      yield* world.pass(44_000)
      expect(world.in(world.main)).toEqual([])
      yield* world.pass(6_000)
      expect(world.in(world.main)).toEqual(["swallowed"])
    }
  )

  it.effect("takes a session out when none of its messages is on the way any more", function* () {
    const world = new SplitWorld(true)
    const ann = world.session("ann")
    const { forwarder } = yield* world.start(ann)
    world.sqs.faults.latency = 500
    for (let i = 0; i < 10; i++) world.put(`g-${i}`, { to: "ann" })
    yield* world.pass(2_500)
    // Its batch goes on for seconds, message by message.
    const change = yield* Effect.forkChild(Effect.andThen(forwarder.changeSessions([]), () => world.remove(ann.queue)))
    world.put("g-10", { to: "ann" })
    yield* world.pass(40_000)
    expect(change.pollUnsafe()).toBeDefined()
    // The queue had all that was sent there when it was deleted.
    expect(world.sqs.lost).toEqual(world.bodies.slice(0, 10))
    expect([world.in(world.main), world.reports]).toEqual([["g-10"], []])
    const [end] = world.entries("DeleteQueue", ann.queue)
    for (const { at } of world.entries("SendMessageBatch", ann.queue)) expect(at).toBeLessThan(end?.at ?? 0)
  })

  it.effect("takes a session out at once while a poll is open, whose messages it does not get", function* () {
    const world = new SplitWorld()
    const ann = world.session("ann")
    const { forwarder } = yield* world.start(ann)
    yield* world.pass(1_000)
    yield* forwarder.changeSessions([])
    world.put("m", { to: "ann" })
    yield* world.pass(1_000)
    expect([world.in(ann.queue), world.in(world.main)]).toEqual([[], ["m"]])
  })

  it.effect("begins a session without waiting for batches of others", function* () {
    const world = new SplitWorld()
    const ann = world.session("ann")
    const { forwarder } = yield* world.start(ann)
    world.sqs.faults.latency = 1_000
    world.put("m", { to: "ann" })
    yield* world.pass(2_500)
    const change = yield* Effect.forkChild(forwarder.changeSessions([ann, world.session("bob")]))
    yield* world.pass(1)
    expect(change.pollUnsafe()).toBeDefined()
  })
})

describe("a queue or a session that fails", () => {
  it.effect("ends with its queue: it is reported once, and the next session or main gets its messages", function* () {
    const world = new SplitWorld()
    const [ann, bob] = [world.session("ann"), world.session("bob", { startedAt: 2 })]
    yield* world.start(ann, bob)
    yield* Effect.forkChild(world.remove(ann.queue))
    yield* world.pass(70_000)
    for (let i = 0; i < 30; i++) world.put(`m${i}`, { to: i % 2 === 0 ? "ann,bob" : "ann" })
    yield* world.pass(2 * again)
    expect(world.reports).toMatchObject([{ _tag: "SessionEnded", session: ann.id, end: "QueueGone" }])
    expect([world.in(bob.queue).length, world.in(world.main).length]).toEqual([15, 15])
  })

  it.effect("holds up no other: throttles and refusals of one session leave the rest as fast as ever", function* () {
    const world = new SplitWorld()
    const [ann, bob] = [world.session("ann"), world.session("bob")]
    world.refuse = ({ operation, queue }) =>
      operation === "SendMessageBatch" && queue === "ann" ? "Throttled" : undefined
    for (let i = 0; i < 90; i++) world.put(`m${i}`, { to: ["ann", "bob", ""][i % 3] ?? "" })
    const { forwarder } = yield* world.start(ann, bob)
    yield* world.pass(3_000)
    expect([world.in(bob.queue).length, world.in(world.main).length, world.in(world.orders).length]).toEqual([
      30, 30, 30
    ])
    // The other queues were not asked after it, but with it.
    expect(world.entries("SendMessageBatch", world.main).find(({ entry }) => entry === "m2")?.at).toBeLessThan(100)
    expect(forwarder.problems()).toMatchObject([{ reason: "Throttled", queue: ann.queue.url }])
    expect(forwarder.counts().throttles).toBe(world.entries("SendMessageBatch", ann.queue).length)
    world.refuse = () => undefined
    yield* world.pass(2 * again)
    expect([world.in(ann.queue).length, forwarder.problems()]).toEqual([30, []])
  })

  it.effect.each([
    ["SendMessageBatch", "main"],
    ["DeleteMessageBatch", "orders"]
  ] as const)("that refuses for a moment is asked again in the same batch: %s at %s", function* ([operation, queue]) {
    const world = new SplitWorld()
    const [call, entry] = [{ left: 2 }, { left: operation === "DeleteMessageBatch" ? 1 : 0 }]
    world.refuse = (refused) => {
      if (refused.operation !== operation || refused.queue !== queue) return undefined
      return (refused.entry === undefined ? call : entry).left-- > 0 ? "Unavailable" : undefined
    }
    yield* world.start()
    world.put("m")
    yield* world.pass(3_000)
    expect([world.in(world.main), world.in(world.orders)]).toEqual([["m"], []])
  })

  it.effect.each(["call", "each entry"])("is asked again with pauses while its %s is refused", function* (refused) {
    const world = new SplitWorld()
    for (let i = 0; i < 1_000; i++) world.put(`m${i}`)
    world.refuse = ({ entry, operation }) => {
      const isHere = operation === "SendMessageBatch" && (entry === undefined) === (refused === "call")
      return isHere ? "Other" : undefined
    }
    const { forwarder } = yield* world.start()
    yield* world.pass(again)
    expect(world.entries("ReceiveMessage", world.orders).length).toBeLessThan(150)
    expect(forwarder.problems()).toMatchObject([{ reason: "Other" }])
    world.refuse = () => undefined
    yield* world.pass(2 * again)
    expect([world.in(world.orders).length, world.in(world.main).length]).toEqual([0, 1_000])
  })

  it.effect("is asked with pauses while it throttles calls that come soon after others", function* () {
    const world = new SplitWorld()
    for (let i = 0; i < 1_000; i++) world.put(`m${i}`)
    let [calls, last] = [0, -50]
    world.refuse = ({ at, operation }) => {
      if (operation !== "ReceiveMessage") return undefined
      const isSoon = at - last < 50
      ;[calls, last] = [calls + 1, at]
      return isSoon ? "Throttled" : undefined
    }
    const { forwarder } = yield* world.start()
    yield* world.pass(again)
    expect(calls).toBeLessThan(100)
    expect(world.in(world.main).length).toBeGreaterThan(10)
    expect(forwarder.problems()).toMatchObject([{ reason: "Throttled", queue: world.orders }])
    world.refuse = () => undefined
    yield* world.pass(again)
    expect([world.in(world.main).length, forwarder.problems()]).toEqual([1_000, []])
  })

  it.effect.each([
    ["endless", 6_000],
    ["late", 1_000]
  ] as const)("ends by its filter that gives no answer (%s), and its messages go on", function* ([program, ms]) {
    const world = new SplitWorld()
    const [ann, bob] = [world.session("ann", { program }), world.session("bob", { program: "m1", startedAt: 2 })]
    yield* world.start(ann, bob)
    for (const body of ["m1", "m2"]) world.put(body)
    yield* world.pass(ms)
    expect([world.in(bob.queue), world.in(world.main)]).toEqual([["m1"], ["m2"]])
    world.put("m3")
    yield* world.pass(1_000)
    expect(world.in(world.main)).toEqual(["m2", "m3"])
    expect(world.reports).toMatchObject([{ _tag: "SessionEnded", session: ann.id, end: "FilterFailed" }])
  })

  it.effect("may take the time of its filter for each message, also if many come at once", function* () {
    const world = new SplitWorld()
    const ann = world.session("ann", { program: "slow" })
    for (let i = 0; i < 100; i++) world.put(`slow ${i}`)
    yield* world.start(ann)
    yield* world.pass(again)
    expect([world.in(ann.queue).length, world.reports]).toEqual([100, []])
  })

  it.effect("gets no message of which the object's metadata does not come, and holds up none", function* () {
    const world = new SplitWorld()
    const asked: Array<string> = []
    world.storedObjects = {
      metadata: ({ bucket, key }) => {
        asked.push(key)
        if (key === "slow") return Effect.never
        return key === "found"
          ? Effect.succeed({ team: "blue" })
          : Effect.fail(new StoredObjectError({ bucket, detail: "S3 answers 403" }))
      }
    }
    world.options = { s3Event: true }
    const ann = world.session("ann", { program: "blue" })
    const bob = world.session("bob", { program: "green" })
    yield* world.start(ann, bob)
    const about = (key: string): string =>
      JSON.stringify({
        Records: [{ awsRegion: "eu-north-1", s3: { bucket: { name: "photos" }, object: { key } } }]
      })
    for (const key of ["found", "refused", "slow"]) world.put(about(key))
    world.put("no event")
    yield* world.pass(1_500)
    expect(world.in(ann.queue)).toEqual([about("found")])
    expect(world.in(world.main).toSorted()).toEqual(["no event", about("refused"), about("slow")].toSorted())
    // Once for both programs.
    expect(asked).toEqual(["found", "refused", "slow"])
  })

  it.effect("forgives a right that is missing for a moment, and ends a session that lacks it for long", function* () {
    const world = new SplitWorld()
    const ann = world.session("ann")
    const refused = { queue: "", operation: "" }
    world.refuse = ({ operation, queue }) =>
      queue === refused.queue && operation === refused.operation ? "Denied" : undefined
    yield* world.start(ann)
    for (const [queue, operation] of [
      ["orders", "ReceiveMessage"],
      ["main", "SendMessageBatch"],
      ["ann", "SendMessageBatch"]
    ] as const) {
      Object.assign(refused, { queue, operation })
      for (const to of ["ann", ""]) world.put(`${queue} ${to}`, { to })
      yield* world.pass(25_000)
      Object.assign(refused, { queue: "" })
      yield* world.pass(again)
      expect(world.in(world.orders)).toEqual([])
    }
    expect(world.reports).toEqual([])
    Object.assign(refused, { queue: "ann", operation: "SendMessageBatch" })
    world.put("mine", { to: "ann" })
    yield* world.pass(3 * again)
    expect(world.reports).toMatchObject([{ _tag: "SessionEnded", end: "QueueDenied" }])
    expect(world.in(world.main).at(-1)).toBe("mine")
  })

  it.effect.each([
    ["ReceiveMessage", "orders", "NoQueue", 0],
    ["SendMessageBatch", "main", "NoQueue", 0],
    ["ReceiveMessage", "orders", "Denied", 0],
    ["SendMessageBatch", "main", "Denied", 0],
    ["DeleteMessageBatch", "orders", "Denied", 10]
  ] as const)("ends the split if %s at %s says %s", function* ([operation, name, reason, sent]) {
    const world = new SplitWorld()
    for (let i = 0; i < 10; i++) world.put(`m${i}`)
    world.refuse = (call) => (call.operation === operation && call.queue === name ? reason : undefined)
    const { forwarder } = yield* world.start()
    yield* world.pass(2 * again)
    expect(world.reports).toMatchObject([{ _tag: "SplitFailed", error: { reason } }])
    expect([world.in(world.main).length, world.in(world.orders).length]).toEqual([sent, 10])
    yield* forwarder.stop
  })
})

describe("the messages of a split", () => {
  it.effect("stay in the original if they are refused themselves, and are no failure of the queue", function* () {
    const world = new SplitWorld()
    world.refuse = ({ entry }) => (entry === "bad" ? "Invalid" : undefined)
    const { forwarder } = yield* world.start()
    world.put("bad")
    yield* world.pass(1_000)
    expect([world.in(world.orders), forwarder.problems()]).toEqual([["bad"], []])
  })

  it.effect("are taken many at once while there are many, and by a poll at a time if there are few", function* () {
    const world = new SplitWorld()
    world.sqs.faults.latency = 50
    const ann = world.session("ann")
    const { forwarder } = yield* world.start(ann)
    const receives = () => world.entries("ReceiveMessage", world.orders).length
    for (let i = 0; i < 800; i++) world.put(`m${i}`, { to: i % 10 === 0 ? "ann" : "" })
    yield* world.pass(5_000)
    expect([world.in(world.main).length, world.in(ann.queue).length]).toEqual([720, 80])
    const counts = forwarder.counts()
    expect(counts).toMatchObject({ received: 800, unmatched: 720, forwardedToMain: 720, throttles: 0 })
    expect(counts.calls).toBe(world.sqs.calls.filter(({ entry }) => entry === undefined).length)
    // Loops that receive, send and delete without a look at the messages need 240.
    expect(counts.calls).toBeLessThan(1.15 * 240)
    yield* world.pass(10_000)
    const before = receives()
    for (let i = 0; i < 5; i++) {
      world.put(`late${i}`)
      yield* world.pass(10_000)
    }
    expect(receives() - before).toBeLessThanOrEqual(15)
    const times = world.entries("ReceiveMessage", world.orders).map(({ at }) => at)
    // Each of two loops begins a poll, and four receives after it, at most within this time.
    expect(Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 300).length))).toBe(10)
  })

  it.effect("are looked for once more at a time while this finds none, as where a group waits", function* () {
    const world = new SplitWorld(true)
    for (let i = 0; i < 100; i++) world.put(`g-${i}`)
    yield* world.start()
    yield* world.pass(4_000)
    expect(world.in(world.main)).toEqual(world.bodies)
    expect(world.entries("ReceiveMessage", world.orders).length).toBeLessThan(30)
  })

  it.effect("reach sessions that mirror as copies, whose failures cost the workload nothing", function* () {
    const world = new SplitWorld()
    const [ann, bob] = [world.session("ann", { mode: "mirror" }), world.session("bob", { mode: "mirror" })]
    world.refuse = ({ operation, queue }) =>
      operation === "SendMessageBatch" && queue === "bob" ? "Denied" : undefined
    const { forwarder } = yield* world.start(ann, bob)
    for (let i = 0; i < 8; i++) world.put(`m${i}`, { to: "ann,bob" })
    yield* world.pass(again)
    expect([world.in(ann.queue), world.in(world.main), world.in(world.orders)]).toEqual([
      world.bodies,
      world.bodies,
      []
    ])
    expect(forwarder.counts()).toMatchObject({
      received: 8,
      unmatched: 0,
      lostCopies: 8,
      sessions: [
        { matched: 8, forwarded: 8 },
        { matched: 8, forwarded: 0 }
      ]
    })
    yield* forwarder.changeSessions([bob, world.session("cyd")])
    expect(forwarder.counts().sessions).toMatchObject([{ matched: 8 }, { matched: 0 }])
  })

  it.effect("are copied in the order of FIFO, also where a copy failed and its message comes again", function* () {
    const world = new SplitWorld(true)
    const ann = world.session("ann", { mode: "mirror" })
    for (let i = 0; i < 3; i++) world.put(`g-${i}`, { to: "ann" })
    world.refuse = ({ at, entry, operation, queue }) => {
      const isRefused = operation === "DeleteMessageBatch" || (entry === "g-1" && queue === "ann.fifo")
      return at < 10_000 && isRefused ? "Unavailable" : undefined
    }
    const { forwarder } = yield* world.start(ann)
    yield* world.pass(again)
    expect([world.in(ann.queue), world.in(world.main)]).toEqual([world.bodies, world.bodies])
    expect(forwarder.counts()).toMatchObject({ received: 6, lostCopies: 2 })
  })

  it.effect("go once to a session that has two queues for one original", function* () {
    const world = new SplitWorld()
    const first = world.session("ann")
    const second: QueueSession = { ...first, queue: world.queue("ann2") }
    yield* world.start(first, second)
    for (let i = 0; i < 5; i++) world.put(`m${i}`, { to: "ann" })
    yield* world.pass(1_000)
    expect([world.in(first.queue), world.in(second.queue), world.in(world.main)]).toEqual([world.bodies, [], []])
  })

  it.effect("may fill ten attributes and all bytes of a queue, with others in the same receive", function* () {
    const world = new SplitWorld()
    const ann = world.session("ann")
    const largest = 262_144 - "toStringann".length
    for (let i = 0; i < 3; i++) world.put(String(i).repeat(largest), { to: "ann" })
    world.put("many", { to: "ann", attributes: 10 })
    world.put("few", { to: "ann" })
    yield* world.start(ann)
    yield* world.pass(1_000)
    expect([...world.in(ann.queue)].map(({ length }) => length).toSorted()).toEqual(
      [largest, largest, largest, 3, 4].toSorted()
    )
    expect(world.in(world.orders)).toEqual([])
  })
})
