/** The splits of a primary's sessions in the clusters of its fleet, as the primary shows them. */

import { assert, describe } from "@effect/vitest"
import { Effect, Result } from "effect"
import { asObject, asObjects, at } from "../../../src/domain/json.ts"
import { isQueueName } from "../../../src/domain/queues/queue-name.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { childAnnotations, splitAnnotations } from "../../../src/domain/sessions/names.ts"
import { it } from "../../support/effect-it.ts"
import type { MemoryCall } from "../../support/memory-kube-api.ts"
import { begun, copy, passMinutes, type SplitFleet, splitFleet } from "./split-fleet.ts"

const operatorOf = ({ world: { primary } }: SplitFleet) => {
  if (primary.operator === undefined) throw new Error("no operator")
  return primary.operator
}

const queues = { a: "orders-eu", b: "orders-us" }
const nameIn = (cluster: string): string => `00000000000000ff.consumer.deployment.${cluster}`

const shown = (fleet: SplitFleet) =>
  Effect.map(operatorOf(fleet).listQueueSplits("shop"), (objects) =>
    objects.map(({ spec, status: { message, phase, queues: found, targetPods } }) => [
      spec.session,
      spec.cluster,
      phase,
      found.map(({ queue }) => queue).join(),
      targetPods.filter(({ patched, ready }) => patched && ready).length,
      ...(message === undefined ? [] : [message])
    ])
  )

const inA = ["00000000000000FF", "a", "Ready", "orders-eu", 2] as const
const inB = ["00000000000000FF", "b", "Ready", "orders-us", 2] as const

/** The queues of a session in the table of `mirrord operator status`, and temporary queues that have no name there. */
const table = (fleet: SplitFleet) =>
  Effect.map(operatorOf(fleet).describe, (object) =>
    asObjects(at(object, "status", "sessions")).flatMap((session) =>
      asObjects(session["sqs"]).map((one) => {
        const queues = Object.entries(asObject(at(one, "status", "Ready", "queueNames")))
        const nameless = queues.map(([, names]) => String(at(names, "outputName"))).filter((name) => !isQueueName(name))
        return [session["id"], queues.map(([key]) => key), ...nameless]
      })
    )
  )

describe("a primary", () => {
  it.effect("shows a session's split in each of its clusters, under one id", function* () {
    const fleet = yield* splitFleet({ queues })
    assert.deepStrictEqual(yield* shown(fleet), [])
    const { leave } = yield* begun(fleet)
    yield* passMinutes(1)
    assert.deepStrictEqual(yield* shown(fleet), [[...inA], [...inB]])
    assert.lengthOf(yield* operatorOf(fleet).listQueueSplits("other"), 0)
    const one = yield* operatorOf(fleet).queueSplit("shop", nameIn("b"))
    assert.deepStrictEqual(one.spec.filters, [{ id: "orders", queueType: "sqs", messageFilter: { to: "^ann$" } }])
    assert.deepStrictEqual(yield* table(fleet), [["FF", ["orders::orders-eu", "orders::orders-us"]]])

    fleet.a.member.api.write(mirrordClusterSessions, "mc-00000000000000ff-a", {
      metadata: { annotations: { [splitAnnotations.state]: '{"split":{"phase":"Ready"}}' } }
    })
    const { api } = fleet.b.member
    const isTelling = ({ body, plural, verb }: MemoryCall): boolean =>
      verb === "patch" && plural === mirrordClusterSessions.plural && at(body, "metadata", "annotations") !== undefined
    api.calls.length = 0
    yield* passMinutes(1)
    assert.isEmpty(api.calls.filter(isTelling))
    // One that cannot be read, and one of another primary's session.
    api.write(mirrordClusterSessions, "mc-00000000000000ff-c", { spec: { namespace: 7 } })
    const child = api.peek(mirrordClusterSessions, "mc-00000000000000ff-b")
    const annotations = { ...child?.metadata.annotations, [childAnnotations.parentUid]: "other" }
    api.write(mirrordClusterSessions, "mc-00000000000000ff-d", { metadata: { annotations }, spec: child?.["spec"] })
    yield* passMinutes(0.1)
    assert.include((yield* shown(fleet)).join(" "), "b,Ready,orders-us")
    yield* passMinutes(0.5)
    assert.deepStrictEqual(yield* shown(fleet), [[...inA], [...inB]])
    for (const end of ["c", "d"]) api.erase(mirrordClusterSessions, `mc-00000000000000ff-${end}`)

    api.setReachable(false)
    yield* passMinutes(1)
    const [, away] = yield* shown(fleet)
    assert.deepStrictEqual(away?.slice(0, 5), ["00000000000000FF", "b", "Pending", "orders-us", 2])
    assert.match(String(away?.[5]), /^Cluster b does not answer/u)
    api.setReachable(true)
    yield* passMinutes(2)
    yield* leave
    yield* passMinutes(3)
    assert.deepStrictEqual(yield* shown(fleet), [])
  })

  it.effect("shows the split of a session on a copy at the workload that was copied", function* () {
    const fleet = yield* splitFleet({ queues })
    yield* begun(fleet, {}, Result.getOrThrow(yield* copy(fleet)))
    yield* passMinutes(0.5)
    const parts = yield* operatorOf(fleet).listQueueSplits("shop")
    const { apiVersion, container, kind, name } = parts[0]?.spec.target ?? {}
    assert.deepStrictEqual([apiVersion, kind, name, container], ["apps/v1", "Deployment", "consumer", "app"])
    assert.deepStrictEqual(
      parts.map(({ metadata }) => metadata.name),
      [nameIn("a"), nameIn("b")]
    )
    assert.deepStrictEqual(yield* table(fleet), [["FF", ["orders::orders-eu", "orders::orders-us"]]])
  })

  it.effect("says why a cluster takes no part", function* () {
    const fleet = yield* splitFleet({ queues, splitting: ["primary", "a"] })
    yield* begun(fleet)
    yield* passMinutes(0.5)
    const [first, second] = yield* shown(fleet)
    assert.deepStrictEqual(first, [...inA])
    assert.deepStrictEqual(second?.slice(1, 5), ["b", "Failed", "", 0])
    assert.match(String(second?.[5]), /operator\.sqsSplitting/u)
  })

  it.effect("shows no split of a session of `mirrord up` that has none", function* () {
    const fleet = yield* splitFleet({ queues, configured: [] })
    yield* begun(fleet, {
      sqs_splits: JSON.stringify({ "*": {} }),
      queue_modes: JSON.stringify({ "*": "steal" }),
      up_session_info: JSON.stringify({ autoQueueSplitting: true })
    })
    yield* passMinutes(0.5)
    assert.deepStrictEqual([yield* shown(fleet), yield* table(fleet)], [[], []])
  })
})
