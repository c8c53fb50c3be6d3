/** Sessions that split queues, from the connect to the variables, in one cluster and in a fleet. */

import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Result } from "effect"
import { ApiError, badRequest } from "../../../../src/app/api/status.ts"
import { patienceOf } from "../../../../src/app/sessions/member/use-splits.ts"
import { asObjects, at } from "../../../../src/domain/json.ts"
import type { ClientMessage } from "../../../../src/domain/protocol/client-message.ts"
import type { DaemonMessage } from "../../../../src/domain/protocol/daemon-message.ts"
import { sqsSession } from "../../../../src/domain/queues/sqs-session.ts"
import { mirrordClusterSessions } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { parseConnectQuery } from "../../../../src/domain/sessions/connect-request.ts"
import { met } from "../../../../src/domain/sessions/requirement.ts"
import { pass, request } from "../../../support/connect-request.ts"
import { it } from "../../../support/effect-it.ts"
import { connectTo, memberOf, opened, refusedWith, startWorld } from "../../../support/memory-session.ts"
import { type MemoryCluster, openConnection } from "../../../support/memory-world.ts"
import { partOf } from "../../../support/queue-split.ts"
import { certificateOf } from "../../../support/user-certificate.ts"
import { memoryBranches, withBranches } from "../../branches/memory-branches.ts"
import { client } from "../../policies/policed.ts"
import { MemorySplits } from "../../queues/memory-splits.ts"

const named = { sqs_splits: '{"orders":{"user":"^ann$"}}' }
const automatic = { sqs_jq_filters: '{"*":".a"}', up_session_info: '{"autoQueueSplitting":true}' }
const asking = (
  certificate: string,
  params: Readonly<Record<string, string>>,
  change: Parameters<typeof request>[1] = {}
) => request(certificate, { query: new URLSearchParams({ connect: "true", ...params }).toString(), ...change })

const name = "00000000000000ff"
const sessionsOf = ({ api }: MemoryCluster) => api.peekAll(mirrordClusterSessions)
const everything: ClientMessage = {
  _tag: "GetEnvVarsRequest",
  value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) }
}
const ordersIn = (got: ReadonlyArray<DaemonMessage>) =>
  got.flatMap((message) =>
    message._tag === "GetEnvVarsResponse" && message.value._tag === "Ok" ? [message.value.value.get("ORDERS")] : []
  )
const why = { reason: "QueuesNotSplit", message: "The original queue is gone.", code: 409 } as const
const failed = { _tag: "Failed", failure: why, comesFirst: true } as const
const sentence = "The session failed in cluster this cluster: The original queue is gone; then run the command again."

/** A member that splits queues, and a user of it. */
const single = Effect.fnUntraced(function* () {
  const splits = new MemorySplits()
  const capabilities = withBranches("a", memoryBranches(), splits.layer("a"))
  const { world } = yield* startWorld({}, { capabilities })
  const cluster = memberOf(world, "a")
  cluster.variables.set("ORDERS", "orders")
  return { world, cluster, splits, certificate: yield* certificateOf(cluster) }
})
/** The same with a session whose queues are split. */
const running = Effect.fnUntraced(function* () {
  const made = yield* single()
  made.splits.become(met)
  const channel = yield* client(opened(yield* connectTo(made.cluster, asking(made.certificate, named))))
  yield* pass("15 seconds")
  return { ...made, channel }
})

