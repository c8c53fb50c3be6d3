import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeFleet } from "../../../src/app/fleet/fleet.ts"
import { ReportedClusters } from "../../../src/app/fleet/reported-clusters.ts"
import { eventsOfReported } from "../../../src/app/fleet/reported-connection.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { identityRefusedEvent } from "../../../src/domain/events/fleet-events.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { ownerlessGrace } from "../../../src/domain/fleet/sharding/cluster-leases.ts"
import { type ClusterReport, reportText } from "../../../src/domain/fleet/sharding/cluster-report.ts"
import { clusterEntry, reportName } from "../../../src/domain/fleet/sharding/report-names.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { ClusterConnector } from "../../../src/ports/cluster-connector.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf, giveCredentials } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { day0, fleetOptions, pass, workloadCluster } from "../sessions/session-fleet.ts"

const a = clusterName("a")

const connected = (now: number, more: Partial<ClusterReport> = {}): ClusterReport => ({
  server: "https://a",
  state: {
    _tag: "Connected",
    lastCheck: { askedAt: now, checkedAt: now },
    operator: { _tag: "Connected", operatorVersion: "of a", fingerprint: undefined, parametersInHeader: true },
    failedChecks: 0
  },
  since: now,
  isUsable: true,
  ...more
})

const childOf = (name: string) => ({ metadata: { name, uid: `uid of ${name}` }, status: { phase: "Ready" } })

/** The fleet of a leader that is told of its member by another process. */
const start = Effect.gen(function* () {
  yield* TestClock.setTime(day0)
  const [primary, member] = [new MemoryKubeApi("primary"), workloadCluster("a")]
  let ownerlessFor = 0
  const owners = { ownerOf: () => "the-owner", ownerlessFor: () => ownerlessFor }
  const reports = new ReportedClusters(owners, sha256Hex, yield* Clock.Clock)
  const events: Array<string> = []
  const told = (what: string) => (cluster: string) => void events.push(`${what} ${cluster}`)
  const fleet = yield* makeFleet(
    fleetOptions({
      configuration: configurationOf(["a"]),
      reports,
      events: {
        childChanged: (_cluster, { metadata }) => void events.push(`child ${metadata.name}`),
        reachChanged: told("reach"),
        happened: told("happened")
      }
    })
  ).pipe(
    Effect.provideService(ClusterConnector, {
      own: { api: primary, link: () => Effect.die("none") },
      member: () => Effect.succeed({ api: member, link: () => Effect.die("none"), reauthenticate: () => {} })
    })
  )
  const report = (of: (now: number) => ClusterReport, children: ReadonlyArray<string> = []) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const data = {
        [clusterEntry]: reportText(of(now), now),
        ...Object.fromEntries(children.map((name) => [name, JSON.stringify(childOf(name))]))
      }
      reports.heard({ metadata: { name: reportName(a, sha256Hex) }, data }, false)
      return pass(1)
    })
  const cluster = () => {
    const found = fleet.clusters.get(a)
    if (found === undefined) throw new Error("the fleet has no cluster a")
    return found
  }
  return { cluster, events, member, primary, report, leave: (ms: number) => (ownerlessFor = ms) }
})

describe("a connection to a cluster that another process watches", () => {
  it.effect("is as its owner reports it, and neither watches nor checks the cluster", function* () {
    const { cluster, events, member, primary, report } = yield* start
    giveCredentials(primary, "a")
    yield* pass(60)
    expect(cluster().access(), "nothing is reported yet").toBeUndefined()
    yield* report(connected, ["mc-1"])
    expect(cluster().reach().reachable).toBe(true)
    expect(cluster().health()?.health).toMatchObject({ _tag: "Connected", operatorVersion: "of a" })
    expect(cluster().access()).toBeDefined()
    expect(cluster().children()?.get("mc-1")?.metadata.uid).toBe("uid of mc-1")
    expect(events).toContain("child mc-1")
    expect(member.calls).toEqual([])
    const isLost = (now: number): ClusterReport => {
      const lastCheck = { askedAt: now, checkedAt: now }
      const reason = {
        _tag: "ChecksFailed",
        lastCheck,
        failedChecks: 2,
        message: "it is away",
        lacksRight: false
      } as const
      return connected(now, { state: { _tag: "Lost", reason } })
    }
    yield* report(isLost, ["mc-1"])
    expect(cluster().reach()).toMatchObject({ reachable: false, error: "it is away" })
  })

  it.effect("cannot be used without credentials of its own, whatever the owner says", function* () {
    const { cluster, primary, report } = yield* start
    yield* report(connected)
    expect([cluster().access(), cluster().reach().reachable]).toEqual([undefined, false])
    giveCredentials(primary, "a")
    yield* pass(1)
    expect([cluster().access() !== undefined, cluster().reach().reachable]).toEqual([true, true])
  })

  it.effect(
    "is not used where the owner says that it is another cluster, and is unreadable since the owner says so",
    function* () {
      const { cluster, primary, report } = yield* start
      giveCredentials(primary, "a")
      yield* report((now) => connected(now, { isUsable: false, unreadableSince: now - 5_000 }))
      expect(cluster().access()).toBeUndefined()
      yield* report((now) => connected(now, { unreadableSince: now - 5_000 }), ["mc-1"])
      expect(cluster().access()).toBeDefined()
      expect(cluster().unreadableSince()).toBe(day0 + 1_000 - 5_000)
    }
  )

  it.effect("is lost without a report when nobody owns the cluster any more", function* () {
    const { cluster, events, leave, primary, report } = yield* start
    giveCredentials(primary, "a")
    yield* report(connected)
    const before = events.length
    leave(ownerlessGrace)
    yield* pass(6)
    expect(cluster().reach()).toMatchObject({ reachable: false, error: "no replica of the operator serves it" })
    expect(events.slice(before)).toEqual(["reach a"])
  })

  it.effect("has no child any more that the cluster has not, although it is still reported", function* () {
    const { cluster, member, primary, report } = yield* start
    giveCredentials(primary, "a")
    member.write(mirrordClusterSessions, "mc-2", {})
    yield* report(connected, ["mc-1", "mc-2"])
    const names = () =>
      cluster()
        .children()
        ?.all()
        .map(({ metadata }) => metadata.name)
    for (const name of ["mc-1", "mc-2"]) yield* cluster().children()?.reread(name) ?? Effect.void
    expect([names(), cluster().children()?.get("mc-1")]).toEqual([["mc-2"], undefined])
    expect(cluster().children()?.synced()).toBe(true)
  })
})

describe("the events of a connection that is reported", () => {
  it.effect("leave all about credentials and identity to the owner", () =>
    Effect.sync(() => {
      const heard: Array<string> = []
      const tell = (what: string) => () => void heard.push(what)
      const events = eventsOfReported({
        childChanged: tell("child"),
        reachChanged: tell("reach"),
        happened: tell("happened")
      })
      events.childChanged(a, childOf("mc-1"))
      events.reachChanged(a)
      events.happened(a, identityRefusedEvent(a, "it is another cluster"))
      expect(heard).toEqual(["child", "reach"])
    })
  )
})
