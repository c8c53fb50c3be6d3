import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Stream } from "effect"
import type { QueueSplits } from "../../../src/app/queues/queue-splits.ts"
import { events } from "../../../src/domain/events/event-object.ts"
import { queueRecords } from "../../../src/domain/queues/stored-queue.ts"
import { splitSessions } from "../../../src/domain/queues/stored-session.ts"
import { endedSplit, splitPatches } from "../../../src/domain/queues/stored-split.ts"
import {
  apiServices,
  deployments,
  mutatingWebhookConfigurations,
  pods
} from "../../../src/domain/resources/core-kinds.ts"
import type { MirrordClusterSession } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordSplitConfigs } from "../../../src/domain/resources/queues/mirrord-split-config.ts"
import { type KubeApi, KubeError, type KubeErrorReason, type ResourceRef } from "../../../src/ports/kube-api.ts"
import { QueueError } from "../../../src/ports/message-queues.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import type { SplitCluster } from "./split-cluster.ts"
import {
  begin,
  clusterWith,
  configure,
  end,
  leftOf,
  looksSince,
  operate,
  type OperateOptions,
  OperatorProcess,
  put,
  sessionName,
  start,
  wanted
} from "./split-life.ts"

/** Five messages for the session and five for others. */
const putTen = Effect.fnUntraced(function* (cluster: SplitCluster) {
  const now = yield* Clock.currentTimeMillis
  for (let n = 0; n < 10; n++) put(cluster, `m${n} ${now}`, n % 2 === 0 ? "ann" : "bob", now)
})

/** The sentence with which a session has ended; its state otherwise. */
const stateOf = (splits: QueueSplits["Service"], session: MirrordClusterSession): string => {
  const found = splits.requirement(session)
  return found._tag === "Failed" ? found.failure.message : found._tag
}

const began = Effect.fnUntraced(function* (cluster: SplitCluster, options: OperateOptions = {}) {
  yield* begin(cluster)
  const operator = yield* operate(cluster, options)
  yield* pass("1 second")
  return operator
})

/** A session that is ready, whose program reads. */
const ready = Effect.fnUntraced(function* (cluster: SplitCluster) {
  const { splits } = yield* began(cluster)
  const session = yield* start(cluster, splits, wanted("^ann$"))
  yield* pass("10 seconds")
  assert.strictEqual(stateOf(splits, session), "Met")
  const queue = splits.variables(sessionName).get("ORDERS") ?? ""
  cluster.programs.set(sessionName, [queue])
  return { splits, session, queue }
})

const assertRestored = (cluster: SplitCluster): void => {
  assert.deepStrictEqual(leftOf(cluster), [])
  assert.deepStrictEqual(cluster.values("consumer"), ["orders", "orders"])
}

const bodiesRead = (cluster: SplitCluster): number => new Set(cluster.read.map(({ body }) => body)).size

/** The sentences that the session hears, if the right is missing from the start, and if it is lost. */
const sentences: ReadonlyArray<readonly [operation: string, atStart: string, later: string]> = [
  ["ReceiveMessage", "ReceiveMessage of https://[^ ]*/orders", "ReceiveMessage of https://[^ ]*/orders"],
  ["SendMessageBatch", "SendMessageBatch of https://[^ ]*-orders", "SendMessageBatch of https://[^ ]*-orders"],
  ["DeleteMessageBatch", "DeleteMessageBatch of https://[^ ]*/orders", "DeleteMessageBatch of https://[^ ]*/orders"],
  ["GetQueueUrl", "needs sqs:GetQueueUrl", "needs sqs:GetQueueUrl"],
  ["GetQueueAttributes", "needs sqs:GetQueueAttributes", "needs sqs:GetQueueAttributes"],
  ["ListQueueTags", "ListQueueTags of https://[^ ]*/orders", "^Met$"],
  ["CreateQueue", "CreateQueue of https://[^ ]*-main-orders", "^Met$"],
  ["DeleteQueue", "^Met$", "^Met$"]
]

