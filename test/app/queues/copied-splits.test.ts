/** Splits of queues in sessions on copies of their target, in one cluster and over a fleet. */

import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Result } from "effect"
import { isCopy } from "../../../src/domain/copies/copy-record.ts"
import { at } from "../../../src/domain/json.ts"
import { deployments, pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordSplitConfigs } from "../../../src/domain/resources/queues/mirrord-split-config.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { refusedWith } from "../../support/memory-session.ts"
import { logs } from "../policies/policed.ts"
import {
  begun,
  connect,
  copy,
  type FleetMember,
  leftIn,
  passMinutes,
  readBy,
  restartOperator,
  sendTo,
  splitFleet,
  type SplitFleetOptions
} from "./split-fleet.ts"
import { configure } from "./split-life.ts"

const copiesIn = ({ split }: FleetMember) => split.api.peekAll(pods).filter(({ metadata }) => isCopy(metadata))
const replicasIn = ({ split }: FleetMember) => at(split.api.peek(deployments, "consumer", "shop"), "spec", "replicas")
const otherNames: SplitFleetOptions = { queues: { a: "orders-eu", b: "orders-us" } }
const shared = 'The queue "orders" is not split there: where its pods read the same queue as those of other clusters'
const up = {
  split_queues: ["SQS", "Kafka", "Nats"].map((queue_type) => ({ queue_id: "*", queue_type, jq_filter: "ann" })),
  auto_queue_splitting: true
}

interface Told {
  /** The reason why `b` takes no part; `undefined` if it does. */
  readonly without?: RegExp
  /** Whether the program has the original queue, since there is nothing to split. */
  readonly isUnsplit?: boolean
}

describe("a session on a copy", () => {
  const rows: ReadonlyArray<readonly [string, "a" | "primary", SplitFleetOptions, object, Told]> = [
    ["in one cluster", "a", otherNames, {}, {}],
    ["over clusters", "primary", otherNames, {}, {}],
    ["that replaces its target in one cluster", "a", otherNames, { scale_down: true }, {}],
    ["that replaces its target over clusters", "primary", otherNames, { scale_down: true }, {}],
    [
      "of which one has no configuration",
      "primary",
      { ...otherNames, configured: ["a"] },
      {},
      { without: /cluster b .*has no copy.*No MirrordSplitConfig.*Those of the primary are copied here/u }
    ],
    ["by `mirrord up` without a configuration", "a", { ...otherNames, configured: [] }, up, { isUnsplit: true }],
    [
      "over clusters by `mirrord up` without a configuration",
      "primary",
      { ...otherNames, configured: [] },
      up,
      { isUnsplit: true }
    ]
  ]
  it.effect.each(rows)("%s", function* ([, where, options, spec, { isUnsplit = false, without }]) {
    const fleet = yield* splitFleet(options)
    const { a, b, world } = fleet
    const isScaled = "scale_down" in spec
    const members = where === "a" || without !== undefined ? [a] : [a, b]
    const copied = Result.getOrThrow(yield* copy(fleet, spec, where === "a" ? a.member : world.primary))
    const { got, leave, queue, secs } = yield* begun(fleet, {}, copied)
    assert.isAtMost(secs, 3)
    assert.strictEqual(queue.startsWith("mirrord-tmp-"), !isUnsplit)
    const told = logs(got).join()
    if (without === undefined) assert.strictEqual(told, "")
    else assert.match(told, without)
    assert.strictEqual(told.includes(shared), without !== undefined)
    for (const one of members) {
      for (const to of ["ann", "bob"]) yield* sendTo(one, `m ${one.name} ${to}`, to)
      assert.deepStrictEqual([copiesIn(one).length, replicasIn(one)], [1, isScaled ? 0 : 2])
    }
    yield* passMinutes(1)
    const read = members.flatMap(({ name }) => [
      `m ${name} ann: ${isUnsplit ? name : "ann"}`,
      ...(isScaled ? [] : [`m ${name} bob: ${name}`])
    ])
    if (!isUnsplit) assert.deepStrictEqual(readBy(fleet, "m"), read)
    if (where === "primary" && without !== undefined)
      assert.strictEqual(b.split.values("consumer").join(), "orders-us,orders-us")
    yield* leave
    yield* passMinutes(10)
    for (const { name } of isScaled ? members : []) assert.include(readBy(fleet, "m"), `m ${name} bob: ${name}`)
    assert.deepStrictEqual([...leftIn(fleet), ...members.flatMap(copiesIn)], [])
    for (const one of members) assert.strictEqual(replicasIn(one), 2)
  })
})

