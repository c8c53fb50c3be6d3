import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { sqsSession } from "../../../src/domain/queues/sqs-session.ts"
import type { MirrordClusterSplitSession } from "../../../src/domain/resources/queues/mirrord-cluster-split-session.ts"
import { mirrordSqsSessions } from "../../../src/domain/resources/queues/queue-sessions.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"
import { partOf, place } from "../../support/queue-split.ts"

const resources = {
  envUpdates: {},
  tmpResources: [
    { queueId: "orders", queue: { "a::b": "tmp-b" } },
    { queueId: "refunds", queue: { refunds: "tmp-refunds" } }
  ]
}
const queueNames = {
  "orders::a::b": { originalName: "a::b", outputName: "tmp-b" },
  "refunds::refunds": { originalName: "refunds", outputName: "tmp-refunds" }
}
const error = { code: 404, reason: "x", message: "There is no queue." }

describe("a MirrordSQSSession", () => {
  it.each<[string, MirrordClusterSplitSession["status"], object]>([
    ["new", null, { Starting: { start_time_utc: "2026-11-28T11:00:00.000Z" } }],
    ["with queues", { resourcesReady: resources }, { RegisteringFilters: { queueNames, envUpdates: {} } }],
    ["ready", { ready: resources }, { Ready: { queueNames, envUpdates: {} } }],
    ["failed", { startError: error }, { StartError: { statusCode: 404, reason: "There is no queue." } }]
  ])("is whole for a session that is %s", (_how, status, expected) => {
    const found = sqsSession(partOf(status))
    expect(found?.status).toEqual(expected)
    expect(found?.spec).toEqual({
      queueFilters: { orders: { to: "^ann$" }, refunds: {} },
      queueJqFilters: { refunds: ".a" },
      queueConsumer: { name: "consumer", container: "app", workloadType: "Deployment" },
      sessionId: "00000000000000FF"
    })
    expect(found !== undefined && Result.isSuccess(readResource(mirrordSqsSessions, found))).toBe(true)
  })

  it("exists for the kinds of workloads that it can name", () => {
    const kinds = (["rollout", "statefulset"] as const).map((kind) => sqsSession(partOf(null, { ...place, kind })))
    expect(kinds.map((found) => found?.spec.queueConsumer.workloadType)).toEqual(["Rollout", undefined])
  })
})
