import { Effect, Queue } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { placeOf, publishReports } from "../../../../src/app/fleet/sharding/publish-report.ts"
import { sha256Hex } from "../../../../src/app/kernel/sha256-hex.ts"
import { clusterName } from "../../../../src/domain/fleet/cluster-name.ts"
import type { ClusterReport } from "../../../../src/domain/fleet/sharding/cluster-report.ts"
import { clusterEntry } from "../../../../src/domain/fleet/sharding/report-names.ts"
import { asObject, at } from "../../../../src/domain/json.ts"
import { configMaps } from "../../../../src/domain/resources/core-kinds.ts"
import { traceparentAnnotation } from "../../../../src/domain/sessions/names.ts"
import { KubeError, type KubeObject } from "../../../../src/ports/kube-api.ts"
import { it } from "../../../support/effect-it.ts"
import { operatorNamespace as namespace } from "../../../support/fleet.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"

const cluster = clusterName("a")

const lost = (message: string): ClusterReport => ({
  server: "https://a",
  state: { _tag: "Lost", reason: { _tag: "NotEngaged", since: 0, message } },
  since: 0,
  isUsable: false
})

let versions = 0
/** A child; each has a version of its own. */
const child = (name: string, more: object = {}, metadata: object = {}): KubeObject => ({
  apiVersion: "mirrord.metalbear.co/v1alpha",
  kind: "MirrordClusterSession",
  metadata: { name, uid: `uid of ${name}`, resourceVersion: String(++versions), ...metadata },
  spec: { target: "deployment/shop" },
  ...more
})

const start = Effect.fnUntraced(function* (known: {
  report: ClusterReport | undefined
  children: ReadonlyArray<KubeObject> | undefined
}) {
  const api = new MemoryKubeApi("primary")
  const place = { api, namespace, sha256Hex }
  const { name } = placeOf(place, cluster)
  const news = yield* Queue.sliding<void>(1)
  const source = { cluster, report: () => known.report, children: () => known.children, news }
  const writes = () => api.calls.filter(({ verb }) => verb === "patch" || verb === "create").length
  const entries = () => asObject(api.peek(configMaps, name, namespace)?.["data"])
  return {
    api,
    name,
    writes,
    entries,
    begin: Effect.andThen(Effect.forkScoped(publishReports(source, place)), TestClock.adjust(1)),
    tell: Effect.andThen(Queue.offer(news, undefined), TestClock.adjust(1)),
    /** The reason of the loss that is reported. */
    said: () => at(JSON.parse(String(entries()[clusterEntry])), "state", "reason", "message")
  }
})

describe("the report of an owned cluster", () => {
  it.effect("is written with its news, and not without any", function* () {
    const known = { report: lost("no credentials"), children: [child("mc-1")] }
    const { begin, entries, said, tell, writes } = yield* start(known)
    yield* begin
    expect([said(), Object.keys(entries()).toSorted()]).toEqual(["no credentials", [clusterEntry, "mc-1"]])
    const before = writes()
    yield* tell
    expect(writes()).toBe(before)
    known.report = lost("another reason")
    yield* tell
    expect([said(), writes()]).toEqual(["another reason", before + 1])
  })

  it.effect("has the children that changed, without those that are gone, and no heartbeat", function* () {
    const known = { report: lost("x"), children: [child("mc-1"), child("mc-2")] }
    const { begin, entries, tell, writes } = yield* start(known)
    yield* begin
    known.children = [child("mc-1", { status: { connectedTimestamp: 1 } }), child("mc-2")]
    const before = writes()
    yield* tell
    expect(writes(), "a heartbeat is no news").toBe(before)
    const trace = { annotations: { kept: "yes", [traceparentAnnotation]: "00-1-2-3" }, managedFields: [{}] }
    known.children = [child("mc-1", { status: { phase: "Ready" } }, trace)]
    yield* tell
    expect(Object.keys(entries()).toSorted()).toEqual([clusterEntry, "mc-1"])
    const told = JSON.parse(String(entries()["mc-1"])) as KubeObject
    expect(told["status"]).toEqual({ phase: "Ready" })
    expect([told.metadata.annotations, at(told, "metadata", "managedFields")]).toEqual([{ kept: "yes" }, undefined])
    known.children = [child("mc-1", { status: { phase: "Ready" } }, { uid: "made again" })]
    yield* tell
    expect(String(entries()["mc-1"])).toContain("made again")
  })

  it.effect(
    "stands as the owner before has written it while nothing is known, and loses its children then",
    function* () {
      const known: { report: ClusterReport | undefined; children: ReadonlyArray<KubeObject> | undefined } = {
        report: undefined,
        children: undefined
      }
      const { api, begin, entries, name, said, tell, writes } = yield* start(known)
      api.write(configMaps, name, { data: { [clusterEntry]: "of before", "mc-old": "{}" } }, namespace)
      yield* begin
      yield* tell
      expect([entries(), writes()]).toEqual([{ [clusterEntry]: "of before", "mc-old": "{}" }, 0])
      known.report = lost("x")
      yield* tell
      expect([said(), Object.keys(entries())], "the children are not known yet").toEqual([
        "x",
        [clusterEntry, "mc-old"]
      ])
      known.children = [child("mc-new")]
      yield* tell
      expect(Object.keys(entries()).toSorted()).toEqual([clusterEntry, "mc-new"])
    }
  )

  it.effect("is written as a whole where somebody has deleted it", function* () {
    const known = { report: lost("x"), children: [child("mc-1"), child("mc-2")] }
    const { api, begin, entries, name, tell } = yield* start(known)
    yield* begin
    api.erase(configMaps, name, namespace)
    known.children = [...known.children, child("mc-3")]
    yield* tell
    expect(Object.keys(entries()).toSorted()).toEqual([clusterEntry, "mc-1", "mc-2", "mc-3"])
  })

  it.effect("is written after a pause when that has failed, with what is known then", function* () {
    const known = { report: lost("x"), children: [] as ReadonlyArray<KubeObject> }
    const { api, begin, said, tell, writes } = yield* start(known)
    yield* begin
    const refused = { cluster: "primary", operation: "patch", reason: "Unreachable", detail: "as told" } as const
    api.before = () => Effect.fail(new KubeError(refused))
    known.report = lost("first")
    yield* tell
    known.report = lost("second")
    const before = writes()
    yield* TestClock.adjust("10 seconds")
    expect(writes() - before, "tries again and again, and not faster than once a second").toBeLessThanOrEqual(11)
    api.before = () => Effect.void
    yield* TestClock.adjust("2 seconds")
    expect(said()).toBe("second")
  })
})
