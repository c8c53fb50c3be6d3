import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { changeFleet } from "../../../src/app/fleet/change-fleet.ts"
import { makeFleet } from "../../../src/app/fleet/fleet.ts"
import { kubeconfigSecrets } from "../../../src/app/fleet/kubeconfig-secrets.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { MemberCredentials } from "../../../src/domain/fleet/credentials/member-credentials.ts"
import { withProvided } from "../../../src/domain/fleet/provided-clusters.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { ClusterConnector } from "../../../src/ports/cluster-connector.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { LinkRefused } from "../../../src/ports/member-link.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf, operatorNamespace } from "../../support/fleet.ts"
import { kubeconfigOf, writeKubeconfig } from "../../support/kubeconfig.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { day0, fleetOptions, pass, workloadCluster } from "../sessions/session-fleet.ts"

/** A kubeconfig's user with a client certificate, and the key of it or of another. */
const certificateUser = (isOwnKey: boolean) =>
  Effect.promise(async () => {
    const authority = await createAuthority("ca", () => day0)
    const [pair, other] = [await authority.issue({ commonName: "b" }), await authority.issue({ commonName: "c" })]
    const keyPem = isOwnKey ? pair.keyPem : other.keyPem
    return { "client-certificate-data": btoa(pair.certPem), "client-key-data": btoa(keyPem) }
  })

const text = (credentials: MemberCredentials): string =>
  credentials._tag === "BearerToken" ? Redacted.value(credentials.token) : credentials._tag

/** A primary without configured clusters, and what it finds. */
const start = Effect.fnUntraced(function* (primary = new MemoryKubeApi("primary")) {
  yield* TestClock.setTime(day0)
  const engaged: Array<string> = []
  const used: Array<string> = []
  const endings: Array<string> = []
  const link = () => Effect.fail(new LinkRefused({ cluster: "b", reason: "", detail: "none" }))
  const found = yield* kubeconfigSecrets(primary, operatorNamespace)
  const known = () => withProvided(configurationOf([]), found.all(), sha256Hex).configuration
  let running = known()
  const fleet = yield* makeFleet(
    fleetOptions({
      configuration: running,
      kubeconfig: found.kubeconfig,
      events: { happened: (_cluster, { message }) => void endings.push(message) }
    })
  ).pipe(
    Effect.provideService(ClusterConnector, {
      own: { api: primary, link },
      member: ({ server }, credentials) =>
        Effect.sync(() => {
          engaged.push(`${server} ${text(credentials)}`)
          return { api: workloadCluster("b"), link, reauthenticate: (next) => void used.push(text(next)) }
        })
    })
  )
  const follow = Effect.gen(function* () {
    yield* pass(1)
    yield* changeFleet(fleet, running, known())
    running = known()
    yield* pass(1)
  })
  const reach = (name = "b") => fleet.clusters.get(clusterName(name))?.reach()
  return { endings, engaged, fleet, follow, primary, reach, used }
})

describe("a cluster that was found by its kubeconfig", () => {
  it.effect(
    "joins with the address and the token of the Secret, at the start or later, and leaves with it",
    function* () {
      const api = new MemoryKubeApi("primary")
      writeKubeconfig(api, "b")
      const { engaged, fleet, follow, primary, reach } = yield* start(api)
      yield* pass(1)
      expect(engaged).toEqual(["https://b token"])
      expect(reach()?.reachable).toBe(true)
      writeKubeconfig(primary, "c")
      yield* follow
      expect(engaged).toEqual(["https://b token", "https://c token"])
      primary.erase(secrets, "b", operatorNamespace)
      yield* follow
      expect([...fleet.clusters.keys()]).toEqual(["c"])
    }
  )

  it.effect("goes on with other credentials: a new token, or a certificate in its place", function* () {
    const { engaged, follow, primary, used } = yield* start()
    writeKubeconfig(primary, "b")
    yield* follow
    writeKubeconfig(primary, "b", kubeconfigOf("b", { token: "next" }))
    yield* follow
    expect(used).toEqual(["next"])
    writeKubeconfig(primary, "b", kubeconfigOf("b", yield* certificateUser(true)))
    yield* follow
    expect(used).toEqual(["next", "ClientCertificate"])
    expect(engaged).toEqual(["https://b token"])
  })

  it.effect("is told with what is wrong in its Secret, and is engaged when that is put right", function* () {
    const { engaged, follow, primary, reach } = yield* start()
    writeKubeconfig(primary, "b", kubeconfigOf("b", { exec: { command: "rm" } }))
    yield* follow
    expect(reach()).toMatchObject({
      reachable: false,
      error: expect.stringMatching(/^the kubeconfig of Secret b is unusable: it has exec; the operator runs no/u)
    })
    writeKubeconfig(primary, "b", kubeconfigOf("b", yield* certificateUser(false)))
    yield* follow
    expect(reach()?.error).toMatch(
      /the kubeconfig of Secret b is unusable: the key in client-key-data does not belong to/u
    )
    writeKubeconfig(primary, "b")
    yield* follow
    expect(reach()?.reachable).toBe(true)
    expect(engaged).toEqual(["https://b token"])
  })

  it.effect("keeps its token, which nobody but its author renews, and its end is told", function* () {
    const { endings, engaged, follow, primary, used } = yield* start()
    const exp = day0 / 1000 + 5 * 3_600
    const sub = "system:serviceaccount:mirrord:mirrord-operator-envoy"
    const token = `h.${Buffer.from(JSON.stringify({ iat: day0 / 1000, exp, sub })).toString("base64url")}.s`
    writeKubeconfig(primary, "b", kubeconfigOf("b", { token }))
    yield* follow
    yield* pass(4.1 * 3_600)
    expect([engaged.length, used]).toEqual([1, []])
    expect(endings[0]).toMatch(
      /^Cluster b: the token in the kubeconfig of Secret b ends .*; put another kubeconfig there/u
    )
  })

  it.effect("is waited for at the start while the Secrets cannot be read", function* () {
    const api = new MemoryKubeApi("primary")
    writeKubeconfig(api, "b")
    const refused = new KubeError({ cluster: "primary", operation: "list", reason: "Forbidden", detail: "not now" })
    api.before = ({ plural }) => (plural === "secrets" ? Effect.fail(refused) : Effect.void)
    const starting = yield* Effect.forkChild(start(api))
    yield* pass(45)
    expect(starting.pollUnsafe()).toBeUndefined()
    api.before = () => Effect.void
    yield* pass(10)
    expect(starting.pollUnsafe()).toBeDefined()
  })
})
