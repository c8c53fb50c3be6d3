import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { readQueueRegistry } from "../../../src/domain/queues/queue-registry-reader.ts"
import { readSplitConfig } from "../../../src/domain/queues/split-config-reader.ts"
import { failureOf, patterns, registry, splitConfig, sqs } from "./split-objects.ts"

const read = (queues: object, more: object = {}) => readQueueRegistry(registry(queues, more), 60, patterns)
const orders = { queueType: "SQS", nameSource: { envVar: "Q" } }

describe("a registry", () => {
  it("says the same as a split config by other names", () => {
    const options = { sns: true, s3Event: null, tags: { team: "a" }, fallbackName: "{}", namesFromJsonMap: true }
    const old = Result.getOrThrow(
      read(
        {
          a: { ...orders, ...options },
          b: { queueType: "SQS", nameSource: { regexPattern: "^B" } },
          c: { queueType: "RMQ" }
        },
        { container: "app" }
      )
    )
    expect(old).toMatchObject({
      origin: 'MirrordWorkloadQueueRegistry "registry"',
      queues: [
        { id: "a", sns: true, s3Event: false, tags: { team: "a" }, jqTimeLimitMillis: 200 },
        { id: "b", sns: false, s3Event: false, tags: {}, jqTimeLimitMillis: 200 }
      ],
      unserved: [{ id: "c", kind: "rmq" }],
      drainSeconds: 60,
      ttlSeconds: 0,
      restart: { strategy: undefined, timeoutSeconds: 120, waitForPods: 1 }
    })
    const queues = [
      sqs("a", { env: "Q", fallback: "{}", valueSelector: ".[]", containers: ["app"] }),
      sqs("b", { envLike: "^B", containers: ["app"] })
    ]
    const sources = Result.getOrThrow(readSplitConfig(splitConfig({ queues }), new Map(), patterns)).queues
    expect(JSON.stringify(old.queues.map((queue) => queue.sources))).toBe(
      JSON.stringify(sources.map((queue) => queue.sources))
    )
  })

  it("has its own time for the restart, and all containers where it names none", () => {
    const { queues, restart } = Result.getOrThrow(read({ a: orders }, { workloadRestartTimeout: 7 }))
    expect(restart.timeoutSeconds).toBe(7)
    expect(queues[0]?.sources[0]?.containers).toBeUndefined()
  })

  it.each([
    [{ queueType: "SQS" }, "cannot be read: nameSource:"],
    [{ ...orders, tags: { a: 1 } }, "cannot be read: tags.a:"],
    [{ ...orders, sns: "true" }, "cannot be read: sns:"],
    [{ ...orders, nameSource: {} }, "has neither a name nor a pattern"],
    [{ ...orders, nameSource: { regexPattern: "(" } }, "has a pattern of variables that cannot be used"]
  ])("refuses %j", (queue, problem) => {
    expect(failureOf(read({ a: queue }))).toContain(
      `The queue "a" of MirrordWorkloadQueueRegistry "registry" ${problem}`
    )
  })
})
