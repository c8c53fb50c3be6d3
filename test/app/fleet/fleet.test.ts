import { Clock, Effect, Exit, Fiber, Logger, Redacted, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import type { FleetCluster } from "../../../src/app/fleet/fleet-cluster.ts"
import { makeFleet } from "../../../src/app/fleet/fleet.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName, credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import type { FleetConfiguration } from "../../../src/domain/fleet/configuration.ts"
import { credentialsLabel } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import type { MemberCredentials } from "../../../src/domain/fleet/credentials/member-credentials.ts"
import { momentText } from "../../../src/domain/fleet/credentials/validity.ts"
import { workloadClusters } from "../../../src/domain/fleet/roles.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { type ClusterAccess, ClusterConnector } from "../../../src/ports/cluster-connector.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { LinkRefused } from "../../../src/ports/member-link.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf, giveCredentials, operatorNamespace } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { day0, fleetOptions, operators, ownHealth, pass, workloadCluster } from "../sessions/session-fleet.ts"
import { granting, type Granting, jwt } from "./granting-member.ts"

const a = clusterName("cluster-a")
const secretName = credentialsSecretName(a, sha256Hex)

const start = (
  configuration: FleetConfiguration,
  primary = new MemoryKubeApi("primary"),
  member = workloadCluster("cluster-a")
) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(day0)
    const engaged: Array<MemberCredentials> = []
    const reauthenticated: Array<MemberCredentials> = []
    const events: Array<string> = []
    const access = (api: MemoryKubeApi): ClusterAccess => ({
      api,
      link: () => Effect.fail(new LinkRefused({ cluster: api.cluster, reason: "", detail: "none" }))
    })
    const fleet = yield* makeFleet(
      fleetOptions({
        configuration,
        events: {
          // Listeners use the fleet: it must be there already.
          joined: ({ name }) => void events.push(`joined ${name} ${fleet.clusters.has(name)}`),
          left: (cluster) => void events.push(`left ${cluster} ${fleet.clusters.has(cluster)}`),
          childChanged: (cluster, { metadata }) => void events.push(`child ${cluster} ${metadata.name}`),
          reachChanged: (cluster) =>
            void events.push(`reach ${cluster} ${fleet.clusters.get(cluster)?.reach().reachable}`)
        }
      })
    ).pipe(
      Effect.provideService(ClusterConnector, {
        own: access(primary),
        member: (_member, credentials) =>
          Effect.sync(() => {
            engaged.push(credentials)
            return { ...access(member), reauthenticate: (next) => void reauthenticated.push(next) }
          })
      })
    )
    const cluster = () => {
      const found = fleet.clusters.get(a)
      if (found === undefined) throw new Error("cluster-a is missing")
      return found
    }
    return { fleet, cluster, engaged, reauthenticated, events, primary, member }
  })

