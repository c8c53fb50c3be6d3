import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { ReportedClusters } from "../../../src/app/fleet/reported-clusters.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { ownerlessGrace } from "../../../src/domain/fleet/sharding/cluster-leases.ts"
import { type ClusterReport, reportText } from "../../../src/domain/fleet/sharding/cluster-report.ts"
import { clusterEntry, reportName } from "../../../src/domain/fleet/sharding/report-names.ts"
import { it } from "../../support/effect-it.ts"

const a = clusterName("a")
const server = "https://a"

const connected = (at: number): ClusterReport => ({
  server,
  state: {
    _tag: "Connected",
    lastCheck: { askedAt: at - 5, checkedAt: at },
    operator: { _tag: "Connected", operatorVersion: "1", fingerprint: undefined, parametersInHeader: true },
    failedChecks: 0
  },
  since: at,
  isUsable: true
})

const childText = (name: string, phase: string): string =>
  JSON.stringify({ kind: "MirrordClusterSession", metadata: { name, uid: `uid of ${name}` }, status: { phase } })

const start = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  let ownerlessFor = 0
  const owners = { ownerOf: () => "pod", ownerlessFor: () => ownerlessFor }
  const reports = new ReportedClusters(owners, sha256Hex, clock)
  const told: Array<string> = []
  reports.listen((name, { children, isClusterNews }) => {
    const names = children.map(({ metadata, status }) => `${metadata.name} ${JSON.stringify(status)}`)
    told.push([name === reports.nameOf(a) ? "a" : name, ...(isClusterNews ? ["news"] : []), ...names].join(", "))
  })
  const hear = (data: Readonly<Record<string, string>>, isDeleted = false, name = reportName(a, sha256Hex)) =>
    reports.heard({ kind: "ConfigMap", metadata: { name }, data }, isDeleted)
  return {
    reports,
    told,
    hear,
    /** A report that is written now, by a clock that is ahead by so much. */
    report: (ahead = 0) =>
      reportText(connected(clock.currentTimeMillisUnsafe() + ahead), clock.currentTimeMillisUnsafe() + ahead),
    leave: (ms: number) => (ownerlessFor = ms)
  }
})

describe("clusters as their owners report them", () => {
  it.effect("are known by the last report, by this process's clock", function* () {
    const { hear, report, reports } = yield* start
    yield* TestClock.adjust("1 hour")
    expect(reports.of(a, server)).toBeUndefined()
    hear({ [clusterEntry]: report(-1_800_000) })
    expect(reports.of(a, server)).toMatchObject({ since: 3_600_000, isUsable: true, state: { _tag: "Connected" } })
    expect(reports.of(a, "https://other"), "a report on another server says nothing").toBeUndefined()
    hear({ [clusterEntry]: "of another release" })
    expect(reports.of(a, server)).toBeUndefined()
  })

  it.effect(
    "count as checked until now while their owner lives, since it reports a failed check at once",
    function* () {
      const { hear, leave, report, reports } = yield* start
      hear({ [clusterEntry]: report() })
      const checkedAt = () => {
        const state = reports.of(a, server)?.state
        return state?._tag === "Connected" ? state.lastCheck.checkedAt : undefined
      }
      yield* TestClock.adjust("1 minute")
      expect(checkedAt()).toBe(60_000)
      leave(1_000)
      expect(checkedAt()).toBe(0)
    }
  )

  it.effect("are lost when nobody has owned them for long, whatever the last owner has said", function* () {
    const { hear, leave, report, reports } = yield* start
    hear({ [clusterEntry]: report() })
    yield* TestClock.adjust("5 minutes")
    leave(ownerlessGrace - 1)
    expect(reports.of(a, server)).toMatchObject({ isUsable: true })
    leave(ownerlessGrace)
    const since = 300_000 - ownerlessGrace
    expect(reports.of(a, server)).toMatchObject({
      isUsable: false,
      since,
      unreadableSince: since,
      state: { _tag: "Lost", reason: { message: "no replica of the operator serves it" } }
    })
  })

  it.effect("are told of when something of them changes: the cluster, or single children", function* () {
    const { hear, report, reports, told } = yield* start
    const first = { [clusterEntry]: report(), one: childText("one", "Pending"), two: childText("two", "Pending") }
    hear(first)
    const before = reports.children(a).get("two")?.child
    hear({ ...first, one: childText("one", "Ready") })
    expect(reports.children(a).get("two")?.child, "the same object as before").toBe(before)
    yield* TestClock.adjust(1)
    hear({ [clusterEntry]: report(), two: first.two })
    expect(told).toEqual([
      'a, news, one {"phase":"Pending"}, two {"phase":"Pending"}',
      'a, one {"phase":"Ready"}',
      'a, news, one {"phase":"Ready"}'
    ])
    expect([...reports.children(a).keys()]).toEqual(["two"])
  })

  it.effect("have no child by a text that is none, and take no other ledger for a report", function* () {
    const { hear, report, reports, told } = yield* start
    hear({ [clusterEntry]: report(), broken: "{", list: "[]", nameless: '{"metadata":{}}' })
    expect(reports.children(a).size).toBe(0)
    const before = told.length
    hear({ one: childText("one", "Ready") }, false, "mirrord-operator-debts")
    expect(told).toHaveLength(before)
  })

  it.effect("stand as they are when somebody deletes the report, until their owner writes it again", function* () {
    const { hear, report, reports, told } = yield* start
    const data = { [clusterEntry]: report(), one: childText("one", "Ready") }
    hear(data)
    hear(data, true)
    expect([told.length, reports.of(a, server)?.isUsable, reports.children(a).size]).toEqual([1, true, 1])
  })
})
