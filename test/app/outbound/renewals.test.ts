/** Ten renewals over TLS, each right after the one before, while an embedded cluster is asked through the tunnels. */

import { KubeConfig } from "@kubernetes/client-node"
import { Clock, Effect, Exit, Fiber, Logger, Random, Redacted, Scope, Stream } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { makeLaneAccess } from "../../../src/adapters/kubernetes/lane-access.ts"
import { makeLaneServer } from "../../../src/adapters/kubernetes/serve-lanes.ts"
import { makeTunnelListener } from "../../../src/adapters/tunnel/cell-listener.ts"
import { defaultBounds } from "../../../src/adapters/tunnel/guarded-listener.ts"
import { readMemberCertificate } from "../../../src/adapters/x509/tunnel-certificates.ts"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { readTunnelAuthority } from "../../../src/app/outbound/authority.ts"
import { type Cell, startCell } from "../../../src/app/outbound/cell.ts"
import { outpostSecret } from "../../../src/app/outbound/outpost-identity.ts"
import { runOutpost } from "../../../src/app/outbound/outpost.ts"
import { clusterName, credentialsSecretName } from "../../../src/domain/fleet/cluster-name.ts"
import { credentialsLabel } from "../../../src/domain/fleet/credentials/cluster-auth.ts"
import { at } from "../../../src/domain/json.ts"
import { storedTokenData, tokenText } from "../../../src/domain/outbound/bootstrap-token.ts"
import { configMaps, secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeApi } from "../../../src/ports/kube-api.ts"
import { TunnelDialler, TunnelListener } from "../../../src/ports/tunnel.ts"
import { type RunningCluster, runCluster } from "../../lab/cluster/running-cluster.ts"
import { operatorNamespace as namespace } from "../../support/fleet.ts"
import { laneOptions } from "../../support/lane-options.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"
import { dialler, tunnelLife } from "../../support/tunnels.ts"
import { untilTrue } from "../../support/until-true.ts"

const run = <A, E>(effect: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.provide(effect, Logger.layer([])))
const name = clusterName("cluster-b")
const user = "system:serviceaccount:mirrord:mirrord-operator-envoy"
const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: envoy }
rules: [{ apiGroups: [""], resources: [configmaps], verbs: ["*"] }]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: envoy }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: envoy }
subjects: [{ kind: User, name: "${user}" }]
`
const scope = Effect.runSync(Scope.make())
const [primary, member] = [new MemoryKubeApi("primary"), new MemoryKubeApi("cluster-b")]
let running: RunningCluster
let cell: Cell
let api: KubeApi

const startPrimary = async (): Promise<void> => {
  const settings = { hosts: ["127.0.0.1"], port: 0, bootstrapPort: 0, bootstrapRanges: [], certificateHours: 24 }
  const fleet = { isConfigured: () => true, configured: () => [name], listen: () => () => {} }
  cell = await run(
    startCell({ api: primary, namespace, settings, ...fleet }).pipe(
      Effect.provideService(TunnelListener, makeTunnelListener(readMemberCertificate, defaultBounds)),
      Scope.provide(scope)
    )
  )
  const access = makeLaneAccess(
    name,
    () => cell.openLane(name),
    () => Effect.die("no link"),
    "test"
  )
  api = (await run(Scope.provide(access, scope))).api
}

/** A token for the member, as `braid join --outbound` makes it. */
const makeToken = (): string => {
  const token = { name, id: "a".repeat(10), secret: "a".repeat(43) }
  const data = storedTokenData({ ...token, hash: sha256Hex(token.secret), until: tunnelLife.until, by: "root" })
  const labels = { [credentialsLabel]: "true" }
  primary.write(secrets, credentialsSecretName(name, sha256Hex), { metadata: { labels }, data }, namespace)
  return tokenText(token)
}

const clock = Effect.runSync(Clock.clockWith(Effect.succeed))
const later = (): number => clock.currentTimeMillisUnsafe() + 17 * 3_600_000
const laterNanos = (): bigint => BigInt(later()) * 1_000_000n
/** For the member it is 17 hours later, so that each of its certificates is due as soon as it is there. */
const ahead: Clock.Clock = {
  currentTimeMillisUnsafe: later,
  currentTimeMillis: Effect.sync(later),
  currentTimeNanosUnsafe: laterNanos,
  currentTimeNanos: Effect.sync(laterNanos),
  monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
  monotonicTimeNanos: clock.monotonicTimeNanos,
  sleep: (duration) => clock.sleep(duration)
}

const startMember = async (): Promise<void> => {
  const config = new KubeConfig()
  config.loadFromFile(running.cluster.kubeconfigPath)
  const { pin } = await run(readTunnelAuthority(primary, namespace))
  const bootstrap = { token: Redacted.make(makeToken()), address: `127.0.0.1:${cell.bootstrapPort}`, pin }
  const { serve } = makeLaneServer(config, laneOptions(user, "test"))
  const outpost = runOutpost({ api: member, namespace, cell: `127.0.0.1:${cell.port}`, bootstrap, serve }).pipe(
    Effect.provideService(TunnelDialler, dialler),
    Effect.provideService(Clock.Clock, ahead),
    // No pause before a dial.
    Effect.provideService(Random.Random, { nextIntUnsafe: () => 0, nextDoubleUnsafe: () => 0 })
  )
  await run(Effect.forkIn(Scope.provide(outpost, scope), scope))
}

beforeAll(async () => {
  running = await runCluster()
  running.cluster.apply(rights)
  await startPrimary()
  await startMember()
  await untilTrue("a tunnel", () => cell.until(name) !== undefined)
})
afterAll(async () => {
  await run(Scope.close(scope, Exit.void))
  await running.close()
})

it("ten renewals of a certificate fail no request, and end nothing that has begun", async () => {
  const certificates = new Set<unknown>()
  const { resourceVersion } = await run(api.list(configMaps, { namespace: "default" }))
  let events = 0
  const watch = Effect.runFork(
    Stream.runForEach(api.watch(configMaps, resourceVersion, { namespace: "default" }), () =>
      Effect.sync(() => events++)
    )
  )
  const configMap = (text: string) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: text } })
  let made = 0
  const ask = async (): Promise<void> => {
    while (certificates.size < 11) {
      certificates.add(at(member.peek(secrets, outpostSecret, namespace), "data", "tls.crt"))
      await run(api.create(configMaps, configMap(`map-${++made}`), "default"))
      await run(api.list(configMaps, { namespace: "default" }))
    }
  }
  await Promise.all([ask(), ask(), ask(), ask()])
  await untilTrue("all that was made is seen by the watch from before", () => events === made)
  expect(made).toBeGreaterThan(10)
  await run(Fiber.interrupt(watch))
})
