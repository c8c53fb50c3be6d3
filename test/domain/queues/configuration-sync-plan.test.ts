import fc from "fast-check"
import { expect, it } from "vitest"
import { MemoryObjects } from "../../../lab/memory/memory-objects.ts"
import {
  type ObservedConfiguration,
  planConfiguration,
  type SplitConfigurationObject,
  splitOriginLabel,
  syncedConfigurationKinds
} from "../../../src/domain/queues/configuration-sync-plan.ts"
import { plain } from "../../../src/domain/resources/merge-patch.ts"
import { skipLabel } from "../../../src/domain/resources/mirrored-object.ts"

const [resource] = syncedConfigurationKinds
if (resource === undefined) throw new Error("no kinds")
const named = { name: "orders", namespace: "shop", resourceVersion: "5", generation: 2 }
const original: SplitConfigurationObject = { metadata: { ...named, uid: "o" }, spec: { queues: [1] } }
const marks = {
  labels: { "operator.metalbear.co/owner": "mirrord-operator", [splitOriginLabel]: "p" },
  annotations: { "operator.metalbear.co/split-origin-version": "o/2" }
}
const copy: SplitConfigurationObject = { metadata: { ...named, uid: "c", ...marks }, spec: { queues: [1] } }
const base: ObservedConfiguration = {
  resource,
  cluster: "a",
  primaryUid: "p",
  original,
  copy,
  written: undefined,
  refused: undefined
}
const deletionTimestamp = "2026-01-01T00:00:00Z"
const ending = (object: SplitConfigurationObject) => ({
  ...object,
  metadata: { ...object.metadata, deletionTimestamp }
})
const foreign = { ...copy, metadata: { ...copy.metadata, labels: { [splitOriginLabel]: "another" } } }
const unmarked = {
  ...copy,
  metadata: { ...copy.metadata, labels: { [splitOriginLabel]: "p", team: "x" }, annotations: null }
}
const skipped = { ...original, metadata: { ...original.metadata, labels: { [skipLabel]: "true" } } }
const edited = { ...copy, spec: { queues: [2], ttl: 7 } }
const refused = { version: "o/2", why: "No.", at: 1_000 }
const written = { version: "o/2", generation: 2, at: 1_000 }
const precondition = { uid: "c", resourceVersion: "5" }

it.each<[string, Partial<ObservedConfiguration>, number, object]>([
  ["equal", {}, 0, { _tag: "Done" }],
  ["a null is no difference", { original: { ...original, spec: { queues: [1], ttl: null } } }, 0, { _tag: "Done" }],
  ["edited", { copy: edited }, 0, { _tag: "Patch", patch: { spec: { queues: [1], ttl: null } }, precondition }],
  [
    "without our marks but one",
    { copy: unmarked },
    0,
    {
      _tag: "Patch",
      precondition,
      patch: {
        metadata: {
          labels: { "operator.metalbear.co/owner": "mirrord-operator" },
          annotations: marks.annotations
        }
      }
    }
  ],
  ["edited after our write", { copy: edited, written: { ...written, generation: 1 } }, 2_000, { _tag: "Patch" }],
  [
    "edited at once after our write",
    { copy: edited, written: { ...written, generation: 1 } },
    1_999,
    { _tag: "Later", until: 2_000 }
  ],
  ["changed by its server in our write", { copy: edited, written }, 9_000, { _tag: "Done" }],
  [
    "of an older version that was written",
    { copy: edited, written: { ...written, version: "o/1" } },
    1_001,
    { _tag: "Patch" }
  ],
  ["missing", { copy: undefined }, 0, { _tag: "Create" }],
  ["refused", { copy: undefined, refused }, 300_999, { _tag: "Refused", why: "No.", until: 301_000 }],
  ["refused long ago", { copy: undefined, refused }, 301_000, { _tag: "Create" }],
  [
    "refused in another version",
    { copy: undefined, refused: { ...refused, version: "o/1" } },
    1_000,
    { _tag: "Create" }
  ],
  ["a refused patch, made right by hand", { refused }, 1_000, { _tag: "Done" }],
  ["without original", { original: undefined }, 0, { _tag: "Delete", precondition }],
  ["a refused delete", { original: undefined, refused: { ...refused, version: "" } }, 1_000, { _tag: "Refused" }],
  ["of an original that is left out", { original: skipped }, 0, { _tag: "Delete" }],
  ["of an original that is being deleted", { original: ending(original) }, 0, { _tag: "Delete" }],
  ["left out, and missing", { original: skipped, copy: undefined }, 0, { _tag: "Done" }],
  ["being deleted", { copy: ending(copy) }, 0, { _tag: "Ending" }],
  ["being deleted without original", { copy: ending(copy), original: undefined }, 0, { _tag: "Ending" }],
  ["the member's own", { copy: foreign }, 0, { _tag: "Taken" }],
  ["the member's own, refused before", { copy: foreign, refused }, 1_000, { _tag: "Taken" }],
  ["the member's own, being deleted", { copy: ending(foreign) }, 0, { _tag: "Ending" }],
  ["the member's own without original", { copy: ending(foreign), original: undefined }, 0, { _tag: "Done" }]
])("a copy: %s", (_, change, now, step) => {
  expect(planConfiguration({ ...base, ...change }, now)).toMatchObject(step)
})

it("keeps of an object what is copied, and the marks alone of its metadata", () => {
  const labels = { ...marks.labels, [skipLabel]: "true", other: "x" }
  const stored = { metadata: { ...named, labels, finalizers: ["x"] }, spec: { any: [{ field: 1 }] }, status: {} }
  const { other: _, ...kept } = labels
  expect(resource.keeps(stored)).toEqual({ metadata: { ...named, labels: kept, annotations: {} }, spec: stored.spec })
})

const specs = fc.dictionary(fc.constantFrom("a", "b", "c"), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })

it("has the spec of its original after one write, whatever it had, and stays then", () => {
  fc.assert(
    fc.property(specs, fc.option(specs, { nil: undefined }), (spec, found) => {
      const objects = new MemoryObjects("a")
      const change = { metadata: { labels: marks.labels }, spec: found ?? {} }
      if (found !== undefined) objects.write(resource, named.name, change, named.namespace)
      const seen = () => ({
        ...base,
        original: { ...original, spec },
        copy: objects.peek(resource, named.name, named.namespace) as SplitConfigurationObject | undefined
      })
      const step = planConfiguration(seen(), 0)
      if (step._tag === "Create") objects.create(resource, step.object, named.namespace, 0)
      else if (step._tag === "Patch") objects.mergePatch(resource, named.name, step.patch, named)
      expect(plain(seen().copy?.spec)).toEqual(plain(spec))
      expect(planConfiguration(seen(), 0)).toEqual({ _tag: "Done" })
    })
  )
})