describe("a copy whose split is impossible", () => {
  const refunds = { split_queues: { refunds: { queue_type: "SQS", message_filter: { to: "^ann$" } } } }
  const kafka = { split_queues: { orders: { queue_type: "Kafka" } } }
  const off: SplitFleetOptions = { splitting: ["primary"] }
  const queue = [{ env: "OTHER", fallback: "not-there" }]
  const missing = { queues: [{ id: "orders", kind: "sqs", appConfig: { queue } }] }
  it.effect.each<readonly [string, "a" | "primary", object, SplitFleetOptions, number, string]>([
    ["of another broker", "a", kafka, {}, 400, "does not serve queue splitting for Kafka"],
    ["of another broker over clusters", "primary", kafka, {}, 400, "does not serve queue splitting for Kafka"],
    ["where splits are off", "a", {}, off, 400, "does not serve queue splitting for SQS"],
    ["where the primary's splits are off", "primary", {}, { splitting: ["a"] }, 400, "This operator does not serve"],
    ["where those of the default are off", "primary", {}, off, 400, "In the default cluster a: This operator does not"],
    ["without a configuration", "a", {}, { configured: [] }, 404, "No MirrordSplitConfig"],
    ["that the default has no configuration of", "primary", {}, { configured: ["b"] }, 404, "No MirrordSplitConfig"],
    ["whose queue is not there", "primary", {}, { spec: missing }, 404, "not-there"],
    ["of a queue that the default has not", "primary", refunds, {}, 400, "In the default cluster a: "],
    ["of a pod", "primary", { target: { pod: "consumer-1" }, scale_down: false }, {}, 400, "a Deployment or a Rollout"]
  ])("%s is refused before anything is made", function* ([, where, spec, options, code, sentence]) {
    const fleet = yield* splitFleet(options)
    const { a, b, world } = fleet
    const since = yield* Clock.currentTimeMillis
    const answer = yield* copy(fleet, { scale_down: true, ...spec }, where === "a" ? a.member : world.primary)
    const waited = (yield* Clock.currentTimeMillis) - since
    const { code: found, message } = refusedWith(answer)
    assert.strictEqual(found, code)
    assert.include(message, sentence)
    // For a configuration that may be on its way.
    assert.strictEqual(waited > 15_000, where === "primary" && sentence === "No MirrordSplitConfig")
    for (const one of [a, b]) assert.deepStrictEqual([copiesIn(one).length, replicasIn(one)], [0, 2])
  })
})

describe("a configuration that comes from the primary while a copy is made", () => {
  it.effect.each(["a", "b"] as const)("is waited for by cluster %s, and not a moment longer", function* (late) {
    const fleet = yield* splitFleet({ ...otherNames, configured: ["a", "b"].filter((name) => name !== late) })
    const comes = Effect.sync(() => configure(fleet[late].split, "consumer", ["orders"]))
    const since = yield* Clock.currentTimeMillis
    yield* Effect.forkScoped(Effect.andThen(Effect.sleep("18 seconds"), comes))
    const copied = Result.getOrThrow(yield* copy(fleet))
    const made = (yield* Clock.currentTimeMillis) - since
    assert.isAtMost(made, 22_000)
    const { got } = yield* begun(fleet, {}, copied)
    assert.deepStrictEqual(logs(got), [])
    for (const one of [fleet.a, fleet.b]) yield* sendTo(one, `m ${one.name}`, "ann")
    yield* passMinutes(1)
    assert.deepStrictEqual(readBy(fleet, "m"), ["m a: ann", "m b: ann"])
  })
})

