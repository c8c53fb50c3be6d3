/** Configurations of queue splits of a primary in its members `a` and `b`, which come and go. */

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { clusterName } from "../../../../src/domain/fleet/cluster-name.ts"
import { at } from "../../../../src/domain/json.ts"
import { syncedConfigurationKinds } from "../../../../src/domain/queues/configuration-sync-plan.ts"
import { mirrordPropertyLists } from "../../../../src/domain/resources/queues/mirrord-property-list.ts"
import { mirrordSplitConfigs } from "../../../../src/domain/resources/queues/mirrord-split-config.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { pass } from "../../../support/connect-request.ts"
import { it } from "../../../support/effect-it.ts"
import { MemoryKubeApi, type MemoryCall } from "../../../support/memory-kube-api.ts"
import { place, spec, SyncFleet } from "./sync-fleet.ts"

const [name, namespace] = place
const changed = {
  queues: [
    { id: "q", kind: "sqs" },
    { id: "r", kind: "sqs" }
  ]
}
const skip = { "operator.metalbear.co/skip-mc-sync": "true" }

const begin = Effect.gen(function* () {
  const fleet = new SyncFleet(new MemoryKubeApi("primary"))
  yield* fleet.write()
  return { fleet, ...(yield* fleet.start()) }
})

const failing = (verb: MemoryCall["verb"], reason: KubeError["reason"], code: number) => (call: MemoryCall) =>
  call.verb === verb && call.plural === mirrordSplitConfigs.plural
    ? Effect.fail(new KubeError({ cluster: "a", operation: verb, reason, code, detail: "no such thing" }))
    : Effect.void

