import { Clock, Effect, Exit, Scope } from "effect"
import { describe, expect } from "vitest"
import { at } from "../../../../src/domain/json.ts"
import { podNameOf } from "../../../../src/domain/leadership/identity.ts"
import { queueRecords } from "../../../../src/domain/queues/stored-queue.ts"
import { splitSessions } from "../../../../src/domain/queues/stored-session.ts"
import { splitPatches } from "../../../../src/domain/queues/stored-split.ts"
import { configMaps, leases } from "../../../../src/domain/resources/core-kinds.ts"
import { pass } from "../../../support/connect-request.ts"
import { it } from "../../../support/effect-it.ts"
import type { SplitCluster } from "../split-cluster.ts"
import {
  begin,
  clusterWith,
  end,
  leftOf,
  operate,
  put,
  sessionName,
  type SharingReplica,
  shareQueues,
  start,
  wanted
} from "../split-life.ts"

const ids = ["a", "b", "c", "d", "e"]
const filter = { attributes: { to: "^ann$" }, program: undefined }
const split = wanted("", { filters: new Map(ids.map((id) => [id, filter])) })

/** The replica that owns each queue, by the names of the queues. */
const ownersOf = ({ api }: SplitCluster): ReadonlyMap<string, string> =>
  new Map(
    api.peekAll(leases).flatMap((lease) => {
      const url = lease.metadata.annotations?.["operator.metalbear.co/queue"]
      const holder = String(at(lease, "spec", "holderIdentity") ?? "")
      return url === undefined || holder === "" ? [] : [[url.split("/").at(-1) ?? "", podNameOf(holder)] as const]
    })
  )

/** A cluster whose leader shares five queues with another replica, and a session that splits them all. */
const share = Effect.fnUntraced(function* (isFifo = true) {
  const cluster = clusterWith({ ids, isFifo })
  yield* begin(cluster)
  const [first, second] = [yield* shareQueues(cluster, "first"), yield* shareQueues(cluster, "second")]
  yield* pass("6 seconds")
  const leader = yield* operate(cluster, first)
  const session = yield* start(cluster, leader.splits, split)
  yield* pass("8 seconds")
  cluster.programs.set(sessionName, [...leader.splits.variables(sessionName).values()])
  const clock = yield* Clock.Clock
  let count = 0
  /** Puts a message for the session and one for the workload into each queue, each 200 ms. */
  const produce = Effect.fnUntraced(function* (seconds: number) {
    for (let left = seconds * 5; left > 0; left--) {
      count++
      for (const id of ids)
        for (const to of ["ann", "bob"]) put(cluster, `${id} ${to} ${count}`, to, clock.currentTimeMillisUnsafe(), id)
      yield* pass("200 millis")
    }
  })
  return { cluster, first, second, leader, session, produce, count: () => count }
})

/** The wrong reads: of messages for others, out of order, twice or never. */
const wrongReads = ({ read }: SplitCluster, count: number) =>
  ids.flatMap((id) =>
    ["ann", "bob"].flatMap((to) => {
      const found = read.filter(({ body }) => body.startsWith(`${id} ${to} `))
      const numbers = found.map(({ body }) => Number(body.split(" ")[2]))
      const isOrdered = numbers.every((number, index) => number === index + 1)
      const stray = found.filter(({ by }) => (by === sessionName) !== (to === "ann"))
      return [
        ...(new Set(numbers).size === count ? [] : [`${id} ${to}: ${new Set(numbers).size} of ${count}`]),
        ...(isOrdered ? [] : [`${id} ${to} in the order ${numbers.join()}`]),
        ...stray.map(({ body, by }) => `${body} for ${by}`)
      ]
    })
  )

/** The sum of a metric of one replica. */
const sum = ({ measured }: SharingReplica, metric: string): number =>
  measured()
    .filter(({ name }) => name === metric)
    .reduce((all, { value }) => all + value, 0)

const twice = (...replicas: ReadonlyArray<SharingReplica>) => replicas.flatMap(({ overlaps }) => overlaps)

