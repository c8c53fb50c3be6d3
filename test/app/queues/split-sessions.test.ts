import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Exit, Scope } from "effect"
import { forgetEnded } from "../../../src/app/queues/known-split.ts"
import type { QueueSplits } from "../../../src/app/queues/queue-splits.ts"
import { queueRecords } from "../../../src/domain/queues/stored-queue.ts"
import { splitPatches } from "../../../src/domain/queues/stored-split.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import type { MirrordClusterSession } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordSplitConfigs } from "../../../src/domain/resources/queues/mirrord-split-config.ts"
import { mirrordWorkloadQueueRegistries } from "../../../src/domain/resources/queues/mirrord-workload-queue-registry.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
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
  makeSession,
  operate,
  OperatorProcess,
  put,
  start,
  wanted
} from "./split-life.ts"

const stateOf = (splits: QueueSplits["Service"], session: MirrordClusterSession): string => {
  const found = splits.requirement(session)
  return found._tag === "Failed" ? found.failure.message : found._tag
}

const nameOf = (index: number): string => `00000000000000${index.toString(16).padStart(2, "0")}`

const putNow = (cluster: SplitCluster, body: string, to: string) =>
  Effect.map(Clock.currentTimeMillis, (now) => put(cluster, body, to, now))

const began = Effect.fnUntraced(function* (cluster: SplitCluster) {
  yield* begin(cluster)
  const operator = yield* operate(cluster)
  yield* pass("1 second")
  return operator
})

/** Lets the programs of sessions read. */
const serve = (cluster: SplitCluster, splits: QueueSplits["Service"], names: ReadonlyArray<string>): void => {
  for (const name of names) cluster.programs.set(name, [splits.variables(name).get("ORDERS") ?? ""])
}

describe("sessions of one split", () => {
  it.effect("may be twenty, which all begin and end with one restart", function* () {
    const cluster = clusterWith()
    const { splits } = yield* began(cluster)
    const names = Array.from({ length: 20 }, (_, index) => nameOf(index + 1))
    const sessions: Array<MirrordClusterSession> = []
    for (const [index, name] of names.entries()) {
      const id = index % 2 === 0 ? "orders" : "*"
      const filters = new Map([[id, { attributes: { to: `^user${index}$` }, program: undefined }]])
      const split = wanted("", { filters, modes: new Map(index % 3 === 0 ? [[id, "mirror"]] : []) })
      sessions.push(yield* start(cluster, splits, split, name))
    }
    yield* pass("10 seconds")
    for (const session of sessions) assert.strictEqual(stateOf(splits, session), "Met")
    const before = cluster.pods("consumer").map(({ metadata }) => metadata.name)
    serve(cluster, splits, names)
    for (let n = 0; n < 40; n++) yield* putNow(cluster, `m${n}`, `user${n % 20}`)
    yield* pass("20 seconds")
    for (const [index, name] of names.entries()) {
      const own = [`m${index}`, `m${index + 20}`]
      const read = (who: string) => cluster.read.filter(({ by, body }) => by === who && own.includes(body)).length
      assert.deepStrictEqual([read(name), read("patched")], index % 3 === 0 ? [2, 2] : [2, 0])
    }
    for (const name of names.slice(1)) end(cluster, name)
    yield* pass("2 minutes")
    assert.strictEqual(cluster.sqs.names.length, 3)
    assert.deepStrictEqual(
      cluster.pods("consumer").map(({ metadata }) => metadata.name),
      before
    )
    end(cluster, nameOf(1))
    yield* pass("5 minutes")
    assert.deepStrictEqual(leftOf(cluster), [])
  })

  it.effect("go on when the filter of one gives no answer, which ends with its sentence", function* () {
    const cluster = clusterWith()
    const { splits } = yield* began(cluster)
    const filters = new Map([["orders", { attributes: {}, program: "late" }]])
    const late = yield* start(cluster, splits, wanted("", { filters }), nameOf(1))
    const ann = yield* start(cluster, splits, wanted("^ann$"), nameOf(2))
    yield* pass("10 seconds")
    serve(cluster, splits, [nameOf(1), nameOf(2)])
    for (let n = 0; n < 4; n++) yield* putNow(cluster, `m${n}`, "ann")
    yield* pass("10 seconds")
    assert.match(stateOf(splits, late), /filter gives no answer, .*200 ms\.$/u)
    assert.strictEqual(stateOf(splits, ann), "Met")
    assert.deepStrictEqual(
      cluster.read.map(({ by }) => by),
      Array.from({ length: 4 }, () => nameOf(2))
    )
  })

  it.effect("begin at once while the forwarder of those before them ends", function* () {
    const cluster = clusterWith()
    const { splits } = yield* began(cluster)
    yield* start(cluster, splits, wanted("^ann$"), nameOf(1))
    yield* pass("10 seconds")
    end(cluster, nameOf(1))
    // Its queue is empty and deleted; the forwarder waits for the end of a poll.
    while (cluster.sqs.names.length > 2) yield* pass("250 millis")
    const bob = yield* start(cluster, splits, wanted("^bob$"), nameOf(2))
    const before = cluster.api.calls.length
    yield* pass("7 seconds")
    assert.strictEqual(stateOf(splits, bob), "Met")
    assert.isAtMost(looksSince(cluster, before), 20)
  })

  it.effect("begin in time although new pods were born while nobody answered for them", function* () {
    const cluster = clusterWith()
    const { splits } = yield* began(cluster)
    const answers = cluster.operator
    cluster.operator = undefined
    const ann = yield* start(cluster, splits, wanted("^ann$"), nameOf(1))
    yield* pass("15 seconds")
    assert.strictEqual(stateOf(splits, ann), "Pending")
    // Other clusters get the names before the pods do.
    assert.match(splits.variables(nameOf(1)).get("ORDERS") ?? "", /^mirrord-tmp-/u)
    cluster.operator = answers
    yield* pass("20 seconds")
    assert.strictEqual(stateOf(splits, ann), "Met")
    end(cluster, nameOf(1))
    yield* pass("5 minutes")
    assert.deepStrictEqual([leftOf(cluster), cluster.values("consumer")], [[], ["orders", "orders"]])
  })

  it.effect("begin beside what is left of an earlier split", function* () {
    const cluster = clusterWith()
    const { splits } = yield* began(cluster)
    yield* start(cluster, splits, wanted("^ann$"), nameOf(1))
    yield* pass("10 seconds")
    const [old] = cluster.values("consumer")
    end(cluster, nameOf(1))
    while (cluster.api.peekAll(splitPatches).length > 0) yield* pass("1 second")
    assert.include(cluster.sqs.names, old)
    yield* start(cluster, splits, wanted("^bob$"), nameOf(2))
    yield* pass("10 seconds")
    for (const value of cluster.values("consumer")) {
      assert.include(value, "-main-")
      assert.notStrictEqual(value, old)
    }
    yield* pass("2 minutes")
    assert.notInclude(cluster.sqs.names, old)
  })

  it.effect("have the configuration of the first that goes on, whatever the others' containers are", function* () {
    const cluster = clusterWith()
    cluster.api.erase(mirrordSplitConfigs, "consumer", "shop")
    const consumer = { name: "consumer", workloadType: "Deployment", container: "app" }
    const queues = { orders: { queueType: "SQS", nameSource: { envVar: "ORDERS" } } }
    cluster.api.write(mirrordWorkloadQueueRegistries, "consumer", { spec: { consumer, queues } }, "shop")
    const { splits } = yield* began(cluster)
    const other = wanted("^ann$")
    yield* Effect.forkScoped(
      splits.order(makeSession(cluster, nameOf(1)), { ...other, workload: { ...other.workload, container: "none" } })
    )
    yield* pass("5 seconds")
    const bob = yield* start(cluster, splits, wanted("^bob$"), nameOf(2))
    yield* pass("10 seconds")
    assert.strictEqual(stateOf(splits, bob), "Met")
  })
})

