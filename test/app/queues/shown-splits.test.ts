import { assert, describe } from "@effect/vitest"
import { Clock, Context, Effect, Layer, Logger, Result } from "effect"
import { CurrentMeasurements, Measurements } from "../../../src/app/kernel/metrics.ts"
import { exposition } from "../../../src/app/metrics/exposition.ts"
import { PodReviews } from "../../../src/app/queues/pod-reviews.ts"
import { noSplits, QueueSplits } from "../../../src/app/queues/queue-splits.ts"
import { QueueSplitting } from "../../../src/app/queues/queue-splitting.ts"
import { splitLayer } from "../../../src/app/queues/split-capability.ts"
import { at } from "../../../src/domain/json.ts"
import { metricCatalogue } from "../../../src/domain/metrics/catalogue.ts"
import { reviewPod } from "../../../src/domain/queues/pod-review.ts"
import { newSessionObject, splitSessions } from "../../../src/domain/queues/stored-session.ts"
import { splitPatches, storedSplit } from "../../../src/domain/queues/stored-split.ts"
import { apiServices } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordSplitConfigs } from "../../../src/domain/resources/queues/mirrord-split-config.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { owner, place, wantedSplit } from "../../support/queue-split.ts"
import { servicesOf } from "../../support/services.ts"
import { SplitCluster } from "./split-cluster.ts"
import { jq, noObjects } from "./split-world.ts"

/** A cluster whose consumer's queue `orders` is configured. */
const living = Effect.fnUntraced(function* () {
  const cluster = new SplitCluster()
  cluster.sqs.add("orders")
  cluster.deploy("consumer", [{ name: "ORDERS", value: "orders" }])
  cluster.api.write(apiServices, "v1.operator.metalbear.co", {
    spec: { service: { name: "mirrord-operator", namespace: "mirrord", port: 443 }, caBundle: "Y2E=" }
  })
  const queues = [{ id: "orders", kind: "sqs", appConfig: { queue: [{ env: "ORDERS" }] } }]
  const targetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "consumer" }
  cluster.api.write(mirrordSplitConfigs, "consumer", { spec: { targetRef, queues } }, "shop")
  const clock = yield* Clock.Clock
  yield* Effect.forkScoped(cluster.live(() => clock.currentTimeMillisUnsafe()))
  yield* pass("2 seconds")
  return cluster
})

/** The operator's part in it. */
const operate = Effect.fnUntraced(function* (cluster: SplitCluster) {
  const options = {
    settings: { lingerSeconds: 60, isolatesPods: false, waitsForPods: true },
    queues: cluster.queues,
    jq,
    storedObjects: noObjects,
    endpoint: undefined
  }
  const services = Context.add(yield* servicesOf({ api: cluster.api }), QueueSplitting, {
    options,
    servedAuthority: () => undefined
  })
  const made = yield* Layer.build(splitLayer).pipe(Effect.provideContext(services))
  const { lookup } = Context.get(made, PodReviews)
  cluster.operator = (uid, review) => Result.getOrThrow(reviewPod(lookup(uid), review)).patch
  yield* pass("2 seconds")
  // A forwarder ends with its last poll, which takes time.
  yield* Effect.addFinalizer(() => Effect.forkDetach(pass("10 seconds")))
  return Context.get(made, QueueSplits)
})

/** A session asks for its part. */
const begin = Effect.fnUntraced(function* ({ api }: SplitCluster, session: string) {
  const target = { apiVersion: "apps/v1", kind: "Deployment", name: "consumer", container: "" }
  const made = api.write(mirrordClusterSessions, session, { spec: { namespace: "shop", owner, target } })
  const { metadata, ...object } = newSessionObject({
    name: `${session}.consumer.deployment`,
    place,
    container: "app",
    wanted: wantedSplit(place, new Map([["orders", { attributes: { to: "^ann$" }, program: undefined }]])),
    owner,
    session: { apiVersion: "v1", kind: "MirrordClusterSession", metadata: made.metadata },
    startedAt: yield* Clock.currentTimeMillis
  })
  api.write(splitSessions, metadata.name, { ...object, metadata })
})

const end = ({ api }: SplitCluster, session: string): void => {
  api.erase(mirrordClusterSessions, session)
  api.erase(splitSessions, `${session}.consumer.deployment`)
}

/** Ten messages, of which five are for Ann. */
const produce = Effect.fnUntraced(function* ({ sqs }: SplitCluster) {
  for (let n = 0; n < 10; n++) {
    const to = { DataType: "String", StringValue: n % 2 === 0 ? "ann" : "bob" }
    sqs.named("orders")?.send({ MessageBody: `m${n}`, MessageAttributes: { to } }, yield* Clock.currentTimeMillis)
  }
  yield* pass("10 seconds")
})

const phase = ({ api }: SplitCluster): string | undefined => {
  const [object] = api.peekAll(splitPatches)
  return object && storedSplit(Result.getOrThrow(readResource(splitPatches, object)))?.record.phase
}

