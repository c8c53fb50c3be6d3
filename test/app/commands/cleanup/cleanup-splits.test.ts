import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { previewCleanup } from "../../../../src/app/commands/cleanup/cleanup-preview.ts"
import { cleanup } from "../../../../src/app/commands/cleanup/cleanup.ts"
import { queueRecords } from "../../../../src/domain/queues/stored-queue.ts"
import { splitSessions } from "../../../../src/domain/queues/stored-session.ts"
import { splitPatches } from "../../../../src/domain/queues/stored-split.ts"
import { deployments } from "../../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { pass } from "../../../support/connect-request.ts"
import { it } from "../../../support/effect-it.ts"
import type { SplitCluster } from "../../queues/split-cluster.ts"
import {
  begin,
  type ClusterOptions,
  clusterWith,
  leftOf,
  operate,
  put,
  start,
  wanted
} from "../../queues/split-life.ts"

/** A cluster with a split in which a session is ready, and the operator of it. */
const split = Effect.fnUntraced(function* (options: ClusterOptions = {}) {
  const cluster = clusterWith(options)
  yield* begin(cluster)
  const { process, splits } = yield* operate(cluster)
  yield* pass("15 seconds")
  yield* start(cluster, splits, wanted("^ann$"))
  yield* pass("20 seconds")
  assert.isTrue(cluster.values("consumer").every((value) => value?.includes("-main-orders")))
  return { cluster, process, splits }
})

/** Cleans up while time passes. */
const cleaned = Effect.fnUntraced(function* ({ api }: SplitCluster, splitSecs: number) {
  const running = yield* Effect.forkChild(cleanup(api, { waitSecs: 30, splitSecs }))
  yield* pass("4 minutes")
  return yield* Fiber.join(running)
})

const isPatched = (cluster: SplitCluster) => cluster.values("consumer").map((value) => value !== "orders")

describe("cleanup of splits of queues", () => {
  it.effect("has a running operator end them, though the workload leaves its main queue full", function* () {
    // Without the command it would stay for an hour, and wait for its main queue for ever.
    const { cluster } = yield* split({ spec: { ttl: 3_600 } })
    cluster.isReading = false
    const now = yield* Clock.currentTimeMillis
    for (const to of ["ann", "bob"]) put(cluster, to, to, now)
    yield* pass("2 seconds")
    const running = yield* Effect.forkChild(cleanup(cluster.api, { waitSecs: 30, splitSecs: 180 }))
    yield* pass("50 seconds")
    assert.deepStrictEqual(isPatched(cluster), [false, false])
    yield* pass("130 seconds")
    cluster.isReading = true
    assert.deepStrictEqual(yield* Fiber.join(running), [])
    yield* pass("5 seconds")
    assert.deepStrictEqual(leftOf(cluster), [])
    assert.sameMembers(
      cluster.read.map(({ body, queue }) => `${body} ${queue}`),
      ["ann orders", "bob orders"]
    )
    assert.deepStrictEqual(cluster.sqs.lost, [])
  })

  it.effect("refuses sessions that come while a split ends", function* () {
    const { cluster, splits } = yield* split()
    const running = yield* Effect.forkChild(cleanup(cluster.api, { waitSecs: 30, splitSecs: 60 }))
    yield* pass("2 seconds")
    yield* start(cluster, splits, wanted("^bob$"), "00000000000000fe")
    yield* pass("5 seconds")
    const [part] = cluster.api.peekAll(splitSessions)
    assert.include(JSON.stringify(part?.["status"]), "braid cleanup")
    yield* pass("2 minutes")
    yield* Fiber.join(running)
    assert.deepStrictEqual(isPatched(cluster), [false, false])
  })

  it.effect("gives pods their queues back without an operator, and names the queues that are left", function* () {
    const { cluster, process } = yield* split()
    process.kill()
    cluster.api.write(splitPatches, "foreign", { spec: { workloadRef: {}, requests: [] } })
    const [main, ...others] = cluster.api.peekAll(queueRecords)
    assert.lengthOf(others, 1)
    const problems = yield* cleaned(cluster, 60)
    assert.lengthOf(problems, 2)
    assert.match(problems.join("\n"), /^Queue https:\S+-main-orders is left: .* to https:\S+\/orders, and delete/mu)
    assert.isUndefined(cluster.api.peek(queueRecords, main?.metadata.name ?? ""))
    assert.deepStrictEqual(isPatched(cluster), [false, false])
    assert.deepStrictEqual(
      leftOf(cluster).filter((name) => !name.startsWith("mirrord-tmp-")),
      ["mirrordclusterworkloadpatches foreign"]
    )
    assert.deepStrictEqual(yield* cleaned(cluster, 60), [])
  })

  it.effect("does the same beside an operator that has no time left for it", function* () {
    const { cluster } = yield* split()
    assert.lengthOf(yield* cleaned(cluster, 0), 2)
    assert.deepStrictEqual(isPatched(cluster), [false, false])
  })

  it.effect("keeps the record of a workload that it cannot restart, and goes on with the rest", function* () {
    const { cluster, process } = yield* split()
    process.kill()
    const refused = new KubeError({ cluster: "here", operation: "test", reason: "Forbidden", detail: "not yours" })
    cluster.api.before = ({ plural, verb }) =>
      verb === "patch" || plural === "mutatingwebhookconfigurations" ? Effect.fail(refused) : Effect.void
    const problems = yield* cleaned(cluster, 2)
    assert.match(
      problems.join("\n"),
      /^ending split .*: not yours\.\nnoting .*: not yours\.\nremoving webhook mirrord-queues-.*: not yours\.\nrestarting deployment consumer in namespace shop, .*: not yours\.\nQueue/u
    )
    assert.lengthOf(cluster.api.peekAll(splitPatches), 1)
    assert.lengthOf(cluster.api.peekAll(queueRecords), 0)
  })

  it.effect("forgets the split of a workload that is gone", function* () {
    const { cluster, process } = yield* split()
    process.kill()
    cluster.api.erase(deployments, "consumer", "shop")
    assert.lengthOf(yield* cleaned(cluster, 1), 2)
    assert.lengthOf(cluster.api.peekAll(splitPatches), 0)
  })

  it.effect("deletes parts of splits that no session owns", function* () {
    // Its garbage collector does not run.
    const cluster = clusterWith()
    cluster.api.write(splitSessions, "00000000000000ff.consumer.deployment", {})
    assert.deepStrictEqual(yield* cleaned(cluster, 30), [])
    assert.deepStrictEqual(cluster.api.peekAll(splitSessions), [])
  })

  it.effect("looks for none unless it is told to, and only names them before --apply", function* () {
    const { cluster } = yield* split()
    const before = cluster.api.calls.length
    const named = yield* previewCleanup(cluster.api, { splitSecs: 1 })
    assert.deepStrictEqual(named.problems, [])
    assert.match(
      named.planned.join("\n"),
      /\nending the split of queues of workload consumer in namespace shop\nending temporary queue https:/u
    )
    const without = yield* previewCleanup(cluster.api, {})
    assert.notInclude(without.planned.join("\n"), "split")
    const own = cluster.api.calls.slice(before).filter(({ verb }) => verb !== "list")
    assert.deepStrictEqual(own, [])
    yield* cleanup(cluster.api, { waitSecs: 1 })
    assert.lengthOf(cluster.api.peekAll(splitPatches), 1)
  })
})
