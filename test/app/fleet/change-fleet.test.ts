import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { changeFleet } from "../../../src/app/fleet/change-fleet.ts"
import { makeFleet } from "../../../src/app/fleet/fleet.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName, credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import type { FleetConfiguration, MemberConfiguration } from "../../../src/domain/fleet/configuration.ts"
import { encodeBase64Text } from "../../../src/domain/fleet/credentials/base64.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { ClusterConnector } from "../../../src/ports/cluster-connector.ts"
import { LinkRefused } from "../../../src/ports/member-link.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf, giveCredentials, operatorNamespace } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { day0, fleetOptions, pass, workloadCluster } from "../sessions/session-fleet.ts"

const changed = (
  configuration: FleetConfiguration,
  name: string,
  more: Partial<MemberConfiguration>
): FleetConfiguration => ({
  ...configuration,
  members: configuration.members.map((member) => (member.name === name ? { ...member, ...more } : member))
})

/** A fleet in which all is recorded that is done to clusters. */
const start = Effect.fnUntraced(function* (configuration: FleetConfiguration, left = (): void => {}) {
  yield* TestClock.setTime(day0)
  const primary = new MemoryKubeApi("primary")
  const members = new Map(["a", "b", "c"].map((name) => [name, workloadCluster(name)]))
  for (const name of members.keys()) giveCredentials(primary, name)
  const done: Array<string> = []
  const link = () => Effect.fail(new LinkRefused({ cluster: "", reason: "", detail: "none" }))
  const fleet = yield* makeFleet(
    fleetOptions({
      configuration,
      events: {
        joined: ({ name }) => void done.push(`joined ${name}`),
        left: (name) => {
          done.push(`left ${name} with ${members.get(name)?.openWatches} watches`)
          left()
        },
        leaving: (name) => Effect.sync(() => void done.push(`leaving ${name} with ${members.get(name)?.openWatches}`))
      }
    })
  ).pipe(
    Effect.provideService(ClusterConnector, {
      own: { api: primary, link },
      member: ({ name, server }, credentials) =>
        Effect.sync(() => {
          done.push(`connected ${name} at ${server} by ${credentials._tag}`)
          const api = members.get(name) ?? new MemoryKubeApi(name)
          return { api, link, reauthenticate: (next) => void done.push(`reauthenticated ${name} by ${next._tag}`) }
        })
    })
  )
  yield* pass(1)
  done.length = 0
  const reachable = () => [...fleet.clusters.values()].filter(({ reach }) => reach().reachable).map(({ name }) => name)
  const member = (name: string): MemoryKubeApi => members.get(name) ?? new MemoryKubeApi(name)
  return { primary, member, fleet, done, reachable }
})

describe("a running fleet that gets another configuration", () => {
  it.effect("is left alone where nothing has changed", function* () {
    const before = configurationOf(["a", "b"])
    const { done, fleet, member } = yield* start(before)
    const calls = member("a").calls.length
    yield* changeFleet(fleet, before, configurationOf(["b", "a"], { defaultCluster: clusterName("a") }))
    expect([done, member("a").calls.length]).toEqual([[], calls])
  })

  it.effect("engages a new cluster, and disengages one that is gone after its users were told", function* () {
    const before = configurationOf(["a", "b"])
    const { done, fleet, member, reachable } = yield* start(before)
    const calls = member("a").calls.filter(({ verb }) => verb !== "get").length
    yield* changeFleet(fleet, before, configurationOf(["a", "c"]))
    yield* pass(1)
    expect(done).toEqual([
      "left b with 1 watches",
      "leaving b with 1",
      "joined c",
      "connected c at https://c by BearerToken"
    ])
    expect([member("b").openWatches, member("c").openWatches, reachable()]).toEqual([0, 1, ["a", "c"]])
    expect(member("a").calls.filter(({ verb }) => verb !== "get").length, "a is not touched").toBe(calls)
  })

  it.effect("does not take the silence of a new cluster for older than the cluster is in the fleet", function* () {
    const { fleet, member } = yield* start(configurationOf(["a"]))
    yield* pass(60)
    member("b").before = ({ verb }) => (verb === "list" ? Effect.never : Effect.void)
    yield* changeFleet(fleet, configurationOf(["a"]), configurationOf(["a", "b"]))
    expect(fleet.clusters.get(clusterName("b"))?.unreadableSince()).toBeGreaterThanOrEqual(day0 + 61_000)
  })

  it.effect("re-authenticates at a cluster without a new list, watch or loss", function* () {
    const before = configurationOf(["a", "b"])
    const { done, fleet, member, primary, reachable } = yield* start(before)
    const { certPem, keyPem } = yield* Effect.promise(async () =>
      (await createAuthority("ca", () => day0)).issue({ commonName: "primary" })
    )
    const data = { "tls.crt": encodeBase64Text(certPem), "tls.key": encodeBase64Text(keyPem) }
    const secretName = credentialsSecretName(clusterName("b"), sha256Hex)
    primary.write(secrets, secretName, { data }, operatorNamespace)
    yield* pass(1)
    const lists = () => member("b").calls.filter(({ verb }) => verb === "list" || verb === "watch").length
    const listed = lists()
    yield* changeFleet(fleet, before, changed(before, "b", { auth: { _tag: "Mtls" } }))
    yield* pass(1)
    expect(done).toEqual(["reauthenticated b by ClientCertificate"])
    expect([lists(), member("b").openWatches, reachable()]).toEqual([listed, 1, ["a", "b"]])
    yield* changeFleet(fleet, changed(before, "b", { auth: { _tag: "Mtls" } }), before)
    yield* pass(1)
    expect(done.slice(1)).toEqual(["reauthenticated b by BearerToken"])
  })

  it.effect("connects again to a cluster with another server, which is in the fleet all the time", function* () {
    const before = configurationOf(["a", "b"])
    const { done, fleet, member, reachable } = yield* start(before)
    const old = fleet.clusters.get(clusterName("b"))
    yield* changeFleet(fleet, before, changed(before, "b", { server: "https://elsewhere" }))
    yield* pass(1)
    expect(done).toEqual(["joined b", "connected b at https://elsewhere by BearerToken"])
    expect([member("b").openWatches, reachable()]).toEqual([1, ["a", "b"]])
    expect([fleet.clusters.get(clusterName("b")) === old, old?.access()]).toEqual([false, undefined])
  })

  it.effect("closes the connection to a cluster that leaves whatever its users do about it", function* () {
    const { fleet, member } = yield* start(configurationOf(["a", "b"]), () => {
      throw new Error("a defect")
    })
    expect((yield* Effect.exit(fleet.leave(clusterName("b"))))._tag).toBe("Failure")
    expect(member("b").openWatches).toBe(0)
  })

  it.effect(
    "does not let users wait until a new cluster is known that does not answer, except for the default",
    function* () {
      const { fleet, member } = yield* start(configurationOf(["a"]))
      for (const name of ["a", "b"]) member(name).before = () => Effect.never
      const after = configurationOf(["a", "b"])
      yield* changeFleet(fleet, configurationOf(["a"]), after)
      const checked = () => Effect.forkChild(fleet.checked, { startImmediately: true })
      expect((yield* checked()).pollUnsafe()).toBeDefined()
      yield* changeFleet(fleet, after, changed(after, "a", { server: "https://elsewhere" }))
      expect((yield* checked()).pollUnsafe()).toBeUndefined()
    }
  )
})