/** The value of a series of a metric of the queue. */
const valueOf = (text: string, name: string, more = ""): number =>
  Number(
    new RegExp(`^${name}\\{(?=[^\\n]*="https://[^"]*/orders")[^\\n]*${more}[^\\n]*\\} (\\d+)$`, "mu").exec(text)?.[1]
  )

/** The lines of the log. */
const recorded = () => {
  const lines: Array<string> = []
  const log = Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))])
  return { lines, log, linesWith: (word: string) => lines.filter((line) => line.includes(word)) }
}

describe("what is shown of splits", () => {
  it.effect("follows a session from its order on, in lists, metrics and the audit log", function* () {
    const { lines, linesWith, log } = recorded()
    const story = Effect.gen(function* () {
      const cluster = yield* living()
      const splits = yield* operate(cluster)
      const shown = Effect.map(splits.objects("shop"), ([one]) => one?.status)
      yield* begin(cluster, "00000000000000fe")
      yield* pass("500 millis")
      assert.strictEqual((yield* shown)?.phase, "Pending")
      yield* pass("20 seconds")
      assert.deepInclude(yield* shown, {
        phase: "Ready",
        queues: [{ id: "orders", type: "sqs", queue: "orders" }],
        targetPods: cluster.pods("consumer").map(({ metadata: { name } }) => ({ name, patched: true, ready: true }))
      })
      assert.isEmpty(yield* splits.objects("other"))
      assert.isDefined(splits.shown().get("00000000000000fe"))

      const [part] = cluster.api.peekAll(splitSessions)
      const { ownerReferences } = part?.metadata ?? {}
      const spec = { namespace: "shop", queues: [] }
      cluster.api.write(splitSessions, "00000000000000aa.x.deployment", { metadata: { ownerReferences }, spec })
      yield* pass("1 second")
      for (const _ of [1, 2]) assert.lengthOf(yield* splits.objects(undefined), 1)
      assert.lengthOf(linesWith("is left out"), 1)

      yield* produce(cluster)
      const before = yield* exposition
      end(cluster, "00000000000000fe")
      while (phase(cluster) !== "Draining") yield* pass("1 second")
      assert.match(yield* exposition, /^braid_queue_splits\{phase="Draining"\} 1$/mu)
      yield* begin(cluster, "00000000000000ff")
      yield* pass("40 seconds")
      yield* produce(cluster)
      const after = yield* exposition
      for (const [text, rounds] of [
        [before, 1],
        [after, 2]
      ] as const) {
        assert.strictEqual(valueOf(text, "mirrord_read_sqs_messages_count"), 10 * rounds)
        assert.strictEqual(valueOf(text, "mirrord_unmatched_sqs_messages_count"), 5 * rounds)
        const users = 'k8s_user="ann@x",local_username="ann"'
        assert.strictEqual(valueOf(text, "mirrord_sqs_messages_forwarded_to_user_count", users), 5 * rounds)
      }
      assert.isAbove(valueOf(after, "braid_queue_calls_total"), valueOf(before, "braid_queue_calls_total"))
      assert.strictEqual(valueOf(after, "braid_queue_failing"), 0)
      assert.isFinite(valueOf(after, "braid_main_queue_messages"))
      for (const [name, { type }] of Object.entries(metricCatalogue))
        if (/sqs|queue/u.test(name)) assert.include(after, `# TYPE ${name} ${type}`)

      const about = { session: "00000000000000fe", namespace: "shop", target: "deployment.consumer" }
      const line = { ...about, owner: owner.k8sUsername, queues: ["orders"], audit: true }
      const acts = lines.map((one): unknown => at(JSON.parse(one), "annotations"))
      assert.deepStrictEqual(
        acts.filter((one) => at(one, "audit") === true && at(one, "session") === about.session),
        ["queuesSplit", "queuesReturned"].map((act) => ({ ...line, act, decision: "allowed", user: "the operator" }))
      )
      assert.lengthOf(linesWith('"queuesSplit"'), 2)
      assert.isEmpty(linesWith("^ann$"))
    })
    yield* story.pipe(
      Effect.scoped,
      Effect.provideService(CurrentMeasurements, new Measurements()),
      Effect.provide(log)
    )
  })

  it.effect("says once in the audit log that a session has begun, and once that it ended, whoever leads", function* () {
    const { linesWith, log } = recorded()
    const counts = () => ["queuesSplit", "queuesReturned"].map((act) => linesWith(`"${act}"`).length)
    const story = Effect.gen(function* () {
      const cluster = yield* living()
      const session = "00000000000000fe"
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* operate(cluster)
          yield* begin(cluster, session)
          yield* pass("20 seconds")
        })
      )
      yield* operate(cluster)
      yield* pass("1 minute")
      assert.deepStrictEqual(counts(), [1, 0])
      end(cluster, session)
      yield* pass("5 seconds")
      assert.deepStrictEqual(counts(), [1, 1])
    })
    yield* story.pipe(Effect.scoped, Effect.provide(log))
  })

  it.effect("is not found where queues are not split", function* () {
    const failure = yield* Effect.flip(noSplits.objects(undefined))
    assert.deepInclude(failure, { code: 404, reason: "NotFound" })
  })
})
