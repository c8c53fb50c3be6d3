import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { makeFleet } from "../../../src/app/fleet/fleet.ts"
import { makeIdentityPins } from "../../../src/app/fleet/identity-pins.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { identityNamespace, pinsName } from "../../../src/domain/fleet/cluster-identity.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { workloadClusters } from "../../../src/domain/fleet/roles.ts"
import { configMaps, namespaces, secrets } from "../../../src/domain/resources/core-kinds.ts"
import { ClusterConnector } from "../../../src/ports/cluster-connector.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { LinkRefused } from "../../../src/ports/member-link.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf, giveCredentials, operatorNamespace } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { day0, fleetOptions, operators, pass, workloadCluster } from "../sessions/session-fleet.ts"

const identify = (api: MemoryKubeApi, uid: string): void => {
  api.write(namespaces, identityNamespace, {})
  api.write(namespaces, identityNamespace, { metadata: { uid } })
}
const uid = (value: string) => ({ _tag: "Uid", uid: value }) as const
const failing = (api: MemoryKubeApi, reason: "Forbidden" | "Unreachable", plural: string): void => {
  const error = new KubeError({ cluster: api.cluster, operation: "get", reason, detail: "not now" })
  api.before = (call) => (call.plural === plural ? Effect.fail(error) : Effect.void)
}
const wellAgain = (api: MemoryKubeApi): void => {
  api.before = () => Effect.void
}

/** A primary `zero` whose members `a` and `b` have credentials; `uids`: of their namespaces kube-system. */
const start = Effect.fnUntraced(function* (
  uids: Readonly<Record<string, string>>,
  primary = new MemoryKubeApi("primary")
) {
  yield* TestClock.setTime(day0)
  const members = new Map(["a", "b"].map((name) => [name, workloadCluster(name)]))
  const member = (name: string): MemoryKubeApi => {
    const found = members.get(name)
    if (found === undefined) throw new Error(`no member ${name}`)
    return found
  }
  identify(primary, "zero")
  for (const [name, uid] of Object.entries(uids)) identify(member(name), uid)
  for (const name of members.keys()) giveCredentials(primary, name)
  const told: Array<string> = []
  const access = (api: MemoryKubeApi) => ({
    api,
    link: () => Effect.fail(new LinkRefused({ cluster: api.cluster, reason: "", detail: "none" }))
  })
  const fleet = yield* makeFleet(
    fleetOptions({
      configuration: configurationOf(["a", "b"]),
      events: { happened: (_cluster, { message }) => void told.push(message) }
    })
  ).pipe(
    Effect.provideService(ClusterConnector, {
      own: access(primary),
      member: ({ name }) => Effect.succeed({ ...access(member(name)), reauthenticate: () => {} })
    })
  )
  yield* pass(2)
  const cluster = (name: string) => fleet.clusters.get(clusterName(name))
  const pins = () => primary.peek(configMaps, pinsName, operatorNamespace)?.["data"]
  const forget = (name: string) => primary.write(configMaps, pinsName, { data: { [name]: null } }, operatorNamespace)
  return { cluster, fleet, forget, member, pins, primary, told }
})

