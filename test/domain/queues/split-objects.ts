import * as Result from "effect/Result"
import { isObject } from "../../../src/domain/json.ts"
import type { QueueReference, ReadReference } from "../../../src/domain/queues/queue-references.ts"
import type { PatternCompiler } from "../../../src/domain/queues/split-configuration.ts"
import { mirrordSplitConfigs } from "../../../src/domain/resources/queues/mirrord-split-config.ts"
import { mirrordWorkloadQueueRegistries } from "../../../src/domain/resources/queues/mirrord-workload-queue-registry.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"

export const failureOf = <E>(result: Result.Result<unknown, E>): E => Result.getOrThrow(Result.flip(result))

const compiled = (pattern: string): Result.Result<RegExp, string> =>
  Result.try({ try: () => new RegExp(pattern, "du"), catch: () => `${pattern} is no pattern` })

/** JavaScript's own patterns. */
export const patterns: PatternCompiler = {
  matcher: (pattern) => Result.map(compiled(pattern), (expression) => (text) => expression.test(text)),
  finder: (pattern, names) =>
    Result.flatMap(compiled(pattern), (expression) => {
      if (!/\((?!\?:)/u.test(pattern)) return Result.fail("it has no group")
      return Result.succeed((text) => {
        const { groups, [1]: first } = expression.exec(text)?.indices ?? []
        const span = names.map((name) => groups?.[name]).find((one) => one !== undefined) ?? first
        return span === undefined ? undefined : { start: span[0], end: span[1] }
      })
    })
}

/** A name, or a URL that ends in one. */
export const readReference: ReadReference = (text) => {
  const cut = text.lastIndexOf("/") + 1
  const reference: QueueReference = { text, name: text.slice(cut), renamed: (name) => text.slice(0, cut) + name }
  return /^[-_A-Za-z0-9]+(?:\.fifo)?$/u.test(reference.name) ? Result.succeed(reference) : Result.fail("it is no name")
}

/** A split config of the deployment `shop`. */
export const splitConfig = (spec: object, name = "splits") => {
  const targetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "shop" }
  const object = { metadata: { name }, spec: { targetRef, queues: [], ...spec } }
  return Result.getOrThrow(readResource(mirrordSplitConfigs, object))
}

/** A queue of a split config whose name is in one variable. */
export const sqs = (id: string, reference: object) => ({ id, kind: "sqs", appConfig: { queue: [reference] } })

/** A registry of the deployment `shop`. */
export const registry = (queues: object, more: object = {}, name = "registry") => {
  const { container, ...spec } = { container: undefined, ...more }
  const consumer = { name: "shop", workloadType: "Deployment", ...(container === undefined ? {} : { container }) }
  const object = { metadata: { name }, spec: { queues, consumer, ...spec } }
  return Result.getOrThrow(readResource(mirrordWorkloadQueueRegistries, object))
}

/** A pod template of containers by name; each is its `env`, or has `env` and `envFrom`. */
export const template = (containers: Readonly<Record<string, object>>, initContainers: ReadonlyArray<object> = []) => ({
  spec: {
    containers: Object.entries(containers).map(([name, one]) => ({
      name,
      ...(isObject(one) ? one : { env: one })
    })),
    initContainers
  }
})
