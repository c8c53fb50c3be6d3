import { assert, describe } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { mirrordPropertyLists } from "../../../src/domain/resources/queues/mirrord-property-list.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import type { SplitCluster } from "./split-cluster.ts"
import { begin, clusterWith, configure, end, leftOf, operate, put, sessionName, start, wanted } from "./split-life.ts"

const putNow = (cluster: SplitCluster, body: string, to: string) =>
  Effect.map(Clock.currentTimeMillis, (now) => put(cluster, body, to, now))

describe("the split of a workload's queue", () => {
  it.effect("gives each message to whom its filter says, and leaves nothing behind", function* () {
    const cluster = clusterWith()
    yield* begin(cluster)
    const { features, splits } = yield* operate(cluster)
    const names = ["SqsQueueSplitting", "SqsQueueSplittingDirect", "SqsQueueSplittingWithJqFilter"]
    assert.deepStrictEqual(features, names)
    yield* pass("1 second")
    const session = yield* start(cluster, splits, wanted("^ann$"))
    assert.strictEqual(splits.requirement(session)._tag, "Pending")
    yield* pass("20 seconds")
    assert.deepStrictEqual(splits.requirement(session), { _tag: "Met" })
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
    cluster.programs.clear()
    yield* putNow(cluster, "late", "ann")
    yield* pass("2 seconds")
    end(cluster)
    yield* pass("10 minutes")
    assert.strictEqual(cluster.read.at(-1)?.body, "late")
    assert.deepStrictEqual(cluster.values("consumer"), ["orders", "orders"])
    assert.deepStrictEqual(leftOf(cluster), [])
    assert.deepStrictEqual(cluster.sqs.lost, [])
  })

  it.effect("makes queues like the original, with the tags of both", function* () {
    const cluster = clusterWith()
    const arn = "arn:aws:sqs:eu-central-1:123456789012:"
    const attributes = { VisibilityTimeout: "77", DelaySeconds: "5", Policy: `{"Resource":"${arn}orders"}` }
    cluster.sqs.add("orders", attributes, { team: "a", stage: "b" })
    const spec = { properties: [{ name: "tags", value: '{"team":"c"}' }] }
    cluster.api.write(mirrordPropertyLists, "tags", { spec }, "shop")
    const orders = { id: "orders", kind: "sqs", appConfig: { queue: [{ env: "ORDERS" }] }, queueConfig: "tags" }
    configure(cluster, "consumer", [], { queues: [orders] })
    yield* begin(cluster)
    const { splits } = yield* operate(cluster)
    yield* pass("1 second")
    yield* start(cluster, splits, wanted("^ann$"))
    yield* pass("10 seconds")
    const made = cluster.sqs.names.flatMap((name) => (name === "orders" ? [] : (cluster.sqs.named(name) ?? [])))
    assert.lengthOf(made, 2)
    for (const { attributes: own, name, tags } of made) {
      assert.deepInclude(own, { VisibilityTimeout: "77", DelaySeconds: "0", Policy: `{"Resource":"${arn}${name}"}` })
      assert.deepStrictEqual(tags, { team: "c", stage: "b" })
    }
  })
})