describe("the fleet", () => {
  it.effect("engages a cluster when its credentials are there, and knows how its operator is", function* () {
    const { cluster, engaged, events, fleet, primary } = yield* start(configurationOf(["cluster-a"]))
    expect(cluster().reach()).toEqual({ reachable: true, error: undefined, isConnecting: true })
    yield* pass(1)
    expect(cluster().reach()).toMatchObject({
      reachable: false,
      error: expect.stringMatching(new RegExp(`Secret ${secretName} .* does not exist`))
    })
    yield* fleet.checked
    giveCredentials(primary, "cluster-a")
    yield* pass(1)
    expect(engaged).toHaveLength(1)
    expect(cluster().reach().reachable).toBe(true)
    expect(cluster().health()?.health).toMatchObject({
      _tag: "Connected",
      operatorVersion: "1",
      parametersInHeader: true
    })
    expect(events.at(-1)).toBe("reach cluster-a true")
  })

  it.effect(
    "does not take a cluster for lost whose credentials came late, but looks at it as if for the first time",
    function* () {
      const member = workloadCluster("cluster-a")
      member.before = ({ plural }) => (plural === operators.plural ? Effect.sleep("1 second") : Effect.void)
      const { cluster, events, primary } = yield* start(configurationOf(["cluster-a"]), undefined, member)
      yield* pass(1)
      expect(cluster().reach().reachable).toBe(false)
      giveCredentials(primary, "cluster-a")
      yield* Effect.repeat(TestClock.adjust("250 millis"), { times: 1 })
      expect([cluster().reach(), cluster().health()]).toEqual([
        { reachable: true, error: undefined, isConnecting: true },
        undefined
      ])
      expect(events.at(-1)).toBe("reach cluster-a true")
      member.before = ({ plural }) => (plural === operators.plural ? Effect.never : Effect.void)
      primary.erase(secrets, secretName, operatorNamespace)
      yield* pass(1)
      giveCredentials(primary, "cluster-a")
      yield* pass(15)
      expect(cluster().reach()).toMatchObject({ reachable: false, error: "its operator did not answer in time" })
    }
  )

  it.effect("says what is wrong with credentials, and never what they are", function* () {
    const { cluster, primary } = yield* start({
      ...configurationOf([]),
      members: [
        {
          name: a,
          server: "https://a",
          namespace: undefined,
          certificateAuthority: undefined,
          auth: { _tag: "Mtls" },
          problems: []
        }
      ]
    })
    primary.write(
      secrets,
      secretName,
      {
        metadata: { labels: { "operator.metalbear.co/remote-cluster-credentials": "true" } },
        data: { "tls.crt": "c2VjcmV0" }
      },
      operatorNamespace
    )
    yield* pass(1)
    expect(cluster().reach().error).toMatch(/tls\.crt/)
    expect(cluster().reach().error).not.toContain("secret")
  })

  it.effect(
    "new credentials are used at once, cost no watch, and are no loss of the cluster; the same change nothing",
    function* () {
      const primary = new MemoryKubeApi("primary")
      giveCredentials(primary, "cluster-a", "one")
      const { cluster, engaged, events, member, reauthenticated } = yield* start(
        configurationOf(["cluster-a"]),
        primary
      )
      const lists = () => member.calls.filter(({ verb }) => verb === "list" || verb === "watch").length
      yield* pass(1)
      const before = lists()
      primary.write(secrets, secretName, { metadata: { labels: { more: "1" } } }, operatorNamespace)
      yield* pass(1)
      expect([engaged.length, reauthenticated]).toEqual([1, []])
      giveCredentials(primary, "cluster-a", "two")
      yield* pass(1)
      expect([engaged.length, reauthenticated.length, lists()]).toEqual([1, 1, before])
      expect(events.filter((event) => event.endsWith("false"))).toEqual([])
      expect(cluster().reach().reachable).toBe(true)
      expect(member.openWatches).toBe(1)
      primary.erase(secrets, secretName, operatorNamespace)
      yield* pass(1)
      expect([cluster().reach().reachable, cluster().access(), member.openWatches]).toEqual([false, undefined, 0])
      giveCredentials(primary, "cluster-a", "three")
      yield* pass(1)
      expect([cluster().reach().reachable, engaged.length, reauthenticated.length]).toEqual([true, 2, 1])
    }
  )

  it.effect("one failed check is no loss, two are; it is found when it is back", function* () {
    const primary = new MemoryKubeApi("primary")
    giveCredentials(primary, "cluster-a")
    const { cluster, member } = yield* start(configurationOf(["cluster-a"]), primary)
    yield* pass(1)
    let failing = 1
    member.before = ({ plural }) => (plural === operators.plural && failing-- > 0 ? Effect.never : Effect.void)
    for (let second = 0; second < 15; second++) {
      yield* pass(1)
      expect([cluster().reach().reachable, cluster().health()?.health._tag]).toEqual([true, "Connected"])
    }
    failing = 1_000
    // Until the next check, its patience, a pause, and the second one's patience.
    yield* pass(17)
    const lost = cluster().reach()
    expect(lost).toMatchObject({ reachable: false, error: "its operator did not answer in time" })
    // It says of when this is: the look that decides began so long before it was given up.
    expect((cluster().health()?.checkedAt ?? 0) - (lost.askedAt ?? 0)).toBe(3_000)
    failing = 0
    yield* pass(15)
    expect(cluster().reach().reachable).toBe(true)
  })

  it.effect(
    "one failed check is no loss either when it is the first of all: the next comes soon, and says how the cluster is",
    function* () {
      const primary = new MemoryKubeApi("primary")
      giveCredentials(primary, "cluster-a")
      const member = workloadCluster("cluster-a")
      let failing = 1
      member.before = ({ plural }) =>
        plural === operators.plural && failing-- > 0
          ? Effect.fail(
              new KubeError({ cluster: "cluster-a", operation: "get", reason: "Other", code: 500, detail: "oops" })
            )
          : Effect.void
      const { cluster, events, fleet } = yield* start(configurationOf(["cluster-a"]), primary, member)
      let isChecked = false
      yield* Effect.forkScoped(
        Effect.andThen(fleet.checked, () =>
          Effect.sync(() => {
            isChecked = true
          })
        )
      )
      yield* pass(0.5)
      expect([cluster().reach().reachable, isChecked]).toEqual([true, false])
      yield* pass(1.5)
      expect(cluster().health()?.health).toMatchObject({ _tag: "Connected" })
      expect([cluster().reach().reachable, isChecked]).toEqual([true, true])
      expect(events.filter((event) => event.endsWith("false"))).toEqual([])
    }
  )

  it.effect(
    "a cluster that refuses is lost within 2 s, and one whose operator is silent within 10 s; then every failed " +
      "check finds it lost",
    function* () {
      const primary = new MemoryKubeApi("primary")
      giveCredentials(primary, "cluster-a")
      const refusing = workloadCluster("cluster-a")
      refusing.setReachable(false)
      const down = yield* start(configurationOf(["cluster-a"]), primary, refusing)
      yield* pass(2)
      expect(down.cluster().reach().reachable).toBe(false)
      const silent = workloadCluster("cluster-a")
      silent.before = ({ plural }) => (plural === operators.plural ? Effect.never : Effect.void)
      const hung = yield* start(configurationOf(["cluster-a"]), primary, silent)
      yield* pass(9.5)
      expect(hung.cluster().reach()).toMatchObject({ reachable: false, error: "its operator did not answer in time" })
      const before = hung.events.length
      yield* pass(30)
      expect(hung.cluster().reach().reachable).toBe(false)
      expect(hung.events.slice(before)).toEqual([])
    }
  )

  it.effect("tells when children become readable although there are none, and since when they are not", function* () {
    const primary = new MemoryKubeApi("primary")
    giveCredentials(primary, "cluster-a")
    const member = workloadCluster("cluster-a")
    member.before = ({ plural, verb }) =>
      plural === mirrordClusterSessions.plural && verb === "list" ? Effect.sleep(20_000) : Effect.void
    const { cluster, events } = yield* start(configurationOf(["cluster-a"]), primary, member)
    yield* pass(10)
    expect(cluster().unreadableSince()).toBeGreaterThanOrEqual(day0)
    const before = events.length
    yield* pass(12)
    expect(cluster().unreadableSince()).toBeUndefined()
    expect(events.slice(before)).toContain("reach cluster-a true")
  })

  it.effect(
    "gives a cluster that is back the usual time for its list, also where only one check had failed",
    function* () {
      const primary = new MemoryKubeApi("primary")
      giveCredentials(primary, "cluster-a")
      const member = workloadCluster("cluster-a")
      const { cluster } = yield* start(configurationOf(["cluster-a"]), primary, member)
      yield* pass(2)
      member.setReachable(false)
      yield* pass(5)
      const early = yield* Clock.currentTimeMillis
      member.before = ({ plural, verb }) =>
        plural === mirrordClusterSessions.plural && verb === "list" ? Effect.sleep(20_000) : Effect.void
      member.setReachable(true)
      yield* pass(4)
      expect(cluster().reach().reachable).toBe(true)
      expect(cluster().unreadableSince()).toBeGreaterThan(early)
    }
  )

  it.effect("tells of children that change, but not of their heartbeats", function* () {
    const primary = new MemoryKubeApi("primary")
    giveCredentials(primary, "cluster-a")
    const { events, member } = yield* start(configurationOf(["cluster-a"]), primary)
    yield* pass(1)
    const before = events.length
    member.write(mirrordClusterSessions, "child", { spec: {} })
    yield* pass(0.1)
    member.write(mirrordClusterSessions, "child", { status: { connectedTimestamp: "2026-01-01T00:00:00Z" } })
    yield* pass(0.1)
    member.erase(mirrordClusterSessions, "child")
    yield* pass(0.1)
    expect(events.slice(before)).toEqual(["child cluster-a child", "child cluster-a child"])
  })

  it.effect(
    "a cluster whose configuration is wrong, or that no token can be made for, is reported and holds up no other",
    function* () {
      const primary = new MemoryKubeApi("primary")
      giveCredentials(primary, "cluster-b")
      const base = configurationOf(["cluster-a", "cluster-b", "cluster-c"])
      const [first, second, third] = base.members
      if (first === undefined || second === undefined || third === undefined) throw new Error("members are missing")
      const members = [
        { ...first, problems: ["certificateAuthority is not PEM."] },
        second,
        { ...third, auth: { _tag: "Aks", tenantId: undefined, clientId: undefined } as const }
      ]
      giveCredentials(primary, "cluster-c")
      const { fleet } = yield* start({ ...base, members }, primary)
      yield* pass(1)
      yield* fleet.checked
      const reach = (name: string) => fleet.clusters.get(clusterName(name))?.reach()
      expect(reach("cluster-a")).toEqual({ reachable: false, error: "certificateAuthority is not PEM." })
      expect(reach("cluster-b")).toEqual({ reachable: true, error: undefined })
      expect(reach("cluster-c")).toMatchObject({
        reachable: false,
        error: expect.stringContaining("no identity in a cloud")
      })
    }
  )

  it.effect("has the primary itself in it unless it only manages, by its own identity", function* () {
    const { fleet, primary } = yield* start({ ...configurationOf([]), managementOnly: false })
    yield* pass(1)
    yield* fleet.checked
    expect(fleet.clusters.get(clusterName("primary"))?.access()?.api).toBe(primary)
    expect(fleet.clusters.get(clusterName("primary"))?.health()?.health).toEqual(ownHealth)
  })

  it.effect("connects to a cluster that joins later, and to none that has left", function* () {
    const { cluster, engaged, events, fleet, member, primary } = yield* start(configurationOf([]))
    yield* pass(1)
    expect([fleet.clusters.size, events]).toEqual([0, []])
    const [joining] = workloadClusters(configurationOf(["cluster-a"]))
    if (joining === undefined) throw new Error("there is no cluster to join")
    giveCredentials(primary, "cluster-a")
    yield* fleet.join(joining)
    yield* fleet.checked
    expect(cluster().health()?.health._tag).toBe("Connected")
    expect(events[0]).toBe("joined cluster-a true")
    const former = cluster()
    yield* fleet.leave(a)
    expect([fleet.clusters.size, former.access(), member.openWatches]).toEqual([0, undefined, 0])
    expect(events.at(-1)).toBe("left cluster-a false")
    const before = events.length
    giveCredentials(primary, "cluster-a", "another")
    yield* pass(10)
    expect([engaged.length, events.length]).toEqual([1, before])
    // The Secrets are watched already: the newest version is used at once.
    yield* fleet.join(joining)
    yield* pass(1)
    expect([engaged.length, cluster().reach().reachable]).toEqual([2, true])
    expect(events[before]).toBe("joined cluster-a true")
  })

  it.effect("waits for no check of a cluster that leaves", function* () {
    const member = workloadCluster("cluster-a")
    member.before = () => Effect.never
    const primary = new MemoryKubeApi("primary")
    giveCredentials(primary, "cluster-a")
    const { fleet } = yield* start(configurationOf(["cluster-a"]), primary, member)
    yield* pass(1)
    const checked = yield* Effect.forkChild(fleet.checked)
    yield* pass(1)
    yield* fleet.leave(a)
    yield* Fiber.join(checked)
  })
})