describe("queues that replicas share", () => {
  it.effect("have one owner each, and every message comes once and in order", function* () {
    const { cluster, count, first, produce, second } = yield* share()
    yield* produce(10)
    yield* pass("6 seconds")
    const owners = ownersOf(cluster)
    expect([owners.size, new Set(owners.values())]).toEqual([5, new Set(["first", "second"])])
    expect(wrongReads(cluster, count())).toEqual([])
    expect(twice(first, second)).toEqual([])
    for (const replica of [first, second])
      expect(sum(replica, "mirrord_read_sqs_messages_count")).toBeGreaterThan(count())
    const total = (name: string) => sum(first, name) + sum(second, name)
    expect(total("mirrord_read_sqs_messages_count")).toBe(count() * 10)
    expect(total("mirrord_sqs_messages_forwarded_to_user_count")).toBe(count() * 5)
  })

  it.effect("lose no message and no order with a replica that is lost", function* () {
    const { cluster, count, first, produce, second } = yield* share()
    yield* produce(5)
    second.process.kill()
    yield* produce(60)
    expect(new Set(ownersOf(cluster).values())).toEqual(new Set(["first"]))
    yield* pass("70 seconds")
    expect(wrongReads(cluster, count())).toEqual([])
    expect(twice(first, second)).toEqual([])
  })

  it.effect("are left alone by an owner that cannot renew its Leases, before another one has them", function* () {
    const { cluster, count, first, produce, second } = yield* share()
    yield* produce(3)
    cluster.api.before = ({ body, verb }) =>
      verb !== "get" && JSON.stringify(body ?? {}).includes("second_") ? Effect.never : Effect.void
    yield* produce(40)
    expect(new Set(ownersOf(cluster).values())).toEqual(new Set(["first"]))
    yield* pass("60 seconds")
    expect([twice(first, second), wrongReads(cluster, count())]).toEqual([[], []])
  })

  it.effect("are handed over at once by a replica that stops, with what it has received", function* () {
    const { cluster, count, first, produce, second } = yield* share(false)
    yield* produce(5)
    const stopping = yield* Effect.forkChild(Scope.close(second.scope, Exit.void))
    yield* produce(15)
    expect(stopping.pollUnsafe()).toBeDefined()
    expect(new Set(ownersOf(cluster).values())).toEqual(new Set(["first"]))
    yield* pass("10 seconds")
    const reads = cluster.read.map(({ body }) => body)
    expect([reads.length, new Set(reads).size]).toEqual([count() * 10, count() * 10])
    expect(twice(first, second)).toEqual([])
  })

  it.effect("are shared with a replica that comes, and forwarded while no replica leads", function* () {
    const { cluster, count, first, leader, produce, second } = yield* share()
    yield* produce(2)
    const third = yield* shareQueues(cluster, "third")
    yield* Effect.forkChild(Scope.close(leader.scope, Exit.void))
    yield* produce(30)
    expect(new Set(ownersOf(cluster).values())).toEqual(new Set(["first", "second", "third"]))
    yield* pass("6 seconds")
    expect(wrongReads(cluster, count())).toEqual([])
    expect(twice(first, second, third)).toEqual([])
  })

  it.effect("are left by their owners when the split ends, also if one of them is lost meanwhile", function* () {
    const { cluster, count, first, produce, second } = yield* share(false)
    yield* produce(5)
    end(cluster)
    yield* produce(2)
    second.process.kill()
    yield* pass("10 minutes")
    expect(leftOf(cluster)).toEqual([])
    expect([cluster.sqs.lost, cluster.sqs.bodies]).toEqual([[], []])
    expect(new Set(cluster.read.map(({ body }) => body)).size).toBe(count() * 10)
    expect([cluster.api.peekAll(configMaps), [...ownersOf(cluster)]]).toEqual([[], []])
    expect(twice(first, second)).toEqual([])
  })

  it.effect("say by their owners why a session gets nothing more, and why a queue is not forwarded", function* () {
    const { cluster, leader, produce, session } = yield* share(false)
    const told = () => leader.splits.requirement(session)
    yield* produce(2)
    expect(told()._tag).toBe("Met")
    const mains = () => cluster.sqs.names.filter((name) => name.includes("-main-"))
    const [main = ""] = mains()
    yield* Effect.forkChild(cluster.queues.delete(`${cluster.sqs.base}${main}`))
    yield* produce(2)
    yield* pass("2 minutes")
    expect([mains().includes(main), mains().length, told()._tag]).toEqual([true, 5, "Met"])
    const [own = ""] = cluster.programs.get(sessionName) ?? []
    yield* Effect.forkChild(cluster.queues.delete(`${cluster.sqs.base}${own}`))
    yield* produce(3)
    yield* pass("20 seconds")
    expect([told()._tag, JSON.stringify(told())]).toEqual(["Failed", expect.stringContaining("queue is gone")])
  })

  it.effect("are ended by the next leader where nothing is left of their split but the order", function* () {
    const { cluster, first, leader } = yield* share(false)
    leader.process.kill()
    for (const kind of [splitPatches, queueRecords, splitSessions])
      for (const { metadata } of cluster.api.peekAll(kind)) cluster.api.erase(kind, metadata.name)
    const third = yield* shareQueues(cluster, "third")
    yield* operate(cluster, third)
    yield* pass("2 minutes")
    expect([cluster.api.peekAll(configMaps), [...ownersOf(cluster)]]).toEqual([[], []])
    expect(twice(first, third)).toEqual([])
  })
})
