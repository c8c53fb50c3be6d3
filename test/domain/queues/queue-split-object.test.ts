import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { queueSplitColumns, type ShownSplit } from "../../../src/domain/queues/queue-split-object.ts"
import { queueSplits } from "../../../src/domain/resources/queues/queue-split.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import type { Requirement } from "../../../src/domain/sessions/requirement.ts"
import { createdAt, owner, pod, servedSplit } from "../../support/queue-split.ts"

const pending: Requirement = { _tag: "Pending", message: "Queues are being made." }
const failed: Requirement = {
  _tag: "Failed",
  failure: { reason: "QueuesNotSplit", message: "There is\nno queue.", code: 404 }
}
const readyPod = pod("a", "split", true)
const podsLeft = { phase: "Pending", message: expect.stringMatching(/^Not every pod/u) }

describe("a QueueSplit", () => {
  it("says all that a client has to know of a session's part, and of every id of the configuration", () => {
    expect(servedSplit({ pods: [readyPod, pod("b", "other", true)] })).toEqual({
      apiVersion: "operator.metalbear.co/v1",
      kind: "QueueSplit",
      metadata: {
        name: "00000000000000ff.consumer.deployment",
        namespace: "shop",
        uid: "part",
        creationTimestamp: createdAt
      },
      spec: {
        session: "00000000000000FF",
        target: { apiVersion: "apps/v1", kind: "Deployment", name: "consumer", container: "app" },
        owner,
        filters: [
          { id: "orders", queueType: "sqs", messageFilter: { to: "^ann$" } },
          { id: "refunds", queueType: "sqs", messageFilter: {}, jqFilter: ".a" }
        ]
      },
      status: {
        ...podsLeft,
        queues: [
          { id: "orders", type: "sqs", queue: "https://sqs/1/orders" },
          { id: "refunds", type: "sqs", queue: "refunds" },
          { id: "r2", type: "sqs", queue: "refunds" }
        ],
        targetPods: [
          { name: "a", patched: true, ready: true },
          { name: "b", patched: false, ready: true }
        ]
      }
    })
  })

  it.each<[string, Partial<ShownSplit>, object]>([
    ["each pod takes part", { pods: [readyPod, pod("gone", "other", true, true)] }, { phase: "Ready" }],
    ["there is no pod", {}, { phase: "Ready" }],
    ["a pod is not ready", { pods: [pod("a", "split", false)] }, podsLeft],
    ["the split is not known", { split: undefined, pods: [readyPod] }, podsLeft],
    [
      "its queues are not there",
      { requirement: pending, pods: [readyPod] },
      { phase: "Pending", message: pending.message }
    ],
    ["it failed", { requirement: failed, pods: [readyPod] }, { phase: "Failed", message: "There is no queue." }]
  ])("has the phase of a session when %s", (_when, change, status) => {
    const found = servedSplit(change)
    const { queues: _queues, targetPods: _pods, ...rest } = found.status
    expect(rest).toEqual(status)
    expect(Result.isSuccess(readResource(queueSplits, found))).toBe(true)
  })

  it("has a row for kubectl", () => {
    const columns = queueSplitColumns(Date.parse(createdAt) + 90_000)
    const split = servedSplit({ pods: [readyPod, pod("b", "other", true)] })
    expect(columns.slice(1, -1).map(({ cell }) => cell(split))).toEqual([
      "ann/ann@x@laptop",
      "Deployment/consumer",
      "Pending",
      "1/2",
      "1m30s"
    ])
  })
})
