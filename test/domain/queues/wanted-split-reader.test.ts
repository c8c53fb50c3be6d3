import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { namedQueues, type SplitPlace, wantedSplit } from "../../../src/domain/queues/wanted-split-reader.ts"
import { parseConnectQuery } from "../../../src/domain/sessions/connect-request.ts"
import { unservedFeatures } from "../../../src/domain/sessions/unserved-parameters.ts"
import { parseTargetPath } from "../../../src/domain/targets/target-path.ts"
import { failureOf } from "./split-objects.ts"

const paramsOf = (values: Readonly<Record<string, unknown>>) => {
  const entries = Object.entries(values).map(([name, value]): [string, string] => [
    name,
    typeof value === "string" ? value : JSON.stringify(value)
  ])
  return Result.getOrThrow(parseConnectQuery(new URLSearchParams(entries).toString()))
}
const reading = (
  values: Readonly<Record<string, unknown>>,
  path = "deployment/app",
  change: Partial<SplitPlace> = {}
) =>
  wantedSplit(paramsOf(values), {
    namespace: "shop",
    target: Result.getOrThrow(parseTargetPath(path)),
    isLink: false,
    ...change
  })
const read = (...args: Parameters<typeof reading>) => Result.getOrThrow(reading(...args))
const up = { up_session_info: { autoQueueSplitting: true } }
const any = { sqs_jq_filters: { "*": ".a" } }
const orders = { sqs_splits: { orders: { user: "^ann$" } } }

describe("the split that a connect asks for", () => {
  it("has the filters, the modes, the key and the workload", () => {
    const values = {
      sqs_splits: { orders: { user: "^ann$", team: "a" }, toString: { user: "bob" } },
      sqs_jq_filters: { orders: ".a", constructor: ".b" },
      queue_modes: { orders: "mirror", mails: "steal" },
      key: "ann\u001b"
    }
    const filters = new Map([
      ["orders", { attributes: { user: "^ann$", team: "a" }, program: ".a" }],
      ["toString", { attributes: { user: "bob" }, program: undefined }],
      ["constructor", { attributes: {}, program: ".b" }],
      ["mails", { attributes: {}, program: undefined }]
    ])
    const wanted = {
      workload: { namespace: "shop", kind: "rollout", name: "app", container: "web" },
      filters,
      modes: new Map([
        ["orders", "mirror"],
        ["mails", "steal"]
      ]),
      isAutomatic: false,
      sessionKey: "ann\u{fffd}",
      startedAt: undefined,
      isShared: false,
      given: undefined
    }
    expect(read(values, "rollout/app/container/web")).toEqual(wanted)
    expect(read({ ...orders, key: "" })).toMatchObject({ sessionKey: undefined, workload: { container: undefined } })
  })

  it.each<[string, Readonly<Record<string, unknown>>, boolean | undefined]>([
    ["no parameter", {}, undefined],
    ["empty ones", { sqs_splits: {}, sqs_jq_filters: {}, queue_modes: {} }, undefined],
    ["other brokers", { kafka_splits: { events: { user: "ann" } } }, undefined],
    ["any queue of `mirrord up`", { ...any, ...up, queue_modes: { "*": "mirror" } }, true],
    ["only its mode, which may be another broker's", { ...up, queue_modes: { "*": "mirror" } }, undefined],
    ["any queue of another command", any, false],
    ["any queue and one by its id", { ...any, ...up, ...orders }, false]
  ])("is automatic for %s: %#", (_, values, isAutomatic) => {
    expect(read(values)?.isAutomatic).toBe(isAutomatic)
    expect(namedQueues(paramsOf(values)).length > 0).toBe(isAutomatic !== undefined)
    // A wish that is read is no refusal, and one that is neither would be missing in silence.
    const served = unservedFeatures(paramsOf(values), { branches: false, sqs: true, isLink: false })
    expect(served).toHaveLength("kafka_splits" in values ? 1 : 0)
  })

  it.each(["pod/app-1", "statefulset/app", "job/app", "service/app", "label/app=a", "targetless"])(
    "is refused for %s, unless `mirrord up` asks for any queue",
    (path) => {
      expect(failureOf(reading(orders, path))).toBe(
        `Queues of SQS are split for a Deployment or a Rollout, and the target is "${path}": name one of these as ` +
          "the target, or take feature.split_queues out."
      )
      expect(failureOf(reading({ ...any, ...orders, ...up }, path))).toContain(`"${path}"`)
      expect(read({ ...any, ...up }, path)).toBeUndefined()
    }
  )

  it("has no mode but the two", () => {
    expect(failureOf(reading({ ...orders, queue_modes: { orders: "Mirror" } }))).toBe(
      'The queue "orders" has the mode "Mirror" (connect parameter queue_modes): name steal or mirror.'
    )
  })

  describe("has queues of the default cluster", () => {
    const made = {
      ...orders,
      sqs_output_queues: { orders: "tmp-1" },
      output_tmp_resources: [{ queueId: "o", queue: { orders: "tmp-1", bills: "tmp-2" } }, { queueId: "x" }]
    }
    const given = [
      { id: "o", original: "orders", queue: "tmp-1" },
      { id: "o", original: "bills", queue: "tmp-2" },
      { id: undefined, original: "orders", queue: "tmp-1" }
    ]

    it.each<[object, boolean, unknown]>([
      [{ is_default_cluster: false }, true, given],
      [{}, true, given],
      [{ is_default_cluster: true }, true, undefined],
      [{ is_default_cluster: false }, false, undefined]
    ])("%j, isLink %j", (values, isLink, found) => {
      expect(read({ ...made, ...values }, undefined, { isLink })?.given).toEqual(found)
    })

    it("none if none are named: the cluster may not make its own", () =>
      expect(read({ ...orders, is_default_cluster: false }, undefined, { isLink: true })?.given).toEqual([]))
  })
})
