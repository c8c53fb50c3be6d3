import { assert, describe } from "@effect/vitest"
import { Clock, Context, Effect, Fiber, Layer, Result, Scope } from "effect"
import { PodReviews } from "../../../src/app/queues/pod-reviews.ts"
import { QueueSplits } from "../../../src/app/queues/queue-splits.ts"
import { QueueSplitting } from "../../../src/app/queues/queue-splitting.ts"
import { splitLayer } from "../../../src/app/queues/split-capability.ts"
import { reviewPod } from "../../../src/domain/queues/pod-review.ts"
import { queueRecords } from "../../../src/domain/queues/stored-queue.ts"
import { splitSessions } from "../../../src/domain/queues/stored-session.ts"
import { splitPatches } from "../../../src/domain/queues/stored-split.ts"
import type { WantedSplit } from "../../../src/domain/queues/wanted-split.ts"
import { apiServices, mutatingWebhookConfigurations } from "../../../src/domain/resources/core-kinds.ts"
import {
  mirrordClusterSessions,
  type MirrordClusterSession
} from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordSplitConfigs } from "../../../src/domain/resources/queues/mirrord-split-config.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { groundOf } from "../../support/ground.ts"
import { SplitCluster } from "./split-cluster.ts"
import { jq } from "./split-world.ts"

const owner = { userId: "ann", username: "Ann", hostname: "laptop", k8sUsername: "ann" }

const wanted = (pattern: string, change: Partial<WantedSplit> = {}): WantedSplit => ({
  workload: { namespace: "shop", kind: "deployment", name: "consumer", container: undefined },
  filters: new Map([["orders", { attributes: { to: pattern }, program: undefined }]]),
  modes: new Map(),
  isAutomatic: false,
  sessionKey: "ann-key",
  startedAt: undefined,
  isShared: false,
  given: undefined,
  ...change
})

/** A cluster with a consumer of the queue `orders`, and its configuration. */
const clusterWith = (spec: object = {}, seed?: string): SplitCluster => {
  const cluster = new SplitCluster(seed)
  cluster.sqs.add("orders")
  cluster.deploy("consumer", [{ name: "ORDERS", value: "orders" }])
  cluster.api.write(apiServices, "v1.operator.metalbear.co", {
    spec: { service: { name: "mirrord-operator", namespace: "mirrord", port: 443 }, caBundle: "Y2E=" }
  })
  const targetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "consumer" }
  const queues = [{ id: "orders", kind: "sqs", appConfig: { queue: [{ env: "ORDERS" }] } }]
  const config = { spec: { targetRef, queues, restart: { strategy: "standard" }, ...spec } }
  cluster.api.write(mirrordSplitConfigs, "consumer", config, "shop")
  return cluster
}

/** Starts the operator's part. It ends with the returned effect. */
const operate = Effect.fnUntraced(function* (cluster: SplitCluster) {
  const scope = yield* Scope.make()
  const ground = yield* groundOf({ api: cluster.api }).pipe(Scope.provide(scope))
  const options = {
    settings: { lingerSeconds: 60, isolatesPods: false, waitsForPods: true },
    queues: cluster.queues,
    jq,
    endpoint: undefined
  }
  const made = yield* Layer.build(splitLayer).pipe(
    Effect.provideContext(Context.add(ground, QueueSplitting, { options, servedAuthority: () => undefined })),
    Scope.provide(scope)
  )
  const { lookup } = Context.get(made, PodReviews)
  cluster.operator = (uid, review) => Result.getOrThrow(reviewPod(lookup(uid), review)).patch
  return { splits: Context.get(made, QueueSplits), scope }
})

const begin = Effect.fnUntraced(function* (cluster: SplitCluster) {
  const clock = yield* Clock.Clock
  yield* Effect.forkScoped(cluster.live(() => clock.currentTimeMillisUnsafe()))
  yield* pass("2 seconds")
})

const sessionName = "00000000000000ff"

/** Makes a session and orders its split. */
const start = Effect.fnUntraced(function* (
  cluster: SplitCluster,
  splits: QueueSplits["Service"],
  split: WantedSplit,
  name = sessionName
) {
  const target = { apiVersion: "apps/v1", kind: "Deployment", name: "consumer", container: "" }
  const object = cluster.api.write(mirrordClusterSessions, name, { spec: { namespace: "shop", owner, target } })
  const session = object as unknown as MirrordClusterSession
  const ordering = yield* Effect.forkScoped(Effect.tap(splits.check(split), () => splits.order(session, split)))
  yield* pass("50 millis")
  assert.isTrue(yield* Fiber.join(ordering))
  return session
})

/** The session ends, and the garbage collector takes what it owns. */
const end = (cluster: SplitCluster, name = sessionName): void => {
  cluster.api.erase(mirrordClusterSessions, name)
  for (const { metadata } of cluster.api.peekAll(splitSessions))
    if (metadata.ownerReferences?.[0]?.name === name) cluster.api.erase(splitSessions, metadata.name)
}

/** A producer puts a message into the queue. */
const put = Effect.fnUntraced(function* ({ sqs }: SplitCluster, body: string, to: string) {
  const entry = { MessageBody: body, MessageAttributes: { to: { DataType: "String", StringValue: to } } }
  sqs.named("orders")?.send(entry, yield* Clock.currentTimeMillis)
})

describe("the split of a workload's queue", () => {
  it.effect("gives each message to whom its filter says, and leaves nothing behind", function* () {
    const cluster = clusterWith()
    yield* begin(cluster)
    const { splits } = yield* operate(cluster)
    yield* pass("1 second")
    const session = yield* start(cluster, splits, wanted("^ann$"))
    assert.strictEqual(splits.requirement(session)._tag, "Pending")
    yield* pass("20 seconds")
    assert.deepStrictEqual(splits.requirement(session), { _tag: "Met" })
    const queue = splits.variables(sessionName).get("ORDERS") ?? ""
    assert.match(queue, /^mirrord-tmp-.*-orders$/u)
    cluster.programs.set("ann", queue)
    assert.isTrue(cluster.values("consumer").every((value) => value?.includes("-main-orders")))
    for (let n = 0; n < 20; n++) yield* put(cluster, `m${n}`, n % 2 === 0 ? "ann" : "bob")
    yield* pass("10 seconds")
    assert.sameMembers(
      cluster.read.flatMap(({ body, by }) => (by === "ann" ? [body] : [])),
      Array.from({ length: 10 }, (_, n) => `m${2 * n}`)
    )
    assert.lengthOf(cluster.read, 20)
    cluster.programs.clear()
    yield* put(cluster, "late", "ann")
    yield* pass("2 seconds")
    end(cluster)
    yield* pass("10 minutes")
    assert.strictEqual(cluster.read.at(-1)?.body, "late")
    assert.deepStrictEqual(cluster.values("consumer"), ["orders", "orders"])
    for (const kind of [splitPatches, queueRecords, splitSessions, mutatingWebhookConfigurations])
      assert.deepStrictEqual(cluster.api.peekAll(kind), [])
    assert.deepStrictEqual(cluster.sqs.names, ["orders"])
    assert.deepStrictEqual(cluster.sqs.lost, [])
  })
})