describe("a split without a right at SQS", () => {
  const cases = sentences.flatMap(([operation, atStart, later]) => [
    { operation, isLost: false, sentence: new RegExp(atStart, "u") },
    { operation, isLost: true, sentence: new RegExp(later, "u") }
  ])
  it.effect.each(cases)("says so, and gives the workload back: $operation, lost: $isLost", function* (one) {
    const { isLost, operation, sentence } = one
    let isDenied = !isLost
    const cluster = clusterWith()
    const queues = cluster.sqs.port((asked) => !isDenied || asked !== operation)
    const { splits } = yield* began(cluster, { queues })
    const ordered = yield* Effect.result(start(cluster, splits, wanted("^ann$")))
    if (ordered._tag === "Failure") assert.match(ordered.failure.message, sentence)
    yield* pass("5 seconds")
    const queue = splits.variables(sessionName).get("ORDERS")
    if (queue !== undefined) cluster.programs.set(sessionName, [queue])
    isDenied = true
    yield* putTen(cluster)
    yield* pass("75 seconds")
    if (ordered._tag === "Success") assert.match(stateOf(splits, ordered.success), sentence)
    end(cluster)
    yield* pass("10 minutes")
    const told = cluster.api.peekAll(events).map(({ message, reason }) => `${String(reason)} ${String(message)}`)
    const what = operation === "DeleteQueue" ? /^QueueSplitProblem Queue .* stays: / : sentence
    const isQuiet = ordered._tag === "Failure" || what.source === "^Met$"
    assert.strictEqual(
      told.some((one) => what.test(one)),
      !isQuiet
    )
    assert.deepStrictEqual(cluster.values("consumer"), ["orders", "orders"])
    isDenied = false
    yield* pass("15 minutes")
    assertRestored(cluster)
    assert.strictEqual(bodiesRead(cluster), 10)
  })
})

const refused = (reason: KubeErrorReason): KubeError =>
  new KubeError({ cluster: "here", operation: "write", reason, detail: "planted" })

/** A process to which no watch shows the records of splits. */
class DeafProcess extends OperatorProcess {
  override api(real: KubeApi): KubeApi {
    const api = super.api(real)
    const isRecord = (ref: ResourceRef): boolean =>
      [splitPatches, queueRecords].some(({ plural }) => plural === ref.plural)
    return { ...api, watch: (ref, ...rest) => (isRecord(ref) ? Stream.never : api.watch(ref, ...rest)) }
  }
}

const urlOf = (name: string): string => `https://sqs.eu-central-1.amazonaws.com/123456789012/${name}`