describe("the identity of members", () => {
  it.effect("is pinned at first sight, and outlives the process", function* () {
    const { cluster, pins, primary } = yield* start({ a: "one", b: "two" })
    expect(pins()).toEqual({ a: "one", b: "two" })
    expect(cluster("a")?.access()).toBeDefined()
    const { cluster: later, told } = yield* start({ a: "one", b: "three" }, primary)
    expect(later("a")?.reach()).toMatchObject({ reachable: true })
    expect(later("b")?.reach()).toMatchObject({
      reachable: false,
      error: expect.stringMatching(/is three, not two; .*"b":null/)
    })
    expect([later("b")?.access(), later("b")?.children()]).toEqual([undefined, undefined])
    expect(told).toEqual([expect.stringMatching(/^Cluster b is not used: it is not the cluster that it was/)])
  })

  it.effect("keeps a cluster out that took another's place, tells it once, until the pin is forgotten", function* () {
    const { cluster, forget, member, pins, told } = yield* start({ a: "one", b: "two" })
    failing(member("b"), "Unreachable", operators.plural)
    yield* pass(20)
    identify(member("b"), "three")
    wellAgain(member("b"))
    yield* pass(30)
    expect(cluster("b")?.reach()).toMatchObject({ reachable: false, error: expect.stringContaining("not two") })
    expect(cluster("b")?.access()).toBeUndefined()
    expect(told.filter((message) => message.includes("is not used"))).toHaveLength(1)
    forget("b")
    yield* pass(10)
    expect(pins()).toEqual({ a: "one", b: "three" })
    expect(cluster("b")?.reach()).toMatchObject({ reachable: true, error: undefined })
    expect(cluster("b")?.children()?.synced()).toBe(true)
  })

  it.effect(
    "is looked at before anybody uses a cluster that was lost, and not while its operator alone is away",
    function* () {
      const { cluster, member } = yield* start({ a: "one", b: "two" })
      failing(member("b"), "Unreachable", operators.plural)
      yield* pass(20)
      expect(cluster("b")?.reach()).toMatchObject({ reachable: false })
      expect(cluster("b")?.access()).toBeDefined()
      const error = new KubeError({ cluster: "b", operation: "get", reason: "Unreachable", detail: "not now" })
      member("b").before = () => Effect.fail(error)
      yield* pass(20)
      expect([cluster("b")?.access(), cluster("b")?.children()]).toEqual([undefined, undefined])
      member("b").before = () => Effect.never
      yield* pass(20)
      identify(member("b"), "three")
      wellAgain(member("b"))
      expect([cluster("b")?.access(), cluster("b")?.children()]).toEqual([undefined, undefined])
      yield* pass(20)
      expect(cluster("b")?.reach()).toMatchObject({ error: expect.stringContaining("not two") })
    }
  )

  it.effect("refuses a cluster that goes and comes back at once, and tells it no second time", function* () {
    const { cluster, fleet, member, told } = yield* start({ a: "one", b: "one" })
    const name = ["a", "b"].find((one) => cluster(one)?.reach().reachable === false) ?? "none"
    const found = workloadClusters(configurationOf(["a", "b"])).find((one) => one.name === name)
    if (found?.member === undefined) return yield* Effect.die("nothing is refused")
    yield* fleet.leave(found.name)
    member(name).before = () => Effect.sleep(500)
    yield* fleet.join(found)
    yield* TestClock.adjust(100)
    expect(cluster(name)?.reach()).toMatchObject({ reachable: false, error: expect.stringContaining("is pinned") })
    yield* pass(10)
    expect(told).toHaveLength(1)
    yield* fleet.leave(found.name)
    yield* fleet.join({ ...found, member: { ...found.member, server: "https://elsewhere" } })
    yield* TestClock.adjust(100)
    expect(cluster(name)?.reach()).toMatchObject({ reachable: true, isConnecting: true })
    return undefined
  })

  it.effect("is looked at again when the credentials change", function* () {
    const { cluster, member, primary } = yield* start({ a: "one", b: "two" })
    identify(member("b"), "three")
    yield* pass(30)
    expect(cluster("b")?.reach()).toMatchObject({ reachable: true })
    const name = "mirrord-cluster-b"
    primary.write(secrets, name, { data: { bearerToken: btoa("another") } }, operatorNamespace)
    yield* pass(10)
    expect(cluster("b")?.reach()).toMatchObject({ error: expect.stringContaining("not two") })
  })

  it.effect("is looked at again when the credentials change during a look", function* () {
    const { cluster, member, primary } = yield* start({ a: "one", b: "two" })
    const put = (token: string) =>
      primary.write(secrets, "mirrord-cluster-b", { data: { bearerToken: btoa(token) } }, operatorNamespace)
    let looks = 0
    put("another")
    member("b").before = ({ plural }) =>
      plural === namespaces.plural && looks++ === 0
        ? Effect.andThen(
            Effect.sync(() => put("third")),
            Effect.sleep(1_000)
          )
        : Effect.void
    yield* pass(20)
    expect(looks).toBe(2)
    expect(cluster("b")?.reach()).toMatchObject({ reachable: true })
  })

  it.effect("is not asked of a member that may not tell it", function* () {
    const { cluster, member, pins } = yield* start({ a: "one" })
    expect(pins()).toEqual({ a: "one" })
    expect(cluster("b")?.reach()).toMatchObject({ reachable: true, error: undefined })
    failing(member("a"), "Forbidden", namespaces.plural)
    yield* pass(20)
    expect(cluster("a")?.reach()).toMatchObject({ reachable: true, error: undefined })
  })

  it.effect("lasts as long as the process where it may not be kept", function* () {
    const primary = new MemoryKubeApi("primary")
    failing(primary, "Forbidden", configMaps.plural)
    const { cluster, pins } = yield* start({ a: "one", b: "one" }, primary)
    expect(["a", "b"].flatMap((name) => cluster(name)?.access() ?? [])).toHaveLength(1)
    expect(pins()).toBeUndefined()
  })

  it.effect("keeps a member waiting while its pin cannot be read", function* () {
    const primary = new MemoryKubeApi("primary")
    failing(primary, "Unreachable", configMaps.plural)
    const { cluster, pins } = yield* start({ a: "one", b: "two" }, primary)
    expect(cluster("a")?.access()).toBeUndefined()
    wellAgain(primary)
    yield* pass(10)
    expect(cluster("a")?.access()).toBeDefined()
    expect(pins()).toEqual({ a: "one", b: "two" })
  })

  it.effect("is that which another replica pinned first, and is refused only after another look", function* () {
    const primary = new MemoryKubeApi("primary")
    identify(primary, "zero")
    const judge = () => makeIdentityPins({ api: primary, namespace: operatorNamespace, sha256Hex })
    const [one, other] = [judge(), judge()]
    const [a, b] = [clusterName("a"), clusterName("b")]
    const data = () => primary.peek(configMaps, pinsName, operatorNamespace)?.["data"]
    yield* one(b, uid("two"))
    expect(yield* other(b, uid("two"))).toEqual({ _tag: "AsPinned" })
    yield* one(a, uid("one"))
    expect(yield* other(a, uid("three"))).toMatchObject({ _tag: "Refused" })
    expect(data()).toEqual({ a: "one", b: "two" })
    primary.write(configMaps, pinsName, { data: { a: null } }, operatorNamespace)
    expect(yield* other(a, uid("three"))).toMatchObject({ _tag: "ToPin" })
    expect(yield* one(a, uid("three"))).toEqual({ _tag: "AsPinned" })
    primary.erase(configMaps, pinsName, operatorNamespace)
    expect(yield* one(clusterName("c"), uid("four"))).toMatchObject({ _tag: "ToPin" })
    expect(data()).toEqual({ c: "four" })
  })

  it.effect("is pinned for a thousand new members with a few writes, one of each identity", function* () {
    const primary = new MemoryKubeApi("primary")
    identify(primary, "zero")
    let calls = 0
    primary.before = ({ plural }) =>
      plural === configMaps.plural
        ? Effect.andThen(
            Effect.sync(() => calls++),
            Effect.yieldNow
          )
        : Effect.void
    const judge = makeIdentityPins({ api: primary, namespace: operatorNamespace, sha256Hex })
    const members = Array.from({ length: 1_000 }, (_, index) => index)
    const verdicts = yield* Effect.forEach(
      members,
      (index) => judge(clusterName(`c${index}`), uid(`u${index % 999}`)),
      { concurrency: "unbounded" }
    )
    expect(calls).toBeLessThan(10)
    expect(verdicts.map(({ _tag }) => _tag)).toEqual([...Array.from({ length: 999 }, () => "ToPin"), "Refused"])
    const data = primary.peek(configMaps, pinsName, operatorNamespace)?.["data"]
    expect(data).toEqual(Object.fromEntries(members.slice(0, 999).map((index) => [`c${index}`, `u${index}`])))
  })

  it.effect("is judged for the others when the one that asked first is interrupted, or its write fails", function* () {
    const primary = new MemoryKubeApi("primary")
    identify(primary, "zero")
    const error = new KubeError({ cluster: "primary", operation: "create", reason: "Unreachable", detail: "not now" })
    const answers: Array<Effect.Effect<void, KubeError>> = [Effect.never, Effect.fail(error)]
    primary.before = ({ plural }) => (plural === configMaps.plural ? (answers.shift() ?? Effect.void) : Effect.void)
    const judge = makeIdentityPins({ api: primary, namespace: operatorNamespace, sha256Hex })
    const ask = (name: string) => Effect.forkChild(Effect.result(judge(clusterName(name), uid(name))))
    const [first, second, third] = [yield* ask("a"), yield* ask("b"), yield* ask("c")]
    yield* TestClock.adjust(1_000)
    yield* Fiber.interrupt(first)
    expect(yield* Fiber.join(second)).toMatchObject({ _tag: "Failure" })
    expect(yield* Fiber.join(third)).toMatchObject({ _tag: "Success", success: { _tag: "ToPin" } })
    expect(primary.peek(configMaps, pinsName, operatorNamespace)?.["data"]).toEqual({ c: "c" })
  })

  it.effect("is short and harmless, whatever a member says and people write", function* () {
    const primary = new MemoryKubeApi("primary")
    primary.write(configMaps, pinsName, { data: { b: "x".repeat(100_000) } }, operatorNamespace)
    const { cluster, pins } = yield* start({ a: "\u001b".repeat(100_000), b: "two" }, primary)
    expect(pins()).toMatchObject({ a: expect.stringMatching(/^\ufffd{252}…$/u) })
    expect(cluster("b")?.reach().error?.length).toBeLessThan(700)
  })
})
