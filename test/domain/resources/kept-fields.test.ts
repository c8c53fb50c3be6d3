import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isObject, type JsonObject, setField } from "../../../src/domain/json.ts"
import { deployments, leases, pods } from "../../../src/domain/resources/core-kinds.ts"
import { customResources } from "../../../src/domain/resources/custom-resource-definitions.ts"
import { readMetadata, type StoredObject, weightOf } from "../../../src/domain/resources/kept-fields.ts"
import { readResource, type WatchedResource } from "../../../src/domain/resources/resource-descriptor.ts"
import { publishedKinds } from "../../compat/samples.ts"

const metadata = {
  name: "x",
  namespace: "default",
  uid: "u",
  resourceVersion: "7",
  labels: { a: "b" },
  annotations: { c: "d" },
  finalizers: ["e/f"],
  ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid: "q", controller: true }]
}
const pod = {
  metadata,
  spec: { nodeName: "n", containers: [{ name: "app" }] },
  status: {
    phase: "Running",
    podIP: "10.0.0.1",
    conditions: [{ type: "Ready", status: "False", message: "m" }],
    containerStatuses: [{ name: "app", ready: false, state: { terminated: { exitCode: 1, message: "why" } } }]
  }
}

/** Objects of all kinds that are kept, as clients write them. */
const examples: ReadonlyArray<readonly [string, WatchedResource<unknown>, StoredObject]> = [
  ["Pod", pods, pod],
  ["Deployment", deployments, { metadata, spec: { replicas: 2, selector: { matchLabels: { a: "b" } } } }],
  ["Lease", leases, { metadata, spec: { holderIdentity: "me", leaseDurationSeconds: 15 } }],
  ...customResources.flatMap(({ keeps, ...kind }) =>
    (keeps === undefined ? [] : publishedKinds)
      .filter(({ plural }) => plural === kind.plural)
      .flatMap(({ valid }) =>
        valid.map(({ name, spec, status }): (typeof examples)[number] => [
          `${kind.kind} ${name}`,
          { ...kind, keeps: keeps ?? ((object) => object) },
          { metadata, spec, ...(isObject(status) ? { status } : {}) }
        ])
      )
  )
]

/** The value with a field of anything in each of its objects. */
const swollen = (value: unknown, field: string, content: unknown): unknown => {
  if (Array.isArray(value)) return value.map((item) => swollen(item, field, content))
  if (!isObject(value)) return value
  const more: JsonObject = {}
  for (const [name, part] of Object.entries(value)) setField(more, name, swollen(part, field, content))
  if (!Object.hasOwn(more, field)) setField(more, field, content)
  return more
}

describe("the kept part of an object", () => {
  it.each(examples)("is read as the whole is, and is the same if taken twice: %s", (_name, kind, object) => {
    const { keeps } = kind
    const kept = keeps(object)
    expect(readResource(kind, kept)).toEqual(readResource(kind, object))
    expect(keeps(kept ?? object)).toEqual(kept)
    fc.assert(
      fc.property(fc.constantFrom("zz", "__proto__", "toString"), fc.jsonValue(), (field, content) => {
        const more = swollen(object, field, content) as StoredObject
        const part = keeps(more)
        expect(readResource(kind, part)).toEqual(readResource(kind, more))
        expect(keeps(part ?? more)).toEqual(part)
      })
    )
  })

  it("has no field that its kind does not name, and no copy of the object that kubectl has left", () => {
    const managed = { ...metadata, managedFields: [{ manager: "m" }], selfLink: "s" }
    const annotations = { c: "d", "kubectl.kubernetes.io/last-applied-configuration": "{}" }
    const spec = { nodeName: "n", containers: [{ name: "app", env: [{ name: "a", value: "b" }] }], volumes: [] }
    expect(
      pods.keeps({ apiVersion: "v1", kind: "Pod", metadata: { ...managed, annotations }, spec, extra: 1 })
    ).toEqual({ apiVersion: "v1", kind: "Pod", metadata, spec: { nodeName: "n", containers: [{ name: "app" }] } })
  })

  it("shares the parts of which all is kept", () => {
    const kept = pods.keeps({ ...pod, other: 1 })
    expect(kept?.["status"]).toBe(pod.status)
    expect(pods.keeps(pod)).toBe(pod)
  })

  it("has no content where its type is wrong, and stays unreadable", () => {
    const wrong = { metadata, spec: { nodeName: { a: ["x".repeat(1_000)] }, containers: "x".repeat(1_000) } }
    const kept = pods.keeps(wrong)
    expect(kept?.["spec"]).toEqual({ nodeName: {}, containers: "" })
    expect(Result.isFailure(readResource(pods, kept))).toBe(true)
  })
})

describe("the metadata of an object that developers make", () => {
  const names = { labels: ["a"], annotations: ["c"], longest: 4 }

  it("holds what is read, and neither labels, owners nor finalizers beyond", () => {
    const owner = metadata.ownerReferences[0]
    const labels = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`l${at}`, "x".repeat(63)]))
    const huge = {
      ...metadata,
      labels: { ...labels, a: "b" },
      annotations: { c: "x".repeat(200_000), other: "y".repeat(50_000) },
      finalizers: Array.from({ length: 5_000 }, (_, at) => `example.com/${at}`),
      ownerReferences: owner === undefined ? [] : Array.from({ length: 5_000 }, () => owner)
    }
    const kept = readMetadata(huge, names)
    expect(kept).toMatchObject({ name: "x", uid: "u", labels: { a: "b" }, annotations: { c: "" } })
    expect(weightOf(kept)).toBeLessThan(10_000)
    expect(readMetadata(kept, names)).toEqual(kept)
  })
})

describe("the weight of a value", () => {
  it("grows with its texts and with its parts, at any depth", () => {
    expect(weightOf("x".repeat(1_000))).toBeGreaterThan(1_000)
    expect(weightOf(Array.from({ length: 1_000 }, () => []))).toBeGreaterThan(16_000)
    let deep: unknown = []
    for (let i = 0; i < 100_000; i++) deep = [deep]
    expect(weightOf(deep)).toBeGreaterThan(1_600_000)
  })
})
