import { Result } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { readCopyRequest } from "../../../src/domain/copies/copy-request.ts"

const read = (spec: unknown) => readCopyRequest({ metadata: { name: "deploy.x" }, spec })
const usual = {
  idle_ttl: 30,
  scale_down: false,
  split_queues: null,
  exclude_containers: [],
  exclude_init_containers: []
}
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
    [
      "queues",
      { ...usual, target: { pod: "x" }, split_queues: { orders: { queue_type: "SQS" } } },
      "does not serve queue splitting"
    ],
    ["queues as a list", { ...usual, target: { pod: "x" }, split_queues: [{ queue_id: "a" }] }, "feature.split_queues"]
  ])("with %s is refused with a sentence", (_what, spec, text) => {
    expect(refusal(spec)).toContain(text)
    expect(refusal(spec).endsWith(".")).toBe(true)
  })

  it("leaves out the splits that mirrord up adds by itself", () => {
    const spec = { ...usual, target: { pod: "x" }, split_queues: { "*": {} }, auto_queue_splitting: true }
    expect(Result.isSuccess(read(spec))).toBe(true)
  })

  it("never throws, whatever is sent", () => {
    fc.assert(fc.property(fc.jsonValue(), (body) => void readCopyRequest(body)))
    fc.assert(fc.property(fc.jsonValue(), (target) => void read({ ...usual, target })))
  })
})
