/** docs/operating/queues.md: its examples are ones that the operator takes, and its policy allows what it calls. */

import { readFileSync } from "node:fs"
import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { parseAllDocuments } from "yaml"
import { asArray, asObject, asObjects, asString, at } from "../../src/domain/json.ts"
import { readMessageFilter } from "../../src/domain/queues/message-filter.ts"
import { resolveProperties } from "../../src/domain/queues/property-list.ts"
import { readQueueRegistry } from "../../src/domain/queues/queue-registry-reader.ts"
import { propertyListsOf, readSplitConfig } from "../../src/domain/queues/split-config-reader.ts"
import { temporaryQueueName } from "../../src/domain/queues/temporary-queue-name.ts"
import { mirrordPropertyLists } from "../../src/domain/resources/queues/mirrord-property-list.ts"
import { mirrordSplitConfigs } from "../../src/domain/resources/queues/mirrord-split-config.ts"
import { mirrordWorkloadQueueRegistries } from "../../src/domain/resources/queues/mirrord-workload-queue-registry.ts"
import { apiVersionOf, readResource, type ResourceDescriptor } from "../../src/domain/resources/resource-descriptor.ts"
import { patterns } from "../domain/queues/split-objects.ts"

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")
const page = read("docs/operating/queues.md")

const blocks = (language: string): ReadonlyArray<string> =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gmsu"))].map(([, text = ""]) => text)
const manifests = blocks("yaml")
  .flatMap((text) => parseAllDocuments(text))
  .map((document): unknown => document.toJS())
const [policy, mirrordJson] = blocks("json").map((text): unknown => JSON.parse(text))

/** The page's object of a kind. */
const example = <A>(kind: ResourceDescriptor<A> & { readonly kind: string }): A => {
  const found = asObject(manifests.find((one) => at(one, "kind") === kind.kind))
  expect(found["apiVersion"]).toBe(apiVersionOf(kind))
  const { metadata, ...rest } = found
  return Result.getOrThrow(readResource(kind, { ...rest, metadata: { name: "", ...asObject(metadata) } }))
}

const splitConfig = () => {
  const object = example(mirrordSplitConfigs)
  const list = example(mirrordPropertyLists)
  expect(propertyListsOf(object)).toEqual([list.metadata.name])
  const objects = { configMaps: new Map(), secrets: new Map() }
  const properties = Result.getOrThrow(resolveProperties({ list, namespace: "shop" }, objects))
  return Result.getOrThrow(readSplitConfig(object, new Map([[list.metadata.name, properties]]), patterns))
}

describe("the examples of configurations", () => {
  it("are read as their table says", () => {
    expect(splitConfig()).toMatchObject({
      queues: [
        { id: "new-orders", sns: true, tags: { team: "shop" } },
        { id: "refunds", sources: [{ containers: ["worker"], form: { _tag: "Jq", program: ".refunds" } }] }
      ],
      drainSeconds: 900,
      ttlSeconds: 600,
      restart: { timeoutSeconds: 120, waitForPods: 1 }
    })
  })

  it("say the same of one queue in both kinds", () => {
    const [queue] = splitConfig().queues
    const registry = Result.getOrThrow(readQueueRegistry(example(mirrordWorkloadQueueRegistries), 60, patterns))
    const [{ sources: _, ...own } = expect.fail("no queue")] = registry.queues
    expect(queue).toMatchObject(own)
  })
})

describe("the example of a session", () => {
  const wanted = Object.entries(asObject(at(mirrordJson, "feature", "split_queues")))

  it("names queues of the configuration, with filters that can be used", () => {
    expect(wanted.map(([id]) => id)).toEqual(splitConfig().queues.map(({ id }) => id))
    for (const [, queue] of wanted) {
      const attributes = Object.fromEntries(
        Object.entries(asObject(at(queue, "message_filter"))).map(([name, pattern]) => [name, String(pattern)])
      )
      const program = asString(at(queue, "jq_filter"))
      expect(Result.isSuccess(readMessageFilter({ attributes, program }))).toBe(true)
    }
  })
})

describe("the policy of AWS", () => {
  const statements = asObjects(at(policy, "Statement"))
  const actionsOf = (sid: string) =>
    asArray(statements.find(({ Sid }) => Sid === sid)?.["Action"]).map((action) => String(action))

  it("allows the calls of the operator, and no others", () => {
    const calls = [...read("src/adapters/aws/sqs-queues.ts").matchAll(/\bsqs\.(\w+)\(/gu)].map(
      ([, name = ""]) => `sqs:${name.charAt(0).toUpperCase()}${name.slice(1).replace(/Batch$/u, "")}`
    )
    // A queue is made with its tags.
    expect(new Set(statements.flatMap(({ Sid }) => actionsOf(String(Sid))))).toEqual(
      new Set([...calls, "sqs:TagQueue"])
    )
  })

  it("has a row for each action on each sort of queue, which says what is lost without it", () => {
    const rows = page.split("\n").flatMap((line) => {
      const [, actions = "", queues = ""] = /^\| ((?:`sqs:\w+`(?:, )?)+) \| ([^|]+) \|/u.exec(line) ?? []
      const names = [...actions.matchAll(/`(\w+:\w+)`/gu)].map(([, name = ""]) => name)
      const sorts = queues === "both" ? ["originals", "temporary queues"] : [queues]
      return names.flatMap((name) => sorts.map((sort) => `${name} ${sort}`))
    })
    const allowed = [
      ...actionsOf("Originals").map((action) => `${action} originals`),
      ...actionsOf("Temporary").map((action) => `${action} temporary queues`)
    ]
    expect(rows.toSorted()).toEqual(allowed.toSorted())
  })

  it("covers the names of all temporary queues", () => {
    const resource = String(statements.find(({ Sid }) => Sid === "Temporary")?.["Resource"])
    const start = /:([^:*]+)\*$/u.exec(resource)?.[1] ?? expect.fail(resource)
    for (const template of [undefined, "{{RANDOM}}{{FALLBACK}}{{ORIGINAL}}"]) {
      const parts = { original: "orders", random: "0a", template, sha256Hex: () => "" }
      expect(Result.getOrThrow(temporaryQueueName({ ...parts, role: "main" })).startsWith(start)).toBe(true)
    }
  })
})