describe("a split whose parts are taken away", () => {
  it.effect("makes its main queue again under its name, and goes on", function* () {
    const cluster = clusterWith()
    const { session, splits } = yield* ready(cluster)
    const [main = ""] = cluster.values("consumer")
    yield* Effect.forkScoped(cluster.queues.delete(urlOf(main)))
    yield* pass("62 seconds")
    yield* putTen(cluster)
    yield* pass("3 minutes")
    assert.strictEqual(stateOf(splits, session), "Met")
    assert.include(cluster.sqs.names, main)
    assert.strictEqual(bodiesRead(cluster), 10)
    end(cluster)
    yield* pass("5 minutes")
    assertRestored(cluster)
  })

  it.effect("puts its webhook back, and changes its record no more", function* () {
    const cluster = clusterWith()
    const { session, splits } = yield* ready(cluster)
    const webhooks = () => cluster.api.peekAll(mutatingWebhookConfigurations).map((one) => one["webhooks"])
    const [before, calls] = [webhooks(), cluster.api.calls.length]
    for (const { metadata } of cluster.api.peekAll(mutatingWebhookConfigurations))
      cluster.api.erase(mutatingWebhookConfigurations, metadata.name)
    yield* pass("40 seconds")
    assert.deepStrictEqual(webhooks(), before)
    assert.isFalse(
      cluster.api.calls.slice(calls).some(({ plural, verb }) => verb === "patch" && plural === splitPatches.plural)
    )
    assert.strictEqual(stateOf(splits, session), "Met")
  })

  it.effect("goes on after SQS has said for a moment that there is no main queue", function* () {
    const cluster = clusterWith()
    const { session, splits } = yield* ready(cluster)
    cluster.sqs.refuse = ({ at, operation, queue }) =>
      operation === "SendMessageBatch" && queue.includes("-main-") && at < 14_000 ? "NoQueue" : undefined
    yield* putTen(cluster)
    yield* pass("2 minutes")
    assert.deepStrictEqual([stateOf(splits, session), bodiesRead(cluster)], ["Met", 10])
  })

  it.effect("begins again with the next session when its main queue has taken nothing for long", function* () {
    const cluster = clusterWith()
    const { session, splits } = yield* ready(cluster)
    cluster.sqs.refuse = ({ at, operation, queue }) =>
      operation === "SendMessageBatch" && queue.includes("-main-") && at < 75_000 ? "Denied" : undefined
    yield* putTen(cluster)
    yield* pass("70 seconds")
    assert.match(stateOf(splits, session), /SendMessageBatch of [^ ]*-main-orders/u)
    end(cluster)
    yield* pass("2 minutes")
    const next = yield* start(cluster, splits, wanted("^ann$"), "00000000000000fe")
    yield* pass("20 seconds")
    assert.strictEqual(stateOf(splits, next), "Met")
  })

  it.effect("waits for the name of a main queue, which SQS gives no other queue for a minute", function* () {
    const cluster = clusterWith()
    cluster.sqs.refuse = ({ at, operation, queue }) =>
      operation === "CreateQueue" && queue.includes("-main-") && at < 30_000 ? "DeletedRecently" : undefined
    const { splits } = yield* began(cluster)
    const session = yield* start(cluster, splits, wanted("^ann$"))
    yield* pass("50 seconds")
    assert.strictEqual(stateOf(splits, session), "Met")
  })

  it.effect("gives what a session left to the original if main takes nothing, and all is to end", function* () {
    const cluster = clusterWith()
    yield* ready(cluster)
    const [main = ""] = cluster.values("consumer")
    cluster.programs.clear()
    cluster.sqs.refuse = ({ operation, queue }) =>
      operation === "SendMessageBatch" && queue === main ? "Unavailable" : undefined
    put(cluster, "left", "ann", yield* Clock.currentTimeMillis)
    yield* pass("1 second")
    end(cluster)
    yield* pass("1 minute")
    const [calls, endedAt] = [cluster.api.calls.length, yield* Clock.currentTimeMillis]
    for (const { metadata } of cluster.api.peekAll(splitPatches))
      cluster.api.write(splitPatches, metadata.name, endedSplit)
    yield* pass("10 minutes")
    assert.deepStrictEqual(
      cluster.read.map(({ at, body, by }) => [body, by, at < endedAt + 60_000]),
      [["left", "pod", true]]
    )
    assert.isAtMost(looksSince(cluster, calls), 60)
    assertRestored(cluster)
  })

  it.effect("ends the session whose queue is gone, and gives its messages to the workload", function* () {
    const cluster = clusterWith()
    const { queue, session, splits } = yield* ready(cluster)
    yield* Effect.forkScoped(cluster.queues.delete(urlOf(queue)))
    yield* pass("62 seconds")
    yield* putTen(cluster)
    yield* pass("1 minute")
    assert.strictEqual(stateOf(splits, session), "The session's queue is gone: start the session again.")
    assert.strictEqual(bodiesRead(cluster), 10)
    yield* pass("5 minutes")
    end(cluster)
    assertRestored(cluster)
  })

  it.effect("waits for a message that the program took and did not delete", function* () {
    const cluster = clusterWith()
    const { queue } = yield* ready(cluster)
    cluster.programs.clear()
    put(cluster, "taken", "ann", yield* Clock.currentTimeMillis)
    yield* pass("1 second")
    const receive = { url: urlOf(queue), max: 10, waitSeconds: 0, visibilitySeconds: 600 }
    yield* Effect.forkScoped(cluster.queues.receive(receive))
    yield* pass("1 second")
    end(cluster)
    yield* pass("20 minutes")
    assert.deepStrictEqual([bodiesRead(cluster), cluster.sqs.lost], [1, []])
    assertRestored(cluster)
  })

  it.effect("ends with the original queue", function* () {
    const cluster = clusterWith()
    const { session, splits } = yield* ready(cluster)
    yield* Effect.forkScoped(cluster.queues.delete(urlOf("orders")))
    yield* pass("10 seconds")
    assert.match(stateOf(splits, session), /ReceiveMessage of https:[^ ]*\/orders: .*NoQueue/u)
    yield* pass("5 minutes")
    end(cluster)
    assertRestored(cluster)
  })

  it.effect("says what the webhook lacks, and begins again when that is there", function* () {
    const cluster = clusterWith()
    cluster.api.write(apiServices, "v1.operator.metalbear.co", { spec: { caBundle: null } })
    const { splits } = yield* began(cluster)
    const session = yield* start(cluster, splits, wanted("^ann$"))
    yield* pass("5 seconds")
    assert.match(stateOf(splits, session), /caBundle/u)
    end(cluster)
    yield* pass("2 minutes")
    assertRestored(cluster)
    cluster.api.write(apiServices, "v1.operator.metalbear.co", { spec: { caBundle: "Y2E=" } })
    const next = yield* start(cluster, splits, wanted("^ann$"))
    yield* pass("10 seconds")
    assert.strictEqual(stateOf(splits, next), "Met")
  })

  it.effect.each([
    ["edited", /has changed: start the session again/u],
    ["deleted", /No MirrordSplitConfig/u]
  ] as const)("ends with its configuration, which is %s", function* ([what, sentence]) {
    const cluster = clusterWith()
    const { session, splits } = yield* ready(cluster)
    if (what === "edited")
      configure(cluster, "consumer", ["orders"], { tmpNameTemplate: "x{{RANDOM}}{{FALLBACK}}{{ORIGINAL}}" })
    else cluster.api.erase(mirrordSplitConfigs, "consumer", "shop")
    yield* pass("3 seconds")
    assert.match(stateOf(splits, session), sentence)
    yield* putTen(cluster)
    yield* pass("5 minutes")
    end(cluster)
    assertRestored(cluster)
    assert.strictEqual(bodiesRead(cluster), 10)
    configure(cluster, "consumer", ["orders"])
    const next = yield* start(cluster, splits, wanted("^ann$"))
    yield* pass("10 seconds")
    assert.strictEqual(stateOf(splits, next), "Met")
  })

  it.effect("keeps the queues of a deleted workload while a pod of it reads them", function* () {
    const cluster = clusterWith()
    const { session, splits } = yield* ready(cluster)
    const [first, second] = cluster.pods("consumer")
    const [main = ""] = cluster.values("consumer")
    cluster.api.erase(deployments, "consumer", "shop")
    cluster.api.erase(pods, first?.metadata.name ?? "", "shop")
    yield* putTen(cluster)
    yield* pass("5 minutes")
    assert.strictEqual(stateOf(splits, session), "The workload whose queues are split is deleted.")
    end(cluster)
    assert.include(cluster.sqs.names, main)
    cluster.api.erase(pods, second?.metadata.name ?? "", "shop")
    yield* pass("5 minutes")
    assert.deepStrictEqual(leftOf(cluster), [])
    assert.strictEqual(cluster.sqs.bodies.length + bodiesRead(cluster), 10)
  })

  it.effect("goes on where others write first and answers are lost, and no watch shows its records", function* () {
    const cluster = clusterWith()
    const records = [splitPatches, queueRecords, mutatingWebhookConfigurations]
    const [calls, conflictsUntil] = [new Set<string>(), 26_000]
    const isFirst = (call: string): boolean => calls.size < calls.add(call).size
    cluster.api.before = ({ name, plural, verb }) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const kind = [splitSessions, ...records].find((one) => one.plural === plural)
        if (verb !== "patch") return Effect.void
        // The workload is read before each write, and has a conflict without a change.
        if (plural === "deployments" && now < conflictsUntil) return Effect.fail(refused("Conflict"))
        if (kind !== undefined && cluster.api.peek(kind, name) !== undefined && isFirst(`${verb} ${name}`))
          cluster.api.write(kind, name, { metadata: { labels: { touched: "yes" } } })
        return Effect.void
      })
    cluster.api.after = ({ name, plural, verb }) =>
      verb !== "patch" && records.some((one) => one.plural === plural) && isFirst(`${verb} ${name}`)
        ? Effect.fail(refused("Unreachable"))
        : Effect.void
    const lost = new QueueError({ operation: "DeleteQueue", queue: "", reason: "Unavailable", detail: "planted" })
    const remove: typeof cluster.queues.delete = (url) =>
      Effect.andThen(cluster.queues.delete(url), isFirst(url) ? Effect.fail(lost) : Effect.void)
    const queues = { ...cluster.queues, delete: remove }
    const { splits } = yield* began(cluster, { process: new DeafProcess(), queues })
    const before = cluster.api.calls.length
    const session = yield* start(cluster, splits, wanted("^ann$"))
    yield* pass("28 seconds")
    assert.strictEqual(stateOf(splits, session), "Met")
    end(cluster)
    yield* pass("4 minutes")
    assertRestored(cluster)
    assert.isAtMost(looksSince(cluster, before), 150)
  })

  it.effect("makes no more than three turns a minute while nothing happens", function* () {
    const cluster = clusterWith()
    const workload = { apiVersion: "apps/v1", kind: "Deployment", name: "consumer", namespace: "shop" }
    // Objects of these kinds that are no split's.
    cluster.api.write(splitPatches, "theirs", { spec: { workloadRef: workload, requests: [] } })
    cluster.api.write(queueRecords, "theirs", { spec: { sqsQueue: { nameOrUrl: "theirs" } } })
    yield* ready(cluster)
    const before = cluster.api.calls.length
    yield* pass("10 minutes")
    assert.isAtMost(looksSince(cluster, before), 30)
  })
})