describe("a configuration of queue splits on a primary", () => {
  it.effect("is copied to all members with marks of ours and no labels of its own cluster", function* () {
    const fleet = new SyncFleet(new MemoryKubeApi("primary"))
    const labels = { "argocd.argoproj.io/instance": "shop" }
    for (const kind of syncedConfigurationKinds)
      fleet.primary.write(
        kind,
        name,
        { metadata: { labels }, spec: { one: { two: null, three: 3 } }, status: {} },
        namespace
      )
    yield* fleet.start()
    for (const api of [fleet.a, fleet.b])
      for (const kind of syncedConfigurationKinds) {
        const copy = api.peek(kind, ...place)
        assert.deepStrictEqual(copy?.["spec"], { one: { three: 3 } })
        assert.isUndefined(copy?.["status"])
        assert.deepStrictEqual(copy?.metadata.labels, {
          "operator.metalbear.co/owner": "mirrord-operator",
          "operator.metalbear.co/split-origin-cluster-uid": "primary-uid-1"
        })
        assert.match(JSON.stringify(copy?.metadata.annotations), /split-origin-version":"primary-uid-\d+\/1"/u)
      }
  })

  it.effect("changes, is left out, comes back and goes in all members, and nothing is written at rest", function* () {
    const { fleet } = yield* begin
    yield* fleet.write({ spec: changed })
    assert.deepStrictEqual(fleet.specIn(fleet.b), { ...spec, ...changed })
    yield* fleet.write({ metadata: { labels: skip } })
    assert.isUndefined(fleet.specIn(fleet.a))
    yield* fleet.write({ metadata: { labels: null } })
    assert.deepStrictEqual(fleet.specIn(fleet.a), spec)
    yield* pass("10 minutes")
    yield* fleet.erase()
    assert.deepStrictEqual([fleet.specIn(fleet.a), fleet.specIn(fleet.b)], [undefined, undefined])
    assert.deepStrictEqual(fleet.writes(fleet.a), ["create", "patch", "delete", "create", "delete"])
    assert.deepStrictEqual(fleet.logged, [])
  })

  it.effect.each([
    {
      what: "edited",
      act: (api: MemoryKubeApi) => api.write(mirrordSplitConfigs, name, { spec: { ttl: 7 } }, namespace)
    },
    { what: "deleted", act: (api: MemoryKubeApi) => api.erase(mirrordSplitConfigs, ...place) }
  ])("has a copy that a person has $what made right", function* ({ act }) {
    const { fleet } = yield* begin
    act(fleet.a)
    yield* pass("1 second")
    assert.deepStrictEqual(fleet.specIn(fleet.a), spec)
  })

  it.effect("leaves a value alone that the member's API server adds", function* () {
    const fleet = new SyncFleet(new MemoryKubeApi("primary"))
    yield* fleet.write()
    const { create, mergePatch } = fleet.a
    const withDefault = (body: object) => ({ ...body, spec: { ...(at(body, "spec") as object), ttl: 7 } })
    Object.assign(fleet.a, {
      create: (...[ref, body, where]: Parameters<typeof create>) => create(ref, withDefault(body), where),
      mergePatch: (...[ref, one, body, where]: Parameters<typeof mergePatch>) =>
        mergePatch(ref, one, withDefault(body), where)
    })
    const { end } = yield* fleet.start()
    yield* pass("1 minute")
    assert.deepStrictEqual(fleet.writes(fleet.a), ["create"])
    yield* end
    // A new leader does not know of it, and tries once.
    yield* fleet.start()
    yield* pass("1 minute")
    assert.deepStrictEqual(fleet.writes(fleet.a), ["create", "patch"])
  })

  it.effect("is not written without end where another writer changes each copy", function* () {
    const fleet = new SyncFleet(new MemoryKubeApi("primary"))
    yield* fleet.write()
    fleet.a.after = ({ verb }) =>
      Effect.sync(() => {
        if (verb === "create" || verb === "patch")
          fleet.a.write(mirrordSplitConfigs, name, { spec: { ttl: 7 } }, namespace)
      })
    yield* fleet.start()
    for (let i = 0; i < 10; i++) yield* pass("1 second")
    assert.isAtMost(fleet.writes(fleet.a).length, 12)
  })

  it.effect(
    "never touches an object of the member's own, says so once, and takes its place when it goes",
    function* () {
      const fleet = new SyncFleet(new MemoryKubeApi("primary"))
      const own = { queues: [] }
      fleet.a.write(mirrordSplitConfigs, name, { spec: own }, namespace)
      yield* fleet.write()
      const { changed: clusterChanged } = yield* fleet.start()
      yield* clusterChanged("a")
      yield* fleet.write({ spec: changed })
      assert.deepStrictEqual(fleet.specIn(fleet.a), own)
      assert.lengthOf(fleet.logged, 1)
      assert.deepStrictEqual(fleet.told(), [
        "Cluster a has its own MirrordSplitConfig of this name and keeps it: delete it there, or give the primary's " +
          'the label operator.metalbear.co/skip-mc-sync: "true".'
      ])
      yield* fleet.erase()
      assert.deepStrictEqual(fleet.specIn(fleet.a), own)
      yield* fleet.write()
      yield* fleet.erase(fleet.a)
      assert.deepStrictEqual(fleet.specIn(fleet.a), spec)
      assert.deepStrictEqual(fleet.writes(fleet.a), ["create"])
    }
  )

  it.effect.each(["changed", "deleted"])("%s: an object that took the place of a copy unseen stays", function* (how) {
    const { fleet } = yield* begin
    fleet.a.setMuted(true)
    fleet.a.erase(mirrordSplitConfigs, ...place)
    fleet.a.write(mirrordSplitConfigs, name, { spec: { queues: [] } }, namespace)
    yield* how === "changed" ? fleet.write({ spec: changed }) : fleet.erase()
    assert.deepStrictEqual(fleet.specIn(fleet.a), { queues: [] })
  })

  it.effect("reaches a member when it is back, and goes there if it was deleted meanwhile", function* () {
    const { changed: clusterChanged, end, fleet } = yield* begin
    fleet.primary.write(mirrordPropertyLists, "gone", { spec: {} }, namespace)
    yield* pass("1 second")
    fleet.reach("a", false)
    yield* clusterChanged("a")
    fleet.primary.erase(mirrordPropertyLists, "gone", namespace)
    yield* fleet.write({ spec: changed })
    yield* pass("30 seconds")
    assert.isDefined(fleet.a.peek(mirrordPropertyLists, "gone", namespace))
    // Its operator does not answer, and its API server does.
    fleet.member("b").lost = true
    yield* fleet.write()
    fleet.member("b").lost = false
    yield* clusterChanged("b")
    assert.deepStrictEqual(fleet.specIn(fleet.b), spec)
    yield* fleet.write({ spec: changed })
    assert.notMatch(fleet.logged.join(), /reconcile failed/u)
    // A new leader knows of the deletion by the copy's mark alone.
    yield* end
    const next = yield* fleet.start()
    fleet.reach("a", true)
    yield* next.changed("a")
    yield* pass("10 seconds")
    assert.deepStrictEqual(fleet.specIn(fleet.a), { ...spec, ...changed })
    assert.isUndefined(fleet.a.peek(mirrordPropertyLists, "gone", namespace))
  })

  it.effect("waits for a namespace, which is looked for again after 5 minutes", function* () {
    const fleet = new SyncFleet(new MemoryKubeApi("primary"))
    fleet.a.before = failing("create", "NotFound", 404)
    yield* fleet.write()
    yield* fleet.start()
    const why = "Cluster a has no namespace shop: create it there, or take the sessions' targets elsewhere."
    yield* pass("10 seconds")
    assert.deepStrictEqual(fleet.writes(fleet.a), ["create"])
    assert.deepStrictEqual(fleet.told(), [why])
    fleet.a.before = () => Effect.void
    yield* pass("280 seconds")
    assert.isUndefined(fleet.specIn(fleet.a))
    yield* pass("20 seconds")
    assert.deepStrictEqual(fleet.specIn(fleet.a), spec)
    assert.lengthOf(fleet.logged, 1)
  })

  it.effect("stays in members while the primary's list fails, and goes when that tells that it is gone", function* () {
    const { end, fleet } = yield* begin
    yield* end
    fleet.primary.before = failing("list", "Other", 500)
    fleet.primary.calls.length = 0
    const next = yield* fleet.start()
    yield* pass("20 seconds")
    assert.deepStrictEqual(fleet.specIn(fleet.a), spec)
    // Nothing is asked about it either.
    assert.notInclude(JSON.stringify(fleet.primary.calls), '"name":"orders"')
    yield* next.end
    // A list without the object, as of a server that is behind.
    const { list } = fleet.primary
    const behind = Object.assign(fleet.primary, {
      list: () => Effect.succeed({ items: [], resourceVersion: "999" }),
      before: () => Effect.void
    })
    const last = yield* fleet.start()
    yield* pass("5 seconds")
    assert.deepStrictEqual(fleet.specIn(fleet.a), spec)
    yield* last.end
    Object.assign(behind, { list, before: failing("list", "Other", 500) })
    yield* fleet.erase()
    yield* fleet.start()
    yield* pass("5 seconds")
    fleet.primary.before = () => Effect.void
    yield* pass("10 seconds")
    assert.isUndefined(fleet.specIn(fleet.a))
  })

  it.effect("is not written where the kind is not installed, and is retried where a server is ill", function* () {
    const fleet = new SyncFleet(new MemoryKubeApi("primary"))
    fleet.a.before = failing("list", "NotFound", 404)
    fleet.b.before = failing("create", "Other", 500)
    yield* fleet.write()
    yield* fleet.start()
    yield* pass("15 seconds")
    assert.deepStrictEqual(fleet.writes(fleet.a), [])
    fleet.b.before = () => Effect.void
    yield* pass("60 seconds")
    assert.deepStrictEqual(fleet.specIn(fleet.b), spec)
    assert.match(fleet.logged.join(), /a collection cannot be read/u)
  })

  it.effect("leaves no copy in a cluster that leaves the fleet, and waits for none for long", function* () {
    const { changed: clusterChanged, fleet, leave } = yield* begin
    fleet.a.write(mirrordSplitConfigs, "own", { spec }, namespace)
    fleet.b.before = () => Effect.never
    yield* pass("1 second")
    fleet.members.clear()
    const left = yield* Effect.forkChild(Effect.forEach(["a", "b"], (cluster) => leave(clusterName(cluster))))
    yield* clusterChanged("a")
    for (let i = 0; i < 4; i++) yield* pass("1 second")
    assert.isDefined(left.pollUnsafe())
    assert.deepStrictEqual(
      fleet.a.peekAll(mirrordSplitConfigs).map((one) => one.metadata.name),
      ["own"]
    )
  })

  it.effect("of one primary is no copy of another's on the same member", function* () {
    const { fleet: first } = yield* begin
    // Their UIDs differ.
    const second = new SyncFleet(new MemoryKubeApi("second"))
    second.member("a").api = first.a
    yield* second.write({ spec: changed })
    yield* second.start()
    assert.deepStrictEqual(first.specIn(first.a), spec)
    assert.lengthOf(second.told(), 1)
    yield* second.erase()
    assert.deepStrictEqual(first.specIn(first.a), spec)
    yield* second.write({ spec: changed })
    yield* first.erase()
    assert.deepStrictEqual(first.specIn(first.a), changed)
    assert.match(JSON.stringify(at(first.a.peek(mirrordSplitConfigs, ...place), "metadata", "labels")), /second-uid/u)
  })

  it.effect("is nowhere else while queues are not split", function* () {
    const fleet = new SyncFleet(new MemoryKubeApi("primary"))
    yield* fleet.write()
    yield* fleet.start(false)
    assert.deepStrictEqual(fleet.a.calls, [])
  })
})