const hour = 3_600_000

const startGranting = Effect.fnUntraced(function* (first: string, options: Granting = {}) {
  const primary = new MemoryKubeApi("primary")
  const granted = granting(primary, "cluster-a", options)
  giveCredentials(primary, "cluster-a", first)
  const used: Array<string> = []
  const ignored: Array<string> = []
  const text = (credentials: MemberCredentials): string =>
    credentials._tag === "BearerToken" ? Redacted.value(credentials.token) : ""
  const connector = {
    own: { api: primary, link: () => Effect.die("none") },
    member: (_member: unknown, credentials: MemberCredentials) =>
      Effect.sync(() => {
        const { api, become } = granted.accessOf(text(credentials))
        used.push(text(credentials))
        const reauthenticate = (next: MemberCredentials): void => {
          used.push(text(next))
          become(text(next))
        }
        return { api, link: () => Effect.die("none"), reauthenticate }
      })
  }
  let credentials: FleetCluster["credentials"] = () => undefined
  const begin = Effect.gen(function* () {
    const fleet = yield* makeFleet(
      fleetOptions({
        configuration: configurationOf(["cluster-a"]),
        events: {
          happened: (_cluster, { message, reason }) => {
            if (reason === "TokenIgnored") ignored.push(message)
          }
        }
      })
    ).pipe(Effect.provideService(ClusterConnector, connector))
    credentials = () => fleet.clusters.get(a)?.credentials()
    return () => fleet.clusters.get(a)?.reach()
  })
  yield* TestClock.setTime(day0)
  return { ...granted, primary, used, ignored, begin, credentials: () => credentials() }
})
/** Lets so many hours pass, in steps in which a lost cluster is noticed. */
const hours = (count: number) =>
  Effect.forEach(Array.from({ length: Math.round(count * 60) }), () => TestClock.adjust("1 minute"), { discard: true })

