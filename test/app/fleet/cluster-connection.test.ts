import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeFleet } from "../../../src/app/fleet/fleet.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { ClusterConnector } from "../../../src/ports/cluster-connector.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { LinkRefused } from "../../../src/ports/member-link.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf, giveCredentials } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { day0, fleetOptions, operators, pass, workloadCluster } from "../sessions/session-fleet.ts"

/** A fleet whose members are told by `before` what to do with each request. */
const start = Effect.fnUntraced(function* (
  names: ReadonlyArray<string>,
  before: (name: string, plural: string) => Effect.Effect<void, KubeError>
) {
  yield* TestClock.setTime(day0)
  const primary = new MemoryKubeApi("primary")
  for (const name of names) giveCredentials(primary, name)
  const told: Array<string> = []
  const link = () => Effect.fail(new LinkRefused({ cluster: "a", reason: "", detail: "none" }))
  const member = (name: string): MemoryKubeApi => {
    const api = workloadCluster(name)
    api.before = ({ plural }) => before(name, plural)
    return api
  }
  const fleet = yield* makeFleet(
    fleetOptions({
      configuration: configurationOf(names),
      events: {
        happened: (_cluster, { message, reason }) => void told.push(`${reason}: ${message}`)
      }
    })
  ).pipe(
    Effect.provideService(ClusterConnector, {
      own: { api: primary, link },
      member: ({ name }) => Effect.succeed({ api: member(name), link, reauthenticate: () => {} })
    })
  )
  const health = (name: string) => fleet.clusters.get(clusterName(name))?.health()?.health
  return { fleet, health, told }
})

describe("clusters that are connected to for the first time", () => {
  const names = Array.from({ length: 200 }, (_, index) => `cluster-${index}`)
  const isSilent = (name: string) => Number(name.slice("cluster-".length)) < 100

  it.effect("are so many at once at most, and silent ones delay the others by a second or two", function* () {
    const asked = new Set<string>()
    const { fleet, health } = yield* start(names, (name) =>
      Effect.suspend(() => {
        asked.add(name)
        return isSilent(name) ? Effect.never : Effect.void
      })
    )
    yield* pass(0.5)
    expect(asked.size).toBe(64)
    yield* pass(3)
    expect(asked.size).toBe(200)
    const well = names.filter((name) => !isSilent(name))
    expect(well.filter((name) => health(name)?._tag !== "Connected")).toEqual([])
    expect(fleet.clusters.size).toBe(200)
  })
})

describe("a right that is missing in a cluster", () => {
  const forbidden = (cluster: string, detail: string) =>
    Effect.fail(new KubeError({ cluster, operation: "get", reason: "Forbidden", code: 403, detail }))
  const cannot = 'is forbidden: User "u" cannot'

  it.effect("is told once, with the verb and the cure, and again when it is missing again", function* () {
    let isGranted = false
    const { health, told } = yield* start(["a"], (name, plural) =>
      plural === operators.plural && !isGranted ? forbidden(name, `operators ${cannot} get it`) : Effect.void
    )
    yield* pass(30)
    const sentence = `operators ${cannot} get it; upgrade the chart there, whose roles have this right`
    expect(told).toEqual([expect.stringMatching(/^RightMissing: Cluster a cannot be used in full: /u)])
    expect(told[0]).toContain(sentence)
    expect(health("a")).toMatchObject({ _tag: "Error", lacksRight: true })
    isGranted = true
    yield* pass(10)
    expect([health("a")?._tag, told.length]).toEqual(["Connected", 1])
    isGranted = false
    yield* pass(15)
    expect(told).toHaveLength(2)
  })

  it.effect("of its sessions is told too, although its operator answers", function* () {
    const { health, told } = yield* start(["a"], (name, plural) =>
      plural === mirrordClusterSessions.plural ? forbidden(name, `sessions ${cannot} list them`) : Effect.void
    )
    yield* pass(30)
    expect(health("a")?._tag).toBe("Connected")
    expect(told).toEqual([expect.stringMatching(/^RightMissing: .* cannot list them; upgrade the chart there/u)])
  })
})

describe("a cluster that is lost", () => {
  it.effect("is told once, with the reason and the command that cures it, and once when it is back", function* () {
    let isGone = false
    const { health, told } = yield* start(["a"], (name) =>
      isGone
        ? Effect.fail(
            new KubeError({
              cluster: name,
              operation: "get",
              reason: "Unauthorized",
              code: 401,
              detail: "Unauthorized"
            })
          )
        : Effect.void
    )
    yield* pass(10)
    expect([health("a")?._tag, told]).toEqual(["Connected", []])
    isGone = true
    yield* pass(30)
    const problem =
      "it refuses the primary's credentials (401): their account may be gone; " +
      "braid join a --apply --wait makes new ones"
    expect(health("a")).toMatchObject({ _tag: "Error", message: problem })
    expect(told).toEqual([`ClusterLost: Cluster a is lost, and sessions go on without it: ${problem}.`])
    isGone = false
    yield* pass(30)
    expect(told.slice(1)).toEqual(["ClusterConnected: Cluster a answers again, and sessions have it back."])
  })
})
