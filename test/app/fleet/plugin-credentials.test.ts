import { Effect, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { makePluginCredentials, type Plugins } from "../../../src/app/fleet/plugin-credentials.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { accessProvider } from "../../support/cluster-profile.ts"
import { it } from "../../support/effect-it.ts"
import { day0 } from "../sessions/session-fleet.ts"

const minute = 60_000
const cluster = {
  name: clusterName("a"),
  server: "https://a",
  certificateAuthority: undefined,
  auth: { _tag: "ExecPlugin", provider: "plugin", config: '{"clusterName":"x"}' }
} as const

const answer = (status: object) =>
  JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status })
const ends = (time: number): string => new Date(time).toISOString()

const ask = (run: Plugins["run"], { skew = 0, provider = accessProvider() } = {}) =>
  Effect.andThen(TestClock.setTime(day0), () =>
    Effect.result(
      makePluginCredentials({ providers: [provider], run, serverTime: () => Effect.succeed(day0 + skew) })(cluster)
    )
  )
const says = (status: object) => () => Effect.succeed(answer(status))
const failureOf = <A>(found: Result.Result<A, string>): string => (Result.isFailure(found) ? found.failure : "")

describe("the credentials that a plugin gives", () => {
  it.effect("are used until their end, which is told by the clock of the cluster", function* () {
    // The cluster is 20 minutes behind, so what ends there in 10 minutes seems to have ended here.
    const skew = -20 * minute
    const found = yield* ask(says({ token: "t", expirationTimestamp: ends(day0 - 10 * minute) }), { skew })
    expect(Result.getOrThrow(found).until).toBe(day0 + 10 * minute)
    const now = yield* ask(says({ token: "t", expirationTimestamp: ends(day0 - 10 * minute) }))
    expect(failureOf(now)).toMatch(/^plugin \/plugin of access provider plugin: its credentials ended already/u)
  })

  it.effect(
    "without an end are used until the cluster refuses them, and a certificate until its own end",
    function* () {
      expect(Result.getOrThrow(yield* ask(says({ token: "t" }))).until).toBe(Infinity)
      const [pair, other] = yield* Effect.promise(async () => {
        const { issue } = await createAuthority("ca", () => day0)
        return Promise.all([issue({ commonName: "operator" }), issue({ commonName: "other" })])
      })
      const status = { clientCertificateData: pair.certPem, clientKeyData: pair.keyPem }
      const { credentials, until } = Result.getOrThrow(yield* ask(says(status)))
      expect([credentials._tag, Number.isFinite(until)]).toEqual(["ClientCertificate", true])
      expect(failureOf(yield* ask(says(status), { skew: 20 * 365 * 24 * 60 * minute }))).toMatch(
        /certificate ended already/u
      )
      expect(failureOf(yield* ask(says({ ...status, clientKeyData: other.keyPem })))).toMatch(
        /the key in status.clientKeyData does not belong to the first certificate in status.clientCertificateData/u
      )
    }
  )

  it.effect("are asked for with the cluster only if the administrator wants it to be told", function* () {
    const infos: Array<unknown> = []
    const run: Plugins["run"] = (_program, info) => {
      infos.push(JSON.parse(info))
      return Effect.succeed(answer({ token: "t" }))
    }
    yield* ask(run)
    const { execConfig, name } = accessProvider()
    yield* ask(run, { provider: { name, execConfig: { ...execConfig, provideClusterInfo: false } } })
    expect(infos).toMatchObject([
      { spec: { cluster: { server: "https://a", config: { clusterName: "x" } } } },
      { spec: { interactive: false } }
    ])
    expect(JSON.stringify(infos[1])).not.toContain("https://a")
  })

  it.effect("are none of a provider that nobody has named", function* () {
    const found = yield* ask(says({ token: "t" }), { provider: { ...accessProvider(), name: "other" } })
    expect(failureOf(found)).toMatch(/^no access provider is called plugin; name it in operator.multiCluster/u)
  })

  it.effect("are never quoted, and a failure names the program", function* () {
    const found = yield* ask(says({ token: "hid\nden" }))
    expect(failureOf(found)).toMatch(/^plugin \/plugin of access provider plugin: its status.token cannot be used/u)
    expect(failureOf(found)).not.toContain("hid")
    const given = Result.getOrThrow(yield* ask(says({ token: "hidden" }))).credentials
    expect(JSON.stringify(given)).not.toContain("hidden")
    expect(given._tag === "BearerToken" && Redacted.value(given.token)).toBe("hidden")
  })

  it.effect("are asked for by eight plugins at once at most", function* () {
    let running = 0
    let most = 0
    const run: Plugins["run"] = () =>
      Effect.gen(function* () {
        most = Math.max(most, (running += 1))
        yield* Effect.sleep(1_000)
        running -= 1
        return answer({ token: "t" })
      })
    const make = makePluginCredentials({
      providers: [accessProvider()],
      run,
      serverTime: () => Effect.succeed(undefined)
    })
    const all = yield* Effect.forkChild(
      Effect.forEach(Array.from({ length: 20 }), () => make(cluster), { concurrency: "unbounded" })
    )
    yield* TestClock.adjust("4 seconds")
    expect([most, all.pollUnsafe()?._tag]).toEqual([8, "Success"])
  })
})
