import { describe, expect, it } from "vitest"
import type { GivenQueue, SplitTimes } from "../../../src/domain/queues/observed-split.ts"
import type { SplitAction } from "../../../src/domain/queues/split-action.ts"
import { bills, orders, source, SplitWorld, times } from "./split-world.ts"

const make = (change: Partial<SplitTimes> = {}, sources = [orders]): SplitWorld => {
  const world = new SplitWorld()
  world.configuration = { _tag: "Known", digest: "one", sources, times: { ...times, ...change } }
  return world
}
const told = (world: SplitWorld, uid: string) =>
  world.log.flatMap((one) => (one._tag === "WriteStatus" && one.uid === uid ? [one.status] : []))
const count = (world: SplitWorld, ...tags: ReadonlyArray<SplitAction["_tag"]>) =>
  world.log.filter(({ _tag }) => tags.includes(_tag)).length
const orderOf = (world: SplitWorld) =>
  world.log.flatMap((one) => (one._tag === "ReadQueue" || one._tag === "DrainQueue" ? [] : [one._tag])).join(" ")
const isClean = (world: SplitWorld) => world.record === undefined && world.records.size === 0
const reports = (world: SplitWorld) => [...world.reported.keys()].map((key) => key.split(" ")[0])

describe("splitPlan", () => {
  it("goes through a life in the order that its comment says", () => {
    const world = make()
    const { uid } = world.ready(0)
    expect(orderOf(world)).toBe(
      "RecordSplit WriteStatus RecordQueue RecordQueue CreateQueue CreateQueue WriteStatus PutWebhook WriteRecord " +
        "RestartWorkload WriteRecord StartForwarding WriteStatus"
    )
    expect(told(world, uid).map(({ phase }) => phase)).toEqual(["starting", "resourcesReady", "ready"])
    world.log.length = 0
    world.vanish(uid)
    world.advance(600_000)
    expect(orderOf(world)).toBe(
      "WriteRecord StartForwarding QuietQueue DeleteQueue StopForwarding ForgetQueue WriteRecord WriteRecord " +
        "RemoveWebhook WriteRecord RestartWorkload DeleteRecord QuietQueue DeleteQueue ForgetQueue"
    )
    expect(isClean(world)).toBe(true)
  })

  it.each<[Partial<SplitTimes>, number, boolean]>([
    [{ waitForPods: 1 }, 1, true],
    [{ waitForPods: 2 }, 1, false],
    [{ waitForPods: "all" }, 1, false],
    [{ waitForPods: "all" }, 2, true],
    [{ waitForPods: 9 }, 2, true],
    [{ waitForPods: 0 }, 0, true]
  ])("with %j waits for pods: of two, %d are enough: %s", (change, ready, isEnough) => {
    const world = make(change)
    const session = world.start(0)
    world.arePodsReady = false
    world.settle()
    for (const pod of world.pods.filter(({ isTerminating }) => !isTerminating).slice(0, ready)) pod.isReady = true
    world.settle()
    expect(session.phase === "ready").toBe(isEnough)
  })

  it("is ready at once for a workload without pods, and does not wait for it at the end", () => {
    const world = make()
    Object.assign(world.workload ?? {}, { replicas: 0 })
    world.advance(60_000)
    const session = world.start(0)
    world.settle()
    expect([session.phase, world.webhook?.isCurrent]).toEqual(["ready", true])
    world.produce(orders.identity, 3)
    world.tick()
    world.tick()
    world.vanish(session.uid)
    world.advance(600_000)
    expect([isClean(world), world.originals.get(orders.identity)?.length]).toEqual([true, 1])
  })

  it("waits with messages of a FIFO queue until the workload has pods", () => {
    const world = make({}, [bills])
    const session = world.ready(0, { modes: new Map() })
    Object.assign(world.workload ?? {}, { replicas: 0 })
    world.advance(60_000)
    world.produce(bills.identity, 3)
    world.tick()
    world.tick()
    world.vanish(session.uid)
    world.advance(3_600_000)
    expect(world.record?.phase).toBe("Draining")
    Object.assign(world.workload ?? {}, { replicas: 1 })
    world.advance(600_000)
    expect([isClean(world), [...world.gone.values()]]).toEqual([true, ["consumed"]])
  })

  it("ends the start with an error and restores the workload when its pods do not become ready in time", () => {
    const world = make()
    world.arePodsReady = false
    const session = world.start(0)
    world.advance(59_000)
    expect(session.phase).toBe("resourcesReady")
    world.advance(2_000)
    expect(told(world, session.uid).at(-1)).toMatchObject({ phase: "startError", code: 500 })
    world.advance(300_000)
    expect([isClean(world), world.pods.some(({ patchedBy }) => patchedBy !== undefined)]).toEqual([true, false])
  })

  it("restarts nothing for a second session, and nothing for one that comes while the split is idle or drains", () => {
    const world = make({ ttlMillis: 100_000 })
    const first = world.ready(0)
    const second = world.ready(1)
    const restarts = () => count(world, "RestartWorkload", "PutWebhook")
    expect(restarts()).toBe(2)
    world.vanish(first.uid)
    world.vanish(second.uid)
    world.advance(90_000)
    expect(world.record?.phase).toBe("Idle")
    const third = world.start(0)
    world.settle()
    expect(third.phase).toBe("ready")
    world.isConsumed = false
    world.produce(orders.identity, 3)
    world.tick()
    world.tick()
    world.vanish(third.uid)
    world.advance(200_000)
    expect([world.record?.phase, world.forwarders]).toEqual(["Draining", []])
    const fourth = world.start(0)
    world.settle()
    expect([fourth.phase, restarts()]).toEqual(["ready", 2])
  })

  it("restarts again under the same names while pods are restored, and under new names after that", () => {
    const world = make({ drainMillis: 0 })
    const main = () => [...world.records.keys()].filter((name) => name.startsWith("tmp-main"))
    world.ready(0)
    const [name] = main()
    world.vanish(world.sessions[0]?.uid ?? "")
    world.graceMillis = 3_600_000
    world.advance(120_000)
    expect([world.record?.phase, main(), world.broker.has(name ?? "")]).toEqual(["Unpatching", [name], true])
    const session = world.ready(0)
    expect(main()).toEqual([name])
    world.vanish(session.uid)
    world.advance(3_700_000)
    world.ready(0)
    expect(main()).not.toContain(name)
  })

  it("leaves the messages that a session has not read to the workload, and drops copies", () => {
    const world = make()
    const wish = (mode: "steal" | "mirror") => ({ modes: new Map([["orders", mode]]) })
    const [steals, copies] = [world.ready(0, wish("steal")), world.ready(1, wish("mirror"))]
    world.isConsumed = false
    for (const tag of [0, 0, 1, 1]) world.produce(orders.identity, tag)
    world.tick()
    world.settle()
    world.tick()
    world.tick()
    expect([...world.broker.values()].map((queue) => queue.length).toSorted()).toEqual([2, 2, 2])
    world.vanish(steals.uid)
    world.vanish(copies.uid)
    world.settle()
    world.isConsumed = true
    world.advance(300_000)
    expect([isClean(world), [...world.gone.values()], reports(world)]).toEqual([true, Array(4).fill("consumed"), []])
  })

  it.each<[number | undefined, number, string | undefined]>([
    [undefined, 3_600_000, "Draining"],
    [100_000, 90_000, "Draining"],
    [100_000, 170_000, "Unpatching"],
    [0, 1_000, "Unpatching"]
  ])("with a drainTimeout of %s ms, %d ms after a drain began without a reader, is %s", (drainMillis, wait, phase) => {
    const world = make({ drainMillis })
    const session = world.ready(0)
    world.isConsumed = false
    world.produce(orders.identity, 3)
    world.advance(10_000)
    world.graceMillis = 3_600_000
    world.vanish(session.uid)
    world.advance(45_000)
    world.advance(wait)
    expect(world.record?.phase).toBe(phase)
  })

  it.each<[number | undefined, number]>([
    [undefined, 20],
    [600_000, 20],
    [5_000, 5]
  ])("with a drainTimeout of %s ms, a split that ends at once drains for %d s", (drainMillis, seconds) => {
    const world = make({ drainMillis, ttlMillis: 600_000 })
    const session = world.ready(0)
    world.isConsumed = false
    world.produce(orders.identity, 3)
    world.advance(60_000)
    if (world.record !== undefined) world.record = { ...world.record, endsNow: true }
    world.advance(4_000)
    expect(told(world, session.uid).at(-1)).toMatchObject({ phase: "startError", code: 503 })
    expect(world.record?.phase).toBe("Draining")
    const until = (world.record?.since ?? 0) + seconds * 1_000
    world.advance(until - world.now - 1)
    expect(world.record?.phase).toBe("Draining")
    world.advance(2)
    expect(world.record?.phase).toBe("Unpatching")
  })

  it("says how many messages are lost with a queue that it may not read", () => {
    const world = make()
    const session = world.ready(0)
    world.isConsumed = false
    world.denied.add("DrainQueue")
    for (let n = 0; n < 3; n++) world.produce(orders.identity, 0)
    world.advance(10_000)
    world.vanish(session.uid)
    world.settle()
    expect([...world.reported.values()]).toEqual([expect.stringMatching(/^3 messages of "orders" for a session/u)])
    world.isConsumed = true
    world.advance(300_000)
    expect([isClean(world), [...world.gone.values()]]).toEqual([true, ["lost", "lost", "lost"]])
  })

  it("keeps a main queue as long as a pod reads it that is being deleted", () => {
    const world = make()
    world.graceMillis = 600_000
    const session = world.ready(0)
    world.vanish(session.uid)
    world.advance(500_000)
    expect([world.record?.phase, [...world.broker.keys()].length]).toEqual(["Unpatching", 1])
    world.advance(800_000)
    expect(isClean(world)).toBe(true)
  })

  it("replaces pods that were born without the names, and gives up when all of them are", () => {
    const world = make()
    const session = world.ready(0)
    const restarts = () => count(world, "RestartWorkload")
    world.isWebhookDown = true
    world.replacePods()
    world.advance(59_000)
    expect(restarts()).toBe(2)
    world.advance(60_000)
    expect(restarts()).toBe(3)
    expect(session.phase).toBe("ready")
    world.isWebhookDown = false
    world.replacePods()
    world.advance(60_000)
    expect([world.record?.restart?.attempts, reports(world)]).toEqual([1, []])
    world.isWebhookDown = true
    world.replacePods()
    world.advance(240_000)
    expect([session.phase, told(world, session.uid).at(-1)]).toMatchObject(["startError", { code: 500 }])
    world.advance(300_000)
    expect([isClean(world), restarts()]).toEqual([true, 5])
  })

  it("gives pods of an upgraded workload the names too, and nothing is left of them in the end", () => {
    const world = make()
    const session = world.ready(0)
    Object.assign(world.workload ?? {}, { restartToken: undefined })
    world.replacePods()
    world.advance(120_000)
    expect([session.phase, count(world, "RestartWorkload")]).toEqual(["ready", 1])
    world.vanish(session.uid)
    world.advance(300_000)
    expect([isClean(world), world.pods.every(({ patchedBy }) => patchedBy === undefined)]).toEqual([true, true])
  })

  it.each(["delete", "refuse", "forwarding"] as const)("ends sessions that cannot go on: %s", (what) => {
    const world = make({ ttlMillis: 3_600_000 })
    const session = world.ready(0)
    if (what === "delete") world.workload = undefined
    if (what === "refuse") world.configuration = { _tag: "Refused", code: 404, why: "There is none." }
    if (what === "forwarding") {
      const failure = { at: world.now + 1, isLasting: true, code: 500, message: "The queue orders is gone." }
      world.failures.set(`StartForwarding ${orders.identity}`, failure)
      world.now += 2
    }
    world.settle()
    const late = world.start(1)
    world.settle()
    expect(told(world, session.uid).at(-1)?.phase).toBe("startError")
    expect(late.phase === "startError").toBe(what !== "forwarding")
    world.vanish(late.uid)
    world.advance(7_200_000)
    expect(isClean(world)).toBe(true)
  })

  it("ends a split whose configuration changes, and begins a new one for a session that has no queues yet", () => {
    const world = make({ ttlMillis: 3_600_000 })
    const session = world.ready(0)
    world.configuration = { _tag: "Known", digest: "two", sources: [orders, bills], times }
    const late = world.start(1)
    world.settle()
    expect([told(world, session.uid).at(-1), late.phase]).toMatchObject([
      { phase: "startError", code: 409 },
      "starting"
    ])
    world.advance(600_000)
    expect([late.phase, world.record?.digest]).toEqual(["ready", "two"])
  })

  it("keeps a split while its configuration cannot be read, with the times that it began with", () => {
    const world = make({ ttlMillis: 50_000 })
    const session = world.ready(0)
    const restarted = world.start(1)
    world.configuration = { _tag: "Unknown" }
    world.advance(86_400_000)
    expect([session.phase, restarted.phase]).toEqual(["ready", "ready"])
    world.sessions = []
    world.advance(45_000)
    expect(world.record?.phase).toBe("Idle")
    world.advance(300_000)
    expect(isClean(world)).toBe(true)
    expect(world.start(0).phase).toBeUndefined()
    world.settle()
    expect(world.record).toBeUndefined()
  })

  it("takes changed times of the same configuration", () => {
    const world = make({ ttlMillis: 0 })
    const session = world.ready(0)
    world.configuration = { _tag: "Known", digest: "one", sources: [orders], times: { ...times, ttlMillis: 1e9 } }
    world.vanish(session.uid)
    world.advance(86_400_000)
    expect(world.record?.phase).toBe("Idle")
  })

  it("gives a session a queue for each of the workload's, and messages of those alone that it names", () => {
    const world = make({}, [orders, bills, source("other", ["a", "b"])])
    const modes = new Map([
      ["bills.fifo", "mirror" as const],
      ["a", "mirror" as const],
      ["b", "steal" as const]
    ])
    const early = world.ready(0, { modes, id: 5n, startedAt: 7 })
    const later = world.ready(1, { modes, id: 9n, startedAt: 8 })
    const before = world.ready(2, { modes, id: 1n, startedAt: 8 })
    expect(count(world, "RestartWorkload")).toBe(1)
    expect(told(world, early.uid).at(-1)).toMatchObject({ resources: [{ source: orders }, { source: bills }, {}] })
    const uids = [early.uid, before.uid, later.uid]
    expect(world.forwarders.map(({ table }) => table.routes.map(({ mode, uid }) => [uid, mode]))).toEqual([
      [],
      uids.map((uid) => [uid, "mirror"]),
      uids.map((uid) => [uid, "steal"])
    ])
  })

  it.each([
    ["main", 2],
    ["session", 1]
  ])("ends the start without the right to make a %s queue", (role, ended) => {
    const world = make()
    const sessions = [world.start(0), world.start(1)]
    for (let n = 0; n < 3; n++) world.turn()
    const name = [...world.records.keys()].find((one) => one.startsWith(`tmp-${role}`)) ?? ""
    world.broker.delete(name)
    world.known.set(name, { _tag: "Absent" })
    for (const one of sessions) one.phase = "starting"
    const failure = { at: world.now, isLasting: true, code: 403, message: "sqs:CreateQueue is denied." }
    world.failures.set(`CreateQueue ${name}`, failure)
    world.turn()
    expect(sessions.filter(({ phase }) => phase === "startError")).toHaveLength(ended)
  })

  it("ends the one session whose queue was deleted, and makes a lost main queue again", () => {
    const world = make()
    const sessions = [world.ready(0), world.ready(1)]
    for (const name of [...world.broker.keys()].slice(0, 2)) {
      world.broker.delete(name)
      world.known.set(name, { _tag: "Absent" })
    }
    world.settle()
    expect(sessions.map(({ phase }) => phase)).toEqual(["startError", "ready"])
    expect([...world.broker.keys()].filter((name) => name.startsWith("tmp-main"))).toHaveLength(1)
  })

  const given: ReadonlyArray<GivenQueue> = [{ id: "orders", original: "orders-eu", queue: "given" }]

  it("uses the queue of the default cluster where it is not the default, and makes none", () => {
    const world = make({}, [orders, bills])
    world.given.add("given")
    const session = world.ready(0, { queues: { _tag: "Given", given } })
    expect(world.forwarders[0]?.table.routes).toMatchObject([{ queue: "given" }])
    world.vanish(session.uid)
    world.advance(600_000)
    expect([isClean(world), [...world.given]]).toEqual([true, ["given"]])
  })

  it.each([
    ["is not there", orders, given],
    ["has no counterpart", orders, []],
    ["has no name", source("x".repeat(75), ["orders"]), given]
  ])("does not patch a workload for a session of another cluster whose queue %s", (_, from, queues) => {
    const world = make({}, [from])
    const session = world.start(0, { queues: { _tag: "Given", given: queues } })
    world.settle()
    expect([session.phase, count(world, "PutWebhook")]).toEqual(["startError", 0])
  })

  it("says once that a FIFO queue loses its order in a queue of another cluster", () => {
    const world = make({}, [bills])
    world.given.add("given")
    const modes = new Map([["bills.fifo", "steal" as const]])
    world.ready(0, { modes, queues: { _tag: "Given", given: [{ ...given[0], id: "bills.fifo" }] as typeof given } })
    expect(world.log.filter(({ _tag }) => _tag === "Report")).toHaveLength(1)
  })

  it("keeps the queue of a session while another cluster, or an earlier process, may send to it", () => {
    const world = make({ ttlMillis: 1e9 })
    const session = world.ready(0)
    world.heldUntil.set(session.uid, world.now + 500_000)
    world.vanish(session.uid)
    world.advance(1_000)
    // The workload does not wait for what is there.
    expect(count(world, "DrainQueue")).toBe(1)
    world.advance(489_000)
    expect([world.broker.size, count(world, "QuietQueue")]).toEqual([2, 0])
    world.advance(5_000)
    world.crash()
    world.advance(25_000)
    expect(count(world, "QuietQueue")).toBe(0)
    world.advance(100_000)
    expect(world.broker.size).toBe(1)
  })

  it.each([
    ["steal", "Idle"],
    ["mirror", "Draining"]
  ] as const)(
    "restores the workload while other clusters may send to a queue, once it has what is there: %s",
    (mode, phase) => {
      const world = make()
      const session = world.ready(0, { modes: new Map([["orders", mode]]) })
      world.isConsumed = false
      for (const tag of [0, 0]) world.produce(orders.identity, tag)
      world.tick()
      world.settle()
      world.tick()
      world.heldUntil.set(session.uid, world.now + 500_000)
      world.vanish(session.uid)
      world.settle()
      // Copies are not the workload's.
      expect(world.record?.phase).toBe(phase)
      world.isConsumed = true
      world.advance(200_000)
      expect([world.record, world.broker.size, [...world.gone.values()]]).toEqual([
        undefined,
        1,
        Array(2).fill("consumed")
      ])
      world.advance(400_000)
      expect(isClean(world)).toBe(true)
    }
  )

  it("tells a session that is over when its queue cannot be deleted, and tries again", () => {
    const world = make()
    const session = world.ready(0)
    world.denied.add("DeleteQueue")
    session.isEnding = true
    world.advance(60_000)
    expect([session.phase, reports(world)]).toEqual(["cleanupError", ["Undeleted"]])
    world.denied.clear()
    world.advance(600_000)
    expect(isClean(world)).toBe(true)
  })

  it("tries what failed again after 10 s, and after a minute if the failure lasts", () => {
    const world = make()
    world.start(0)
    for (const [isLasting, wait] of [
      [false, 10_000],
      [true, 60_000]
    ] as const) {
      const failure = { at: world.now, isLasting, code: 500, message: "Throttled." }
      world.failures.set("RecordSplit", failure)
      world.failures.set(`WriteStatus ${world.sessions[0]?.uid}`, failure)
      expect(world.plan()).toEqual([{ _tag: "RequeueAt", at: world.now + wait }])
    }
  })

  it("begins anew for a session that was ready when the split's record was deleted", () => {
    const world = make()
    const session = world.ready(0)
    const { uid } = world.record ?? {}
    Object.assign(world, { record: undefined })
    world.advance(120_000)
    expect([session.phase, world.record?.phase, world.record?.uid === uid]).toEqual(["ready", "Live", false])
    world.vanish(session.uid)
    world.advance(300_000)
    expect(isClean(world)).toBe(true)
  })

  it("takes a webhook away that belongs to no split", () => {
    const world = make()
    world.webhook = { split: "gone", isCurrent: true }
    world.settle()
    expect(world.webhook).toBeUndefined()
  })
})
