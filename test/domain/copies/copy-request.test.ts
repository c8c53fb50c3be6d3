import { Result } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readCopyRequest } from "../../../src/domain/copies/copy-request.ts"
import { withSplits } from "../../../src/domain/copies/copy-splits.ts"
import { connectQuery, parseConnectQuery } from "../../../src/domain/sessions/connect-request.ts"
import { unservedFeatures } from "../../../src/domain/sessions/unserved-parameters.ts"

const read = (spec: unknown) => readCopyRequest({ metadata: { name: "deploy.x" }, spec })
const usual = {
  idle_ttl: 30,
  scale_down: false,
  split_queues: null,
  exclude_containers: [],
  exclude_init_containers: []
}
const queues = (split_queues: unknown) => ({ ...usual, target: { pod: "x" }, split_queues })
const refusal = (spec: unknown): string => Result.getOrThrow(Result.flip(read(spec)))

describe("a request for a copy", () => {
  it.each([
    [{ deployment: "x", container: null }, "deployment/x"],
    [{ deployment: "x", container: "c" }, "deployment/x/container/c"],
    [{ job: "x", container: null }, "job/x"],
    [{ cron_job: "x", container: null }, "cronjob/x"],
    [{ stateful_set: "x", container: null }, "statefulset/x"],
    [{ replica_set: "x", container: null }, "replicaset/x"],
    [{ rollout: "x", container: null }, "rollout/x"],
    [{ pod: "x", container: null }, "pod/x"]
  ])("is read for the target %j", (target, path) => {
    const spec = { ...usual, target, later: { field: 1 } }
    const request = Result.getOrThrow(read(spec))
    expect(request.path).toBe(path)
    expect(request.sent, "the client compares all of it").toEqual(spec)
  })

  it.each([
    ["no target", { ...usual, target: null }, "nothing to copy"],
    ["a service", { ...usual, target: { service: "x", container: null } }, "service/x has no pod template"],
    ["labels", { ...usual, target: { labels: { app: "x" } } }, "label/app=x has no pod template"],
    ["an unknown kind", { ...usual, target: { daemon_set: "x" } }, "spec.target: it must be null or an object"],
    ["two kinds", { ...usual, target: { pod: "x", job: "x" } }, "spec.target: it must be null or an object"],
    ["a name that is a path", { ...usual, target: { pod: "../x" } }, "cannot be the name of a Kubernetes object"],
    ["a scaled-down job", { ...usual, target: { job: "x" }, scale_down: true }, "job/x cannot be scaled down"],
    ["a scaled-down pod", { ...usual, target: { pod: "x" }, scale_down: true }, "pod/x cannot be scaled down"],
    ["an hour and a second", { ...usual, target: { pod: "x" }, idle_ttl: 3601 }, "kept for at most 3600 s"],
    ["a negative time", { ...usual, target: { pod: "x" }, idle_ttl: -1 }, "spec.idle_ttl"],
    [
      "its own container excluded",
      { ...usual, target: { pod: "x", container: "c" }, exclude_containers: ["c"] },
      "spec.exclude_containers excludes c"
    ],
    ["queues of a type of the future", queues({ a: { queue_type: "Nats" } }), 'The queue "a" is of the type "Nats"'],
    [
      "such a queue of its own beside mirrord up",
      { ...queues([{ queue_id: "a", queue_type: "Nats" }]), auto_queue_splitting: true },
      'The queue "a" is of the type "Nats"'
    ],
    ["a queue without a type", queues({ a: {} }), "spec.split_queues.a.queue_type: Missing key"],
    ["a queue without an id", queues([{ queue_type: "SQS" }]), "spec.split_queues[0].queue_id: Missing key"]
  ])("with %s is refused with a sentence", (_what, spec, text) => {
    expect(refusal(spec)).toContain(text)
    expect(refusal(spec).endsWith(".")).toBe(true)
  })

  const sqs = { queue_type: "SQS" }
  it.each([
    ["nothing", null, {}],
    ["no queue", [], {}],
    [
      "a map",
      { a: { ...sqs, message_filter: { user: "x" } }, b: { ...sqs, jq_filter: ".b", queue_mode: "mirror" } },
      { sqs_splits: { a: { user: "x" }, b: {} }, sqs_jq_filters: { b: ".b" }, queue_modes: { b: "mirror" } }
    ],
    [
      "a list with one id for two brokers",
      [
        { ...sqs, queue_id: "a", message_filter: null, jq_filter: null, queue_mode: null },
        { queue_id: "a", queue_type: "Kafka", jq_filter: ".a", queue_mode: "mirror", payload_protobuf: {} }
      ],
      { sqs_splits: { a: {} }, kafka_splits: { a: {} } }
    ]
  ])("names the queues of %s as a connect does", (_what, split_queues, values) =>
    expect(Result.getOrThrow(read(queues(split_queues))).splits.values).toEqual(values)
  )

  it.each(["Kafka", "RMQ", "GCPPubSub", "AzureServiceBus", "RedisPubSub", "Temporal", "BullMQ"])(
    "asks for queues of %s, which are not served, also without a filter",
    (queue_type) => {
      const { splits } = Result.getOrThrow(read(queues({ a: { queue_type } })))
      expect(unservedFeatures(splits, { branches: true, sqs: true, isLink: false })).toHaveLength(1)
    }
  )

  it("asks for any queue as mirrord up does, and leaves out types of the future", () => {
    const any = ["SQS", "Nats"].map((queue_type) => ({ queue_id: "*", queue_type, jq_filter: ".a" }))
    const { splits } = Result.getOrThrow(read({ ...queues(any), auto_queue_splitting: true }))
    const automatic = { up_session_info: { autoQueueSplitting: true } }
    expect(splits.values).toEqual({ sqs_splits: { "*": {} }, sqs_jq_filters: { "*": ".a" }, ...automatic })
    const connect = Result.getOrThrow(parseConnectQuery('connect=true&up_session_info={"autoQueueSplitting": true}'))
    const both = withSplits(connect, splits)
    expect(Result.getOrThrow(parseConnectQuery(connectQuery(both))), "a member can read it").toEqual(both)
  })

  it("never throws, whatever is sent", () => {
    fc.assert(fc.property(fc.jsonValue(), (body) => void readCopyRequest(body)))
    fc.assert(fc.property(fc.jsonValue(), (target) => void read({ ...usual, target })))
    fc.assert(fc.property(fc.jsonValue(), (split_queues) => void read(queues(split_queues))))
  })
})