describe("a member's token", () => {
  it.effect("is renewed before it ends, as long as the operator lives, and the member is never lost", function* () {
    const { asked, begin, kept, member, used } = yield* startGranting(jwt(0, 2 * hour))
    const reach = yield* begin
    const lists = () => member.calls.filter(({ verb }) => verb === "list").length
    yield* pass(1)
    const before = lists()
    for (let passed = 0; passed < 10; passed++) {
      yield* hours(1)
      expect(reach()).toEqual({ reachable: true, error: undefined })
    }
    expect(asked.length).toBeGreaterThan(5)
    for (const { seconds } of asked) expect(seconds).toBe(7_200)
    expect(kept()).toBe(used.at(-1))
    expect(lists(), "a new token costs no list").toBe(before)
  })

  it.effect("is asked for with the first lifetime, and renewed by the lifetime that was granted", function* () {
    const { asked, begin } = yield* startGranting(jwt(0, 3 * hour), { lifetime: hour })
    yield* begin
    yield* hours(6)
    expect(asked.map(({ seconds }) => seconds)).toEqual(asked.map(() => 3 * 3_600))
    const gaps = asked.slice(1).map(({ at: moment }, i) => moment - (asked[i]?.at ?? 0))
    for (const gap of gaps) {
      expect(gap).toBeGreaterThanOrEqual(0.7 * hour)
      expect(gap).toBeLessThanOrEqual(0.8 * hour + 60_000)
    }
    expect(gaps.length).toBeGreaterThan(2)
  })

  it.effect("is known to the next operator, although Helm has written the first one back", function* () {
    const first = jwt(0, 2 * hour)
    const { begin, kept, primary, used } = yield* startGranting(first)
    const life = yield* Scope.make()
    yield* Scope.provide(begin, life)
    yield* hours(1.8)
    yield* Scope.close(life, Exit.void)
    giveCredentials(primary, "cluster-a", first)
    yield* hours(0.5)
    const reach = yield* begin
    yield* pass(1)
    yield* hours(0.1)
    expect([used.at(-1) === first, used.at(-1) === kept(), reach()?.reachable]).toEqual([false, true, true])
  })

  it.effect("in the Secret that is older than the one in use is told of, and not used", () => {
    const lines: Array<unknown> = []
    const logger = Logger.map(Logger.formatStructured, ({ message }) => {
      if (String(message).includes("ignored")) lines.push(message)
    })
    return Effect.gen(function* () {
      const { begin, ignored, primary, used } = yield* startGranting(jwt(0, 2 * hour))
      yield* begin
      yield* hours(1.8)
      const before = used.length
      expect([used.length > 1, ignored]).toEqual([true, []])
      const older = jwt(-hour, 2 * hour)
      giveCredentials(primary, "cluster-a", older)
      yield* hours(0.01)
      expect(used.length).toBe(before)
      // Helm's next upgrade writes the same once more, and the token in use is renewed.
      giveCredentials(primary, "cluster-a", older)
      yield* hours(2)
      expect(used.length).toBeGreaterThan(before)
      expect(lines).toEqual(["token in the Secret is ignored, a renewed one is newer"])
      expect(ignored).toEqual([expect.stringContaining(`the token now in Secret ${secretName} is ignored`)])
    }).pipe(Effect.provide(Logger.layer([logger])))
  })

  it.effect("is tried again after a failure, and the old one is used until the new one has come", function* () {
    const { asked, begin, credentials, refuse, used } = yield* startGranting(jwt(0, 10 * hour))
    refuse("Forbidden")
    const reach = yield* begin
    yield* hours(9)
    expect([used.length, reach()?.reachable]).toEqual([1, true])
    expect(credentials()).toEqual({ auth: "bearerToken", until: day0 + 10 * hour, failures: asked.length })
    const before = asked.length
    expect(before).toBeGreaterThan(5)
    expect(before, "pauses grow").toBeLessThan(60)
    refuse(undefined)
    yield* hours(0.2)
    expect([used.length > 1, reach()?.reachable]).toEqual([true, true])
    expect(credentials()?.failures).toBe(0)
  })

  it.effect(
    "that has ended is told with its end and the command that mends it; a new one is used at once",
    function* () {
      const { begin, primary } = yield* startGranting(jwt(-3 * hour, -hour))
      const reach = yield* begin
      yield* pass(20)
      expect(reach()?.error).toContain(
        `the token of this cluster ended at ${momentText(day0 - hour)}; run \`kubectl create token ` +
          "mirrord-operator-envoy -n mirrord --duration 24h` there, and write the result to key bearerToken of " +
          `Secret ${secretName}`
      )
      giveCredentials(primary, "cluster-a", jwt(0, 2 * hour))
      yield* pass(5)
      expect(reach()?.reachable).toBe(true)
    }
  )

  it.effect("that cannot be kept is used, and kept as soon as that is possible", function* () {
    const { begin, kept, primary, used } = yield* startGranting(jwt(0, 2 * hour))
    primary.before = ({ plural, verb }) =>
      plural === secrets.plural && (verb === "create" || verb === "patch")
        ? Effect.fail(new KubeError({ cluster: "primary", operation: verb, reason: "Forbidden", detail: "no right" }))
        : Effect.void
    const reach = yield* begin
    yield* hours(3)
    expect([reach()?.reachable, kept()]).toEqual([true, undefined])
    primary.before = () => Effect.void
    yield* hours(0.2)
    expect(kept()).toBe(used.at(-1))
  })

  it.effect("is renewed while it cannot be kept, for longer than a token lives", function* () {
    const { begin, primary } = yield* startGranting(jwt(0, 2 * hour))
    primary.before = ({ plural, verb }) =>
      plural === secrets.plural && (verb === "create" || verb === "patch")
        ? Effect.fail(new KubeError({ cluster: "primary", operation: verb, reason: "Forbidden", detail: "no right" }))
        : Effect.void
    const reach = yield* begin
    yield* hours(7)
    expect(reach()?.reachable).toBe(true)
  })

  it.effect("that the member has just granted is not used before the member knows it", function* () {
    const first = jwt(-9 * hour, hour)
    const { asked, begin, kept, refuseTokens } = yield* startGranting(first)
    refuseTokens((token) => token !== first)
    const reach = yield* begin
    yield* hours(0.5)
    expect(asked.length).toBeGreaterThan(1)
    expect([reach()?.reachable, kept()]).toEqual([true, undefined])
    refuseTokens(() => false)
    yield* hours(0.2)
    expect([reach()?.reachable, kept() === undefined]).toEqual([true, false])
  })

  it.effect(
    "is used on whatever way the member fails to grant another one, and renewed when it grants again",
    function* () {
      for (const reason of ["Unauthorized", "NotFound", "TooManyRequests", "Other", "silence", "no token"] as const) {
        const first = jwt(-9 * hour, hour)
        const { asked, begin, kept, refuse, used } = yield* startGranting(first)
        refuse(reason)
        const reach = yield* begin
        yield* hours(0.5)
        expect([used, kept(), reach()?.reachable], reason).toEqual([[first], undefined, true])
        expect(asked.length, "tries").toBeGreaterThan(3)
        expect(asked.length, "pauses").toBeLessThan(20)
        refuse(undefined)
        yield* hours(0.2)
        expect(kept(), reason).toBe(used.at(-1))
      }
    }
  )
  it.effect("is followed on when its Secret is taken away while the next one is granted", function* () {
    const first = jwt(-9 * hour, hour)
    const { begin, primary, refuse, used } = yield* startGranting(first)
    refuse("silence")
    const reach = yield* begin
    yield* pass(12)
    primary.erase(secrets, secretName, operatorNamespace)
    refuse(undefined)
    yield* hours(0.2)
    expect(reach()).toMatchObject({ reachable: false, error: expect.stringContaining("does not exist") })
    giveCredentials(primary, "cluster-a", first)
    yield* hours(0.2)
    expect([reach()?.reachable, used.at(-1) === first]).toEqual([true, false])
  })

  it.effect("is kept in a Secret whose label somebody has taken off, and known by it again", function* () {
    const { begin, kept, primary, used } = yield* startGranting(jwt(-9 * hour, hour))
    primary.write(secrets, `${secretName}-refreshed`, { data: { bearerToken: "bm9uZQ==" } }, operatorNamespace)
    yield* begin
    yield* hours(0.2)
    expect(kept()).toBe(used.at(-1))
    expect(primary.peek(secrets, `${secretName}-refreshed`, operatorNamespace)?.metadata.labels).toMatchObject({
      [credentialsLabel]: "true"
    })
  })

  it.effect("of an account with an impossible name is used as it is, and its Secret is followed on", function* () {
    for (const name of ["\ud800", "..", "a`b`"]) {
      const first = jwt(-9 * hour, hour, { sub: `system:serviceaccount:mirrord:${name}` })
      const { asked, begin, primary, used } = yield* startGranting(first)
      const reach = yield* begin
      yield* hours(0.5)
      expect([asked, reach()?.reachable], JSON.stringify(name)).toEqual([[], true])
      giveCredentials(primary, "cluster-a", jwt(0, 2 * hour))
      yield* pass(1)
      expect(used, JSON.stringify(name)).toEqual([first, jwt(0, 2 * hour)])
    }
  })

  it.effect("that is kept outlives its Secret, which is made again at once", function* () {
    const { begin, kept, primary, used } = yield* startGranting(jwt(-10 * hour, -hour))
    const token = jwt(-hour, 9 * hour, { jti: "kept" })
    giveCredentials(primary, "cluster-a", token, "-refreshed")
    const reach = yield* begin
    yield* pass(1)
    expect(used.at(-1)).toBe(token)
    primary.erase(secrets, `${secretName}-refreshed`, operatorNamespace)
    yield* pass(10)
    expect([used.at(-1), kept(), reach()?.reachable]).toEqual([token, token, true])
  })

  it.effect("stays in use, and is renewed, where somebody writes one that cannot be used in its place", function* () {
    const unknown = jwt(0, 20 * hour, { sub: "ann" })
    for (const slip of [unknown, "two words"]) {
      const first = jwt(0, 10 * hour)
      const { asked, begin, primary, refuseTokens, used } = yield* startGranting(first)
      refuseTokens((token) => token === unknown)
      const reach = yield* begin
      yield* pass(10)
      giveCredentials(primary, "cluster-a", slip)
      yield* pass(10)
      expect([used.at(-1), reach()?.reachable]).toEqual([first, true])
      yield* hours(17)
      expect([asked.length, used.at(-1) === first, reach()?.reachable]).toEqual([2, false, true])
      // Another good one counts from now on.
      const next = jwt(17 * hour, 27 * hour)
      giveCredentials(primary, "cluster-a", next)
      yield* pass(10)
      expect([used.at(-1), reach()?.reachable]).toEqual([next, true])
      // An empty one is no slip: the access is taken away.
      giveCredentials(primary, "cluster-a", "")
      yield* pass(10)
      expect(reach()?.error).toContain("has no bearerToken")
      giveCredentials(primary, "cluster-a", "two words")
      yield* pass(10)
      expect(reach()?.error).toContain("key bearerToken of its Secret mirrord-cluster-cluster-a is unusable")
    }
  })
})
