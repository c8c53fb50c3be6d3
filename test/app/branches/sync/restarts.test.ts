/** Leaders of the primary that end at any moment of a branch's life, and a default cluster that is away meanwhile. */

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { originAnnotations } from "../../../../src/domain/branches/sync/synced-branch.ts"
import { at } from "../../../../src/domain/json.ts"
import { branchDatabases } from "../../../../src/domain/resources/branches/branch-database.ts"
import { pods } from "../../../../src/domain/resources/core-kinds.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"
import { operatorNamespace } from "../../../support/fleet.ts"
import type { MemoryCall, MemoryKubeApi } from "../../../support/memory-kube-api.ts"
import { branchName, namespace, user } from "../branched.ts"
import { begin, ready, seconds, Synced } from "./synced.ts"

const isCall = ({ plural, verb }: MemoryCall): boolean =>
  plural === branchDatabases.plural && ["get", "create", "patch", "delete"].includes(verb)

/** A branch is made, gets a later spec, and is deleted by a person; another one is made and expires. */
const life = (synced: Synced) =>
  Effect.gen(function* () {
    yield* synced.order()
    yield* synced.podsReady
    yield* synced.order({ migrations: { flavor: "flyway", archive: "1" } })
    yield* seconds(2)
    synced.primary.erase(branchDatabases, branchName, operatorNamespace)
    yield* seconds(2)
    yield* synced.order()
    yield* synced.podsReady
    yield* seconds(305)
  })

const calls = [
  "a: create",
  "primary: patch",
  "primary: patch",
  "primary: patch",
  "primary: patch",
  "primary: get",
  "a: patch",
  "primary: patch",
  "primary: get",
  "a: delete",
  "a: create",
  "primary: patch",
  "primary: patch",
  "primary: patch",
  "primary: patch",
  "a: get",
  "primary: delete"
] as const

const moments = calls.flatMap((call, index) =>
  (["before", "after"] as const).map((when) => ({ name: `${when} call ${index + 1}, ${call}`, index, when }))
)

/**
 * Calls `seen` before each call of the primary's operator, or after it; before a call without effect in any case.
 * `origins`: the UIDs of the branches of which a copy was made, which is filled.
 */
const listen = (
  synced: Synced,
  when: "before" | "after",
  seen: (call: MemoryCall) => Effect.Effect<void, KubeError>,
  origins: Array<unknown>
): void => {
  for (const api of [synced.primary, synced.member]) {
    const hook = (call: MemoryCall) => (isCall(call) ? seen(call) : Effect.void)
    api.before = (call) => (when === "before" || call.verb === "get" ? hook(call) : Effect.void)
    api.after = (call) =>
      Effect.suspend(() => {
        if (isCall(call) && call.verb === "create")
          origins.push(at(call.body, "metadata", "annotations", originAnnotations.uid))
        return when === "after" ? hook(call) : Effect.void
      })
  }
}

describe("a leader of the primary that ends", () => {
  it.effect("has as many calls as are tried here", function* () {
    const synced = yield* begin
    const made: Array<string> = []
    for (const api of [synced.primary, synced.member])
      api.before = (call) =>
        Effect.sync(() => {
          if (isCall(call)) made.push(`${api.cluster}: ${call.verb}`)
        })
    yield* life(synced)
    assert.deepStrictEqual(made, [...calls])
  })

  it.effect.each(moments)("$name: the next one has one copy, and takes both away", function* ({ index, when }) {
    const synced = yield* begin
    const origins: Array<unknown> = []
    let seen = 0
    listen(synced, when, () => (seen++ === index ? Effect.never : Effect.void), origins)
    yield* Effect.forkChild(Effect.exit(life(synced)), { startImmediately: true })
    for (let i = 0; i < 400 && seen <= index; i++) yield* seconds(1)
    assert.isAbove(seen, index)
    yield* synced.kill("primary")
    listen(synced, "before", () => Effect.void, origins)
    yield* synced.start()
    yield* seconds(3)
    yield* synced.podsReady
    yield* seconds(2)
    const origin = synced.origin()
    if (origin !== undefined) {
      assert.strictEqual(synced.status()?.phase, "Ready")
      assert.strictEqual(
        synced.copy()?.metadata.annotations?.["operator.metalbear.co/branch-origin-uid"],
        origin.metadata.uid
      )
    }
    yield* seconds(400)
    // One copy of each, and one pod of each copy.
    assert.isNotEmpty(origins)
    assert.strictEqual(new Set(origins).size, origins.length)
    const made = synced.default.calls.filter(({ plural, verb }) => verb === "create" && plural === pods.plural)
    assert.lengthOf(made, origins.length)
    assert.deepStrictEqual(
      [synced.origin(), synced.copy(), synced.default.peekAll(pods), [...synced.holdings.now().keys()]],
      [undefined, undefined, [], []]
    )
  })
})