describe("an operator that comes after another", () => {
  /** A session that is ready, and whose operator has died. */
  const orphaned = Effect.fnUntraced(function* (cluster: SplitCluster) {
    const process = new OperatorProcess()
    yield* begin(cluster)
    const { splits } = yield* operate(cluster, { process })
    yield* pass("1 second")
    yield* start(cluster, splits, wanted("^ann$"), nameOf(1))
    yield* pass("10 seconds")
    serve(cluster, splits, [nameOf(1)])
    process.kill()
  })

  it.effect("forwards nothing before it knows the filters", function* () {
    const cluster = clusterWith()
    yield* orphaned(cluster)
    // The dead process's poll would take one of them.
    yield* pass("6 seconds")
    for (let n = 0; n < 5; n++) yield* putNow(cluster, `m${n}`, "ann")
    cluster.sqs.refuse = ({ operation }) => (operation === "GetQueueUrl" ? "Unavailable" : undefined)
    yield* operate(cluster)
    yield* pass("20 seconds")
    assert.lengthOf(cluster.read, 0)
    cluster.sqs.refuse = () => undefined
    yield* pass("20 seconds")
    assert.deepStrictEqual(
      cluster.read.map(({ by }) => by),
      Array.from({ length: 5 }, () => nameOf(1))
    )
  })

  it.effect("takes no queue for quiet while calls of the other may still have effects", function* () {
    const cluster = clusterWith()
    yield* orphaned(cluster)
    end(cluster, nameOf(1))
    yield* operate(cluster)
    const isQuiet = () => JSON.stringify(cluster.api.peekAll(queueRecords)).includes("quietSince")
    yield* pass("9900 millis")
    assert.isFalse(isQuiet())
    yield* pass("10 seconds")
    assert.isTrue(isQuiet())
  })
})

