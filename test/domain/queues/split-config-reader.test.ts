import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { propertyListsOf, readSplitConfig } from "../../../src/domain/queues/split-config-reader.ts"
import { failureOf, patterns, splitConfig, sqs } from "./split-objects.ts"

const redacted = (properties: Readonly<Record<string, string>>) =>
  new Map(Object.entries(properties).map(([name, value]) => [name, Redacted.make(value)]))
const read = (spec: object, lists: Readonly<Record<string, Readonly<Record<string, string>>>> = {}) =>
  readSplitConfig(
    splitConfig(spec),
    new Map(Object.entries(lists).map(([name, properties]) => [name, redacted(properties)])),
    patterns
  )
const named = { env: "Q" }
const withList = { queues: [{ ...sqs("orders", named), queueConfig: "options" }] }

describe("a split config", () => {
  it("has the documented defaults where it says nothing", () => {
    expect(Result.getOrThrow(read({ queues: [sqs("orders", named)] }))).toEqual({
      origin: 'MirrordSplitConfig "splits"',
      queues: [
        {
          id: "orders",
          sources: [
            {
              variable: { _tag: "Named", name: "Q", fallback: undefined },
              form: { _tag: "Whole" },
              containers: undefined
            }
          ],
          sns: false,
          s3Event: false,
          tags: {},
          jqTimeLimitMillis: 200
        }
      ],
      unserved: [],
      drainSeconds: undefined,
      ttlSeconds: 0,
      restart: { strategy: undefined, timeoutSeconds: 60, waitForPods: 1 },
      nameTemplate: undefined
    })
  })

  it("has its own times, where 0 is not the same as none", () => {
    const restart = { strategy: "isolatePods", timeout: 5, waitForPods: "all" }
    expect(Result.getOrThrow(read({ drainTimeout: 0, ttl: 30, restart, tmpNameTemplate: "mirrord-x" }))).toMatchObject({
      drainSeconds: 0,
      ttlSeconds: 30,
      restart: { strategy: "isolatePods", timeoutSeconds: 5, waitForPods: "all" },
      nameTemplate: "mirrord-x"
    })
  })

  it.each([
    ["a name", { ...named, fallback: "old", containers: ["app"] }, { containers: ["app"] }],
    ["a name and an empty list of containers", { ...named, containers: [] }, { containers: undefined }],
    ["a fallback", { ...named, fallback: "old" }, { variable: { _tag: "Named", name: "Q", fallback: "old" } }],
    ["a pattern of names", { envLike: "^Q" }, { variable: { _tag: "Like", pattern: "^Q" } }],
    ["every text of an object", { ...named, valueSelector: " .[] " }, { form: { _tag: "JsonMap" } }],
    ["another program", { ...named, valueSelector: ".a" }, { form: { _tag: "Jq", program: ".a" } }],
    ["a part", { ...named, valuePattern: "q=(.*)" }, { form: { _tag: "Part", pattern: "q=(.*)" } }]
  ])("reads variables by %s", (_, reference, source) => {
    const { queues } = Result.getOrThrow(read({ queues: [sqs("orders", reference)] }))
    expect(queues[0]?.sources[0]).toMatchObject(source)
  })

  it("keeps queues of other brokers aside, without their lists, also under the same id", () => {
    const kafka = { id: "orders", kind: "kafka", appConfig: {}, queueConfig: "other", clientConfig: "login" }
    const spec = { queues: [kafka, ...withList.queues, { ...sqs("more", named), queueConfig: "options" }] }
    expect(propertyListsOf(splitConfig(spec))).toEqual(["options"])
    expect(Result.getOrThrow(read(spec)).unserved).toEqual([{ id: "orders", kind: "kafka" }])
  })

  it("takes options from the queue's list, and leaves other properties alone", () => {
    const options = { sns: "false", s3_event: "true", tags: '{"team":"a"}', jq_time_limit: "50", url: "x" }
    expect(Result.getOrThrow(read(withList, { options })).queues[0]).toMatchObject({
      sns: false,
      s3Event: true,
      tags: { team: "a" },
      jqTimeLimitMillis: 50
    })
  })

  it.each([
    [{ sns: "secret" }, 'sns that is neither "true" nor "false"'],
    [{ s3_event: "1" }, 's3_event that is neither "true" nor "false"'],
    [{ tags: "secret" }, "tags that is no JSON object of texts"],
    [{ tags: '["a"]' }, "tags that is no JSON object of texts"],
    [{ tags: '{"a":1}' }, "tags that is no JSON object of texts"],
    [{ jq_time_limit: "0" }, "jq_time_limit that is no number of milliseconds above 0"],
    [{ jq_time_limit: "1e9" }, "jq_time_limit that is no number of milliseconds above 0"]
  ])("refuses the property %j without its value", (options, problem) => {
    expect(failureOf(read(withList, { options }))).toBe(`The MirrordPropertyList "options" has a property ${problem}.`)
  })

  it.each([
    ["no variable", {}, "has neither a name nor a pattern of its variable"],
    ["a name and a pattern", { env: "A", envLike: "B" }, "has both a name and a pattern of its variable"],
    ["a fallback of a pattern", { envLike: "A", fallback: "old" }, "has a fallback for a pattern"],
    ["a broken pattern", { envLike: "(" }, "has a pattern of variables that cannot be used: ( is no pattern."],
    [
      "a pattern without a group",
      { env: "A", valuePattern: "q=.*" },
      "has a valuePattern that cannot be used: it has no"
    ],
    ["two ways to a name", { env: "A", valuePattern: "(a)", valueSelector: ".a" }, "has both valuePattern and"]
  ])("refuses %s by the queue's name", (_, reference, problem) => {
    expect(failureOf(read({ queues: [sqs("orders", reference)] }))).toContain(
      `The queue "orders" of MirrordSplitConfig "splits" ${problem}`
    )
  })

  it.each([
    ["no reference", { queues: [{ ...sqs("a", named), appConfig: {} }] }, "names no variable"],
    ["an id twice", { queues: [sqs("a", named), sqs("a", { env: "B" })] }, 'has the queue "a" twice'],
    ["a login of a queue", { queues: [{ ...sqs("a", named), clientConfig: "login" }] }, 'has the clientConfig "login"'],
    ["a login", { queues: [sqs("a", named)], clientConfigs: { sqs: "login" } }, 'has the clientConfig "login"'],
    ["a newer strategy", { restart: { strategy: "unknown" } }, 'spec.restart.strategy is "unknown"'],
    ["a share of pods", { restart: { waitForPods: "50%" } }, 'spec.restart.waitForPods is "50%"'],
    ["fewer than no pods", { restart: { waitForPods: -1 } }, 'spec.restart.waitForPods is "-1"']
  ])("refuses %s", (_, spec, problem) => {
    expect(failureOf(read(spec))).toContain(problem)
  })
})