describe("a default cluster that is away", () => {
  it.effect.each([
    ["refused", (synced: Synced) => synced.reach(false), (synced: Synced) => synced.reach(true)],
    [
      "answering with errors and empty words",
      (synced: Synced) =>
        Effect.sync(() => {
          synced.member.endWatches()
          synced.member.before = ({ verb }) =>
            Effect.fail(new KubeError({ cluster: "a", operation: verb, reason: "Other", code: 500, detail: "EOF" }))
        }),
      (synced: Synced) => Effect.sync(() => void (synced.member.before = () => Effect.void))
    ]
  ] as const)("%s: nothing is deleted, and all is settled when it returns", function* ([, away, back]) {
    const synced = yield* ready
    yield* away(synced)
    yield* seconds(60)
    assert.strictEqual(synced.status()?.phase, "Ready")
    yield* back(synced)
    yield* seconds(10)
    assert.strictEqual(synced.status()?.phase, "Ready")
    assert.isDefined(synced.copy())
    assert.isFalse(synced.primary.calls.some(({ verb }) => verb === "delete"))
    // A person deletes it while the cluster is away, and orders another one.
    yield* away(synced)
    synced.primary.erase(branchDatabases, branchName, operatorNamespace)
    yield* synced.order()
    yield* seconds(30)
    const first = synced.copy()?.metadata.uid
    yield* back(synced)
    yield* seconds(40)
    yield* synced.podsReady
    yield* seconds(2)
    assert.strictEqual(synced.status()?.phase, "Ready")
    assert.notStrictEqual(synced.copy()?.metadata.uid, first)
  })

  it.effect("while the branch fails: its users read why when it is back", function* () {
    const synced = yield* begin
    yield* synced.order()
    // The primary alone is cut off.
    synced.clusters.set("a", { api: undefined, lost: "it does not answer" })
    yield* seconds(6)
    for (const { metadata } of synced.default.peekAll(pods))
      synced.default.write(pods, metadata.name, { status: { phase: "Failed", reason: "Evicted" } }, namespace)
    yield* seconds(60)
    assert.strictEqual(synced.status()?.phase, "Pending")
    synced.clusters.set("a", { api: synced.member, lost: undefined })
    yield* seconds(7)
    assert.include(synced.status()?.error, "Evicted")
    yield* seconds(21)
    assert.deepStrictEqual([synced.origin(), synced.copy()], [undefined, undefined])
  })

  it.effect("while the branch expires: the primary's is gone when it is back", function* () {
    const synced = yield* ready
    synced.clusters.set("a", { api: undefined, lost: "it does not answer" })
    yield* seconds(310)
    assert.isUndefined(synced.copy())
    assert.strictEqual(synced.status()?.phase, "Ready")
    synced.clusters.set("a", { api: synced.member, lost: undefined })
    yield* seconds(7)
    assert.isUndefined(synced.origin())
  })
})

describe("a copy whose origin was lost with the primary's objects", () => {
  it.effect("stays where a session begins to use it at the moment of its deletion", function* () {
    const synced = yield* ready
    yield* synced.kill("primary")
    yield* synced.kill("a")
    synced.primary.erase(branchDatabases, branchName, operatorNamespace)
    synced.member.before = ({ plural, verb }) =>
      Effect.sync(() => {
        if (plural !== branchDatabases.plural || verb !== "delete") return
        synced.member.before = () => Effect.void
        const status = { sessionInfo: { ff: { id: "ff", owner: user } } }
        synced.default.write(branchDatabases, branchName, { status }, namespace)
      })
    yield* synced.start()
    yield* seconds(10)
    assert.isDefined(synced.copy())
    synced.default.write(branchDatabases, branchName, { status: { sessionInfo: { ff: null } } }, namespace)
    yield* seconds(10)
    assert.isUndefined(synced.copy())
  })
})

describe("a list that is older than its server", () => {
  it.effect("takes no copy for gone that was made meanwhile", function* () {
    const synced = yield* begin
    let isOld = false
    // The answer was made before the copy, and comes after it.
    const list: MemoryKubeApi["list"] = (ref, selection) =>
      Effect.tap(synced.member.list(ref, selection), () => (isOld ? Effect.sleep("2 seconds") : Effect.void))
    const slow = Object.create(synced.member, { list: { value: list } }) as MemoryKubeApi
    synced.clusters.set("a", { api: slow, lost: undefined })
    yield* seconds(6)
    isOld = true
    synced.default.forgetHistory(true)
    yield* seconds(1)
    yield* synced.order()
    yield* seconds(5)
    yield* synced.podsReady
    assert.strictEqual(synced.status()?.phase, "Ready")
    assert.lengthOf(
      synced.member.calls.filter(({ verb }) => verb === "create"),
      1
    )
  })
})