describe("the clients of a copy with a split", () => {
  it.effect.each(["a", "primary"] as const)("come back, and use it again, at %s", function* (where) {
    const fleet = yield* splitFleet(otherNames)
    const at = where === "a" ? fleet.a.member : fleet.world.primary
    const copied = Result.getOrThrow(yield* copy(fleet, {}, at))
    const first = yield* begun(fleet, {}, copied)
    yield* first.leave
    // Another leader of the primary knows the copy by its clusters alone.
    yield* restartOperator(fleet, at)
    const again = yield* begun(fleet, {}, copied)
    const other = yield* begun(fleet, {}, { ...copied, sessionId: "256" })
    assert.strictEqual(again.queue, first.queue)
    assert.match(other.queue, /^mirrord-tmp-/u)
    assert.notStrictEqual(other.queue, first.queue)
  })

  it.effect.each(["a", "primary"] as const)("read the queues of the container that it has, at %s", function* (where) {
    const fleet = yield* splitFleet(otherNames)
    for (const { queue, split } of [fleet.a, fleet.b]) {
      const containers = [{ name: "app", env: [{ name: "ORDERS", value: queue }] }, { name: "side" }]
      const annotations = { "kubectl.kubernetes.io/default-container": "side" }
      const template = { metadata: { labels: { app: "consumer" }, annotations }, spec: { containers } }
      split.api.write(deployments, "consumer", { spec: { template } }, "shop")
    }
    yield* passMinutes(0.5)
    const at = where === "a" ? fleet.a.member : fleet.world.primary
    const copied = Result.getOrThrow(yield* copy(fleet, { exclude_containers: ["side"] }, at))
    const { queue } = yield* begun(fleet, {}, copied)
    assert.match(queue, /^mirrord-tmp-/u)
  })

  it.effect("get nothing from a cluster whose copy was not made, although it has the workload", function* () {
    const fleet = yield* splitFleet(otherNames)
    const { api } = fleet.b.member
    const forbidden = new KubeError({ cluster: "b", operation: "create", reason: "Forbidden", detail: "no right" })
    api.before = ({ plural, verb }) => (verb === "create" && plural === "pods" ? Effect.fail(forbidden) : Effect.void)
    const copied = Result.getOrThrow(yield* copy(fleet))
    const { got } = yield* begun(fleet, {}, copied)
    assert.match(logs(got).join(), /no right/u)
    yield* passMinutes(1)
    assert.deepStrictEqual(fleet.b.split.values("consumer"), ["orders-us", "orders-us"])
  })

  it.effect("are refused if splits have been switched off meanwhile", function* () {
    const splitting = new Set(["primary", "a", "b"])
    const fleet = yield* splitFleet({ splitting })
    const copied = Result.getOrThrow(yield* copy(fleet, { idle_ttl: 600 }))
    splitting.delete("primary")
    yield* restartOperator(fleet, fleet.world.primary)
    const { result } = yield* connect(fleet, {}, copied)
    assert.include(refusedWith(result).message, "does not serve queue splitting for SQS")
  })

  it.effect("are refused by the split's sentence if it cannot be made any more", function* () {
    const fleet = yield* splitFleet()
    const copied = Result.getOrThrow(yield* copy(fleet, {}, fleet.a.member))
    fleet.a.split.api.erase(mirrordSplitConfigs, "consumer", "shop")
    yield* passMinutes(0.1)
    const { result } = yield* connect(fleet, {}, copied)
    assert.include(refusedWith(result).message, "No MirrordSplitConfig")
  })
})
