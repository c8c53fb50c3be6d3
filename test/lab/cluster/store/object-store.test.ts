import * as fc from "fast-check"
import { beforeEach, describe, expect, it } from "vitest"
import { type KubeObject, ObjectStore } from "../../../../lab/cluster/store/object-store.ts"
import { ApiError } from "../../../../lab/cluster/wire/status-error.ts"

const maps = { group: "", version: "v1", resource: "configmaps" }
const namespaces = { group: "", version: "v1", resource: "namespaces" }
const pods = { group: "", version: "v1", resource: "pods" }

const configMap = (name: string, more: Partial<KubeObject["metadata"]> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", ...more }
})

const failure = (run: () => unknown): ApiError => {
  try {
    run()
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
  throw new Error("nothing was thrown")
}

const newStore = (historyLimit = 100): ObjectStore => {
  let seed = 1
  const store = new ObjectStore({
    now: () => 0,
    random: () => (seed = (seed * 16807) % 2147483647) / 2147483647,
    historyLimit
  })
  store.create(namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } })
  return store
}

describe("the object store", () => {
  let store: ObjectStore
  beforeEach(() => {
    store = newStore()
  })

  it("is deterministic: same clock and randomness, same objects", () => {
    const other = newStore()
    expect(store.create(maps, configMap("a"))).toEqual(other.create(maps, configMap("a")))
    expect(store.get(maps, "default", "a")?.metadata.creationTimestamp).toBe("1970-01-01T00:00:00Z")
  })

  it("returns frozen objects and keeps no hold on what it was given", () => {
    const given = { ...configMap("a"), data: { x: "1" } }
    const stored = store.create(maps, given)
    given.data.x = "2"
    expect(store.get(maps, "default", "a")?.["data"]).toEqual({ x: "1" })
    expect(() => {
      stored.metadata.labels = {}
    }).toThrow(TypeError)
  })

  it("delivers changes made inside a callback after the change that caused them, to every watcher", () => {
    const seen: Array<string> = []
    const log = (who: string) => (event: { type: string; object: KubeObject }) =>
      seen.push(`${who} ${event.type} ${event.object.metadata.name ?? ""}`)
    store.watch(maps, { resourceVersion: store.resourceVersion }, (event) => {
      log("first")(event)
      if (event.object.metadata.name === "a" && event.type === "ADDED") store.create(maps, configMap("b"))
    })
    store.watch(maps, { resourceVersion: store.resourceVersion }, log("second"))
    store.create(maps, configMap("a"))
    expect(seen).toEqual(["first ADDED a", "second ADDED a", "first ADDED b", "second ADDED b"])
  })

  it("gives a watch that is opened inside a callback every change exactly once", () => {
    const seen: Array<string> = []
    let opened = false
    store.watch(maps, { resourceVersion: store.resourceVersion }, () => {
      if (opened) return
      opened = true
      store.create(maps, configMap("b"))
      store.watch(maps, {}, ({ type, object }) => seen.push(`${type} ${object.metadata.name ?? ""}`))
      store.create(maps, configMap("c"))
    })
    store.create(maps, configMap("a"))
    expect(seen).toEqual(["ADDED a", "ADDED b", "ADDED c"])
  })

  it("replays from a version, and says 410 when that is forgotten", () => {
    const small = newStore(3)
    const start = small.resourceVersion
    for (const name of ["a", "b", "c"]) small.create(maps, configMap(name))
    const seen: Array<string> = []
    small.watch(maps, { resourceVersion: start }, ({ object }) => seen.push(object.metadata.name ?? ""))()
    expect(seen).toEqual(["a", "b", "c"])
    small.create(maps, configMap("d"))
    expect(failure(() => small.watch(maps, { resourceVersion: start }, () => {}))).toMatchObject({
      code: 410,
      reason: "Expired"
    })
    expect(failure(() => small.watch(maps, { resourceVersion: "x" }, () => {}))).toMatchObject({ code: 400 })
  })

  it("modify never conflicts, and can change status alone", () => {
    store.create(pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "p", namespace: "default" },
      spec: { containers: [{ name: "c", image: "i" }] }
    })
    expect(store.writeStatus(pods, "default", "p", { phase: "Running" })["status"]).toEqual({ phase: "Running" })
    store.modify(pods, "default", "p", (draft) => {
      draft["status"] = { phase: "Lost" }
    })
    expect(store.get(pods, "default", "p")?.["status"]).toEqual({ phase: "Running" })
    expect(failure(() => store.modify(pods, "default", "none", () => {}))).toMatchObject({ code: 404 })
  })

  it("collects dependents: with the last owner, and at once if no owner exists", () => {
    const owner = (object: KubeObject) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      name: object.metadata.name ?? "",
      uid: object.metadata.uid ?? ""
    })
    const [a, b] = [store.create(maps, configMap("a")), store.create(maps, configMap("b"))]
    store.create(maps, configMap("both", { ownerReferences: [owner(a), owner(b)] }))
    store.delete(maps, "default", "a")
    expect(store.get(maps, "default", "both")?.metadata.ownerReferences).toEqual([owner(b)])
    store.delete(maps, "default", "b")
    expect(store.get(maps, "default", "both")).toBeUndefined()
    store.create(maps, configMap("orphan", { ownerReferences: [owner(a)] }))
    expect(store.get(maps, "default", "orphan")).toBeUndefined()
  })

  it("survives owners that own each other", () => {
    const a = store.create(maps, configMap("a"))
    const b = store.create(
      maps,
      configMap("b", {
        ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "a", uid: a.metadata.uid ?? "" }]
      })
    )
    store.modify(maps, "default", "a", (draft) => {
      draft.metadata.ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "b", uid: b.metadata.uid ?? "" }]
    })
    store.delete(maps, "default", "a", { propagationPolicy: "Foreground" })
    expect(store.list(maps, { namespace: "default" }).items).toEqual([])
  })

  it("a watcher that applies events always holds what a list returns", () => {
    const action = fc.record({
      name: fc.constantFrom("a", "b", "c"),
      what: fc.constantFrom("create", "label", "unlabel", "finalize", "release", "delete")
    })
    fc.assert(
      fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
        const random = newStore()
        const held = new Map<string, KubeObject>()
        let version = 0
        random.watch(maps, { labelSelector: "on=yes" }, ({ type, object }) => {
          const next = Number(object.metadata.resourceVersion)
          expect(next).toBeGreaterThan(version)
          version = next
          if (type === "DELETED") expect(held.delete(object.metadata.name ?? "")).toBe(true)
          else {
            expect(held.has(object.metadata.name ?? "")).toBe(type === "MODIFIED")
            held.set(object.metadata.name ?? "", object)
          }
        })
        for (const { name, what } of actions) {
          const exists = random.get(maps, "default", name) !== undefined
          const change = (run: (meta: KubeObject["metadata"]) => void) => {
            if (exists) random.modify(maps, "default", name, (draft) => run(draft.metadata))
          }
          switch (what) {
            case "create":
              if (!exists) random.create(maps, configMap(name, { labels: { on: "yes" } }))
              break
            case "delete":
              if (exists) random.delete(maps, "default", name)
              break
            case "label":
            case "unlabel":
              change((meta) => {
                meta.labels = what === "label" ? { on: "yes" } : {}
              })
              break
            case "finalize":
              if (random.get(maps, "default", name)?.metadata.deletionTimestamp === undefined) {
                change((meta) => {
                  meta.finalizers = ["example.com/x"]
                })
              }
              break
            case "release":
              change((meta) => {
                delete meta.finalizers
              })
          }
        }
        const listed = random.list(maps, { labelSelector: "on=yes" }).items
        expect(
          [...held.values()].toSorted((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1))
        ).toEqual(listed)
      })
    )
  })

  it("a definition takes its objects along, waiting for their finalizers", () => {
    const definitions = { group: "apiextensions.k8s.io", version: "v1", resource: "customresourcedefinitions" }
    const things = { group: "example.com", version: "v1", resource: "things" }
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
    store.create(definitions, {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "things.example.com" },
      spec: {
        group: "example.com",
        scope: "Cluster",
        names: { plural: "things", kind: "Thing" },
        versions: [{ name: "v1", served: true, storage: true, schema }]
      }
    })
    store.create(things, {
      apiVersion: "example.com/v1",
      kind: "Thing",
      metadata: { name: "held", finalizers: ["example.com/x"] }
    })
    store.create(things, { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "free" } })
    store.delete(definitions, undefined, "things.example.com")
    expect(store.list(things).items.map((item) => item.metadata.name)).toEqual(["held"])
    store.modify(things, undefined, "held", (draft) => {
      delete draft.metadata.finalizers
    })
    expect(failure(() => store.list(things))).toMatchObject({ code: 404 })
    expect(store.get(definitions, undefined, "things.example.com")).toBeUndefined()
  })
})