describe("a session that splits queues", () => {
  it.effect("starts no agent before they are split, and has their names in its variables", function* () {
    const { certificate, cluster, splits } = yield* single()
    const wanted = asking(certificate, { ...named, key: "k" }, { target: "deployment.myapp.container.myapp" })
    const connect = yield* Effect.forkChild(openConnection(cluster, wanted), { startImmediately: true })
    yield* pass("1 second")
    assert.deepStrictEqual(splits.log, ["check myapp", `order ${name}`])
    const workload = { namespace: "default", kind: "deployment", name: "myapp", container: "myapp" } as const
    const wish = { workload, sessionKey: "k", given: undefined, isAutomatic: false }
    assert.deepInclude(splits.orders.get(name), wish)
    for (let seconds = 0; seconds < 170; seconds += 10) yield* pass("10 seconds")
    assert.deepStrictEqual(cluster.agentPods, [])
    assert.isUndefined(connect.pollUnsafe())
    splits.become(met)
    yield* pass("1 second")
    yield* pass("1 second")
    const { got, say } = yield* client(yield* Fiber.join(connect))
    assert.deepStrictEqual(cluster.agentPods, ["myapp-1"])
    yield* say(everything)
    assert.deepStrictEqual(ordersIn(got), ["tmp-orders"])
  })

  it.effect("goes on for a client that returns, also at a new operator, which hears the order again", function* () {
    const { certificate, cluster, splits, world } = yield* running()
    opened(yield* connectTo(cluster, asking(certificate, named)))
    assert.deepStrictEqual(splits.log, ["check myapp", `order ${name}`, `order ${name}`])
    yield* world.kill(cluster)
    // The operator stopped before the split was made.
    splits.orders.clear()
    splits.log.length = 0
    yield* world.start(cluster)
    const { got, say } = yield* client(opened(yield* connectTo(cluster, asking(certificate, named))))
    assert.deepStrictEqual(splits.log, [`order ${name}`])
    yield* say(everything)
    assert.deepStrictEqual(ordersIn(got), ["tmp-orders"])
    const other = yield* client(opened(yield* connectTo(cluster, request(certificate, { sessionId: "7" }))))
    yield* other.say(everything)
    assert.deepStrictEqual(ordersIn(other.got), ["orders"])
  })

  it.effect("has its part in the split in the operator's list of sessions", function* () {
    const { cluster, splits } = yield* running()
    const sqs = [sqsSession(partOf())].filter((one) => one !== undefined)
    for (const one of sqs) splits.shown.set(name, one)
    const shown = yield* cluster.operator?.describe ?? Effect.die("no operator")
    assert.deepStrictEqual(
      asObjects(at(shown, "status", "sessions")).map((session) => session["sqs"]),
      [sqs]
    )
  })

  it.effect("is over with a sentence if its queues are not split after all", function* () {
    const { certificate, cluster, splits } = yield* single()
    const connect = yield* Effect.forkChild(connectTo(cluster, asking(certificate, named)), { startImmediately: true })
    yield* pass("1 second")
    splits.become(failed)
    const refused = refusedWith(yield* Fiber.join(connect))
    assert.deepInclude(refused, { code: 409, reason: "Conflict", message: sentence })
    yield* pass("1 second")
    assert.deepStrictEqual(sessionsOf(cluster), [])
    assert.deepStrictEqual(cluster.agentPods, [])
  })

  it.effect("ends its clients when its queues are not split any more, and lets none in again", function* () {
    const { certificate, channel, cluster, splits } = yield* running()
    splits.become({ _tag: "Pending", message: "The split is being read." })
    yield* pass("1 second")
    assert.isUndefined(channel.ended())
    // No status can be written that would say so.
    cluster.api.before = ({ subresource }) => (subresource === "status" ? Effect.never : Effect.void)
    splits.become(failed)
    yield* pass("1 second")
    assert.isDefined(channel.ended())
    assert.deepStrictEqual(channel.got.at(-1), { _tag: "Close", value: sentence })
    const refused = refusedWith(yield* connectTo(cluster, asking(certificate, named)))
    const message = `The session cannot go on: ${sentence}`
    assert.deepInclude(refused, { code: 410, reason: "ReconnectNotPossible", message })
  })

  it.effect("is refused if the split cannot be ordered, and is gone then", function* () {
    const { certificate, cluster, splits } = yield* single()
    splits.refusal = new ApiError({ code: 500, reason: "InternalError", message: "The split cannot be made." })
    const refused = refusedWith(yield* Effect.scoped(connectTo(cluster, asking(certificate, named))))
    assert.strictEqual(refused.message, "The split cannot be made.")
    yield* pass("1 second")
    assert.deepStrictEqual(sessionsOf(cluster), [])
  })

  it.effect("has the time that a restart of pods takes, however short that of other sessions is", function* () {
    const splits = new MemorySplits()
    const capabilities = withBranches("primary", memoryBranches(), splits.layer("primary"))
    const settings = { managementOnly: false, remoteSessionTimeoutSecs: 60 }
    const { certificate, world } = yield* startWorld(settings, { capabilities })
    const wanted = asking(certificate, { ...named, multi_cluster: "false" })
    const connecting = Effect.result(openConnection(world.primary, wanted))
    const connect = yield* Effect.forkChild(connecting, { startImmediately: true })
    for (let seconds = 0; seconds < 170; seconds += 10) yield* pass("10 seconds")
    assert.isUndefined(connect.pollUnsafe())
    yield* pass("20 seconds")
    assert.include(refusedWith(yield* Fiber.join(connect)).message, "was not ready within 180 s")
    assert.strictEqual(patienceOf(300, { params: Result.getOrThrow(parseConnectQuery(wanted.query)) }), 300)
  })

  it.effect("by `mirrord up` is one without splits where there is no queue, and stays so", function* () {
    const { certificate, cluster, splits } = yield* single()
    splits.isThere = false
    opened(yield* connectTo(cluster, asking(certificate, automatic)))
    yield* pass("15 seconds")
    opened(yield* connectTo(cluster, asking(certificate, automatic)))
    assert.deepStrictEqual(splits.log, ["check myapp"])
    const refused = refusedWith(yield* connectTo(cluster, asking(certificate, named)))
    assert.strictEqual(refused.code, 410)
    assert.include(refused.message, "has begun without the queues that the request names")
  })
})

describe("a connect", () => {
  const bad = badRequest("No MirrordSplitConfig is for it.")
  const copy = { isCopy: true, target: "copy" }
  it.effect.each<[string, Readonly<Record<string, string>>, Parameters<typeof request>[1], string]>([
    ["the split is impossible", named, {}, "No MirrordSplitConfig is for it."],
    ["its target has no queues", named, { target: "pod.myapp-1" }, 'and the target is "pod/myapp-1"'],
    ["a mode is none", { queue_modes: '{"orders":"copy"}' }, {}, 'The queue "orders" has the mode "copy"'],
    ["it is for a copy", named, copy, "does not serve queue splitting for SQS (connect parameter sqs_splits)"],
    ["it gives queues", { sqs_output_queues: '{"a":"b"}' }, {}, "does not serve queue splitting for temporary queues"]
  ])("is refused before there is a session if %s", function* ([, params, change, told]) {
    const { certificate, cluster, splits } = yield* single()
    splits.isThere = bad
    const { code, message } = refusedWith(yield* connectTo(cluster, asking(certificate, params, change)))
    assert.strictEqual(code, 400)
    assert.include(message, told)
    assert.deepStrictEqual(sessionsOf(cluster), [])
    assert.notInclude(splits.log, `order ${name}`)
  })
})
