import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { queueRecords } from "../../../src/domain/queues/stored-queue.ts"
import { deployments } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordPropertyLists } from "../../../src/domain/resources/queues/mirrord-property-list.ts"
import { QueueError } from "../../../src/ports/message-queues.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import type { SplitCluster } from "./split-cluster.ts"
import { begin, clusterWith, configure, end, leftOf, operate, put, sessionName, start, wanted } from "./split-life.ts"

const putNow = (cluster: SplitCluster, body: string, to: string) =>
  Effect.map(Clock.currentTimeMillis, (now) => put(cluster, body, to, now))

/** A filter of attributes, and a program that knows the time that it may take. */
const filter = { attributes: { to: "^ann$" }, program: ",300]" }

const refused = new QueueError({ operation: "CreateQueue", queue: "new", reason: "Invalid", detail: "no such right" })

describe("the split of a workload's queue", () => {
  it.effect("gives each message to whom its filter says, and leaves nothing behind", function* () {
    const cluster = clusterWith()
    yield* begin(cluster)
    const { changed, features, splits } = yield* operate(cluster)
    const names = ["SqsQueueSplitting", "SqsQueueSplittingDirect", "SqsQueueSplittingWithJqFilter"]
    assert.deepStrictEqual(features, names)
    yield* pass("1 second")
    const session = yield* start(cluster, splits, wanted("^ann$"))
    assert.strictEqual(splits.requirement(session)._tag, "Pending")
    yield* pass("20 seconds")
    assert.deepStrictEqual(splits.requirement(session), { _tag: "Met" })
    assert.deepInclude(changed, { _tag: "ChildChanged", session: sessionName })
    const queue = splits.variables(sessionName).get("ORDERS") ?? ""
    assert.match(queue, /^mirrord-tmp-.*-orders$/u)
    cluster.programs.set("ann", [queue])
    assert.isTrue(cluster.values("consumer").every((value) => value?.includes("-main-orders")))
    for (let n = 0; n < 20; n++) yield* putNow(cluster, `m${n}`, n % 2 === 0 ? "ann" : "bob")
    yield* pass("10 seconds")
    assert.sameMembers(
      cluster.read.flatMap(({ body, by }) => (by === "ann" ? [body] : [])),
      Array.from({ length: 10 }, (_, n) => `m${2 * n}`)
    )
    assert.lengthOf(cluster.read, 20)
    for (const { by, key } of cluster.read) assert.strictEqual(key, by === "ann" ? "ann-key" : undefined)
    cluster.programs.clear()
    yield* putNow(cluster, "late", "ann")
    yield* pass("2 seconds")
    end(cluster)
    yield* pass("10 minutes")
    assert.deepInclude(cluster.read.at(-1), { body: "late", key: undefined })
    assert.deepStrictEqual(cluster.values("consumer"), ["orders", "orders"])
    assert.deepStrictEqual(leftOf(cluster), [])
    assert.deepStrictEqual(cluster.sqs.lost, [])
  })

  it.effect("asks SQS for what it needs to begin, and then once a minute for what may have changed", function* () {
    const cluster = clusterWith()
    yield* begin(cluster)
    const { splits } = yield* operate(cluster)
    yield* pass("1 second")
    yield* start(cluster, splits, wanted("^ann$"))
    const counts = () =>
      ["GetQueueAttributes", "ListQueueTags", "CreateQueue"].map(
        (asked) => cluster.sqs.calls.filter(({ operation }) => operation === asked).length
      )
    yield* pass("10 seconds")
    // The look before the session was taken, and the look after.
    assert.deepStrictEqual(counts(), [3, 2, 2])
    yield* pass("5 minutes")
    assert.deepStrictEqual(counts(), [8, 2, 2])
  })

  it.effect.each([true, false])("makes queues like the original, where it may have dead letters: %s", function* (may) {
    const cluster = clusterWith()
    const arn = "arn:aws:sqs:eu-central-1:123456789012:"
    const own = { VisibilityTimeout: "77", RedrivePolicy: `{"deadLetterTargetArn":"${arn}dead","maxReceiveCount":9}` }
    const attributes = { ...own, MaximumMessageSize: "1024", DelaySeconds: "5", Policy: `{"Resource":"${arn}orders"}` }
    cluster.sqs.add("orders", attributes, { team: "a", stage: "b" })
    const properties = Object.entries({ tags: '{"team":"c"}', sns: "true", jq_time_limit: "300" })
    const spec = { properties: properties.map(([name, value]) => ({ name, value })) }
    cluster.api.write(mirrordPropertyLists, "own", { spec }, "shop")
    const orders = { id: "orders", kind: "sqs", appConfig: { queue: [{ env: "ORDERS" }] }, queueConfig: "own" }
    configure(cluster, "consumer", [], { queues: [orders] })
    // A Rollout may say nothing of its replicas, and its API server does not say it either.
    cluster.api.write(deployments, "consumer", { spec: { replicas: null } }, "shop")
    yield* begin(cluster)
    const create: typeof cluster.queues.create = (queue) =>
      may || !("RedrivePolicy" in queue.attributes) ? cluster.queues.create(queue) : Effect.fail(refused)
    const { splits } = yield* operate(cluster, { queues: { ...cluster.queues, create }, addsSessionKey: may })
    yield* pass("1 second")
    yield* start(cluster, splits, wanted("", { filters: new Map([["orders", filter]]) }))
    yield* pass("10 seconds")
    const made = cluster.sqs.names.flatMap((name) => (name === "orders" ? [] : (cluster.sqs.named(name) ?? [])))
    assert.lengthOf(made, 2)
    for (const { attributes: found, name, tags } of made) {
      assert.deepInclude(found, { VisibilityTimeout: "77", DelaySeconds: "0", Policy: `{"Resource":"${arn}${name}"}` })
      assert.strictEqual(found["RedrivePolicy"], may && name.includes("-main-") ? own.RedrivePolicy : undefined)
      assert.deepStrictEqual(tags, { team: "c", stage: "b" })
    }
    cluster.programs.set("ann", [splits.variables(sessionName).get("ORDERS") ?? ""])
    const keys = cluster.api.peekAll(queueRecords).filter((record) => JSON.stringify(record).includes("ann-key"))
    assert.lengthOf(keys, may ? 1 : 0)
    const body = '{"MessageAttributes":{"to":{"Type":"String","Value":"ann"}}}'
    // The first has no room for a key.
    for (const one of [body.padEnd(1_000), body]) {
      yield* putNow(cluster, one, "by Amazon SNS")
      yield* pass("6 seconds")
    }
    assert.deepStrictEqual(
      cluster.read.map(({ by, key }) => [by, key]),
      [
        ["ann", undefined],
        ["ann", may ? "ann-key" : undefined]
      ]
    )
  })

  it.effect("puts no key on a message that fills the queue of another cluster", function* () {
    const cluster = clusterWith()
    cluster.sqs.add("theirs", { MaximumMessageSize: "1024" })
    yield* begin(cluster)
    const { splits } = yield* operate(cluster)
    yield* pass("1 second")
    yield* start(cluster, splits, wanted("^ann$", { given: [{ id: "orders", original: "orders", queue: "theirs" }] }))
    yield* pass("10 seconds")
    yield* putNow(cluster, "x".repeat(1_010), "ann")
    yield* pass("5 seconds")
    assert.lengthOf(cluster.sqs.named("theirs")?.bodies ?? [], 1)
  })
})
