/** Refusals of a connect before there is a session, and workloads in which `mirrord up` finds no queue to split. */

import { assert, describe } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { WantedSplit } from "../../../src/domain/queues/wanted-split.ts"
import { splitConfig, sqs } from "../../domain/queues/split-objects.ts"
import { it } from "../../support/effect-it.ts"
import { ResolveWorld } from "./resolve-world.ts"

/** Three containers, two of which read a queue each. */
const world = (change: Partial<Pick<ResolveWorld, "configs" | "spec">> = {}, workload: object = {}): ResolveWorld => {
  const made = new ResolveWorld()
  made.configs = [splitConfig({ queues: [sqs("a", { env: "A" }), sqs("b", { env: "B" })] })]
  made.containers({ app: [{ name: "A", value: "orders" }], side: [{ name: "B", value: "refunds" }], tool: [] })
  made.workload = { ...made.workload, ...workload }
  return Object.assign(made, change)
}
/** Filters by ids: programs of jq, or patterns. */
const filters = (all: Readonly<Record<string, string | Readonly<Record<string, string>>>>): WantedSplit["filters"] =>
  new Map(
    Object.entries(all).map(([id, one]) => [
      id,
      typeof one === "string" ? { attributes: {}, program: one } : { attributes: one, program: undefined }
    ])
  )
const all = { "*": ".MessageAttributes != null" }
const kafka = splitConfig({ queues: [{ id: "k", kind: "kafka", appConfig: {} }] })

describe("a wanted split", () => {
  it.live.each(["app", undefined])("is possible for the container %s, which is named or chosen", function* (container) {
    const found = yield* world({}, { container }).check({ filters: filters({ a: { Key: "x" } }), isAutomatic: false })
    assert.deepInclude(found, { _tag: "Success", success: true })
  })

  it.live.each([
    ["all queues", world(), true],
    ["no configuration", world({ configs: [] }), false],
    ["no queue of SQS", world({ configs: [kafka] }), false],
    ["no pods of its own", world({}, { kind: "service" }), false],
    ["no queue of its container", world({}, { container: "tool" }), false]
  ] as const)("of `mirrord up` with %s", function* ([, made, isSplit]) {
    const found = yield* made.check({ filters: filters(all), isAutomatic: true })
    assert.deepInclude(found, { _tag: "Success", success: isSplit })
  })

  it.live.each([
    [all, world({ spec: {} }), true, 400, 'The Deployment "shop" has no pod template'],
    [all, world({ configs: [] }), false, 404, "there is none at all"],
    [{ b: "true" }, world(), false, 400, 'The container "app" of this session does not read the queue "b"'],
    [{ a: { Key: "(" } }, world(), false, 400, 'The queue "a": The filter of the attribute "Key" cannot be used'],
    [{ a: "env" }, world(), false, 400, 'The queue "a": The jq filter uses env, which'],
    [{ a: ".[" }, world(), false, 400, 'The queue "a": The jq filter cannot be used: syntax error']
  ] as const)("is refused: %j", function* ([wanted, made, isAutomatic, code, why]) {
    const found = yield* made.check({ filters: filters(wanted), isAutomatic })
    const refused = yield* Effect.fromResult(Result.flip(found))
    assert.strictEqual(refused.code, code)
    assert.include(refused.why, why)
  })
})