describe("workloads with one queue", () => {
  it.effect("have one split, also after restarts of the operator", function* () {
    const cluster = clusterWith()
    cluster.deploy("other", [{ name: "ORDERS", value: "orders" }])
    configure(cluster, "other", ["orders"])
    const process = new OperatorProcess()
    yield* begin(cluster)
    let { splits } = yield* operate(cluster, { process })
    yield* pass("1 second")
    const one = wanted("^ann$")
    // Neither sees the other's record when it begins.
    cluster.api.before = ({ plural, verb }) =>
      verb === "create" && plural === splitPatches.plural ? Effect.sleep(200) : Effect.void
    const session = yield* Effect.all(
      [
        start(cluster, splits, one, nameOf(1)),
        start(cluster, splits, { ...one, workload: { ...one.workload, name: "other" } }, nameOf(2))
      ],
      { concurrency: "unbounded" }
    )
    yield* pass("20 seconds")
    const states = () => session.map((each) => stateOf(splits, each))
    const [first] = states()
    const winner = first === "Met" ? 0 : 1
    assert.strictEqual(states()[winner], "Met")
    assert.match(
      states()[1 - winner] ?? "",
      /is split for the workload "(?:other|consumer)" in the namespace shop now/u
    )
    const loser = ["consumer", "other"][1 - winner] ?? ""
    assert.deepStrictEqual(cluster.values(loser), ["orders", "orders"])
    process.kill()
    ;({ splits } = yield* operate(cluster))
    yield* pass("1 minute")
    assert.strictEqual(states()[winner], "Met")
    end(cluster, nameOf(1))
    end(cluster, nameOf(2))
    yield* pass("10 minutes")
    assert.deepStrictEqual(leftOf(cluster), [])
  })
})

describe("the strategy isolatePods", () => {
  const withPods = () => clusterWith({ spec: { restart: { strategy: "isolatePods" } } })

  it.effect("replaces pods one by one, there and back", function* () {
    const cluster = withPods()
    const { splits } = yield* began(cluster)
    const ann = yield* start(cluster, splits, wanted("^ann$"), nameOf(1))
    yield* pass("30 seconds")
    assert.strictEqual(stateOf(splits, ann), "Met")
    assert.isTrue(cluster.values("consumer").every((value) => value?.includes("-main-")))
    end(cluster, nameOf(1))
    yield* pass("10 minutes")
    assert.deepStrictEqual([leftOf(cluster), cluster.values("consumer")], [[], ["orders", "orders"]])
  })

  it.effect.each([true, false])(
    "deletes the pod that it took out, although the session is over; killed: %s",
    function* (isKilled) {
      const cluster = withPods()
      const operator = yield* began(cluster)
      // Replacements are born without the names, and none is ready.
      cluster.operator = undefined
      cluster.isReady = false
      yield* start(cluster, operator.splits, wanted("^ann$"), nameOf(1))
      yield* pass("3 seconds")
      assert.lengthOf(
        cluster.api.peekAll(pods).filter(({ metadata }) => metadata.labels?.["operator.metalbear.co/isolated"]),
        1
      )
      end(cluster, nameOf(1))
      // So long that nothing else is left of the split.
      const forbidden = new KubeError({ cluster: "here", operation: "delete", reason: "Forbidden", detail: "no right" })
      cluster.api.before = ({ plural, verb }) =>
        verb === "delete" && plural === "pods" ? Effect.fail(forbidden) : Effect.void
      yield* pass("5 minutes")
      if (isKilled) {
        yield* Scope.close(operator.scope, Exit.void)
        yield* operate(cluster)
      }
      cluster.api.before = () => Effect.void
      cluster.isReady = true
      yield* pass("5 minutes")
      assert.deepStrictEqual([leftOf(cluster), cluster.values("consumer")], [[], ["orders", "orders"]])
    }
  )

  it.effect("waits for no pod of others that has the workload's labels", function* () {
    const cluster = clusterWith({ spec: { restart: { strategy: "standard", waitForPods: "all" } } })
    const { splits } = yield* began(cluster)
    cluster.api.write(pods, "debug", { metadata: { labels: { app: "consumer" } }, spec: { containers: [] } }, "shop")
    const ann = yield* start(cluster, splits, wanted("^ann$"), nameOf(1))
    yield* pass("20 seconds")
    assert.strictEqual(stateOf(splits, ann), "Met")
  })
})

describe("the memory about a split", () => {
  it("forgets what is over, and nothing else", () => {
    const of = <T>(value: T) =>
      new Map([
        ["live", value],
        ["over", value]
      ])
    const failure = { isLasting: true, code: 500, message: "" }
    const known = {
      queues: of({ _tag: "Absent" } as const),
      problems: of({ code: 1, message: "" }),
      failures: new Map([
        ["old", { ...failure, at: 0 }],
        ["new", { ...failure, at: 100_000 }]
      ]),
      reported: new Set([
        "Order live arn",
        "Lost live",
        "Strays live.3",
        "Lost over",
        "Strays over.3",
        "Lost live.fifo"
      ])
    }
    forgetEnded(known, new Set(["live"]), 600_001)
    assert.deepStrictEqual(
      [known.queues, known.problems].map((map) => [...map.keys()]),
      [["live"], ["live"]]
    )
    assert.deepStrictEqual([...known.failures.keys()], ["new"])
    assert.deepStrictEqual([...known.reported], ["Order live arn", "Lost live", "Strays live.3"])
  })
})
