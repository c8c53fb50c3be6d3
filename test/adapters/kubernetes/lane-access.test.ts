/** A member that dials out, whole: its embedded cluster, its outpost, a tunnel, and the primary's access. */

import { randomUUID } from "node:crypto"
import type { Duplex } from "node:stream"
import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Fiber, Scope, Stream } from "effect"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type WebSocket, WebSocketServer } from "ws"
import { makeLaneAccess } from "../../../src/adapters/kubernetes/lane-access.ts"
import { makeLaneServer } from "../../../src/adapters/kubernetes/serve-lanes.ts"
import { openLaneLink } from "../../../src/adapters/websocket/member-link.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { asString, at } from "../../../src/domain/json.ts"
import { configMaps, secrets } from "../../../src/domain/resources/core-kinds.ts"
import type { ClusterAccess } from "../../../src/ports/cluster-connector.ts"
import type { KubeError, WatchEvent } from "../../../src/ports/kube-api.ts"
import type { LinkRefused, LinkRequest } from "../../../src/ports/member-link.ts"
import type { CellTunnel } from "../../../src/ports/tunnel.ts"
import { apiServiceAt, type Backend, startBackend } from "../../lab/cluster/aggregated-backend.ts"
import { eventually } from "../../lab/cluster/api-client.ts"
import { type RunningCluster, runCluster } from "../../lab/cluster/running-cluster.ts"
import { laneOptions } from "../../support/lane-options.ts"
import { startCell, type TestCell } from "../../support/tunnels.ts"
import { untilTrue } from "../../support/until-true.ts"
import { until } from "../../support/until.ts"

const envoy = "system:serviceaccount:mirrord:mirrord-operator-envoy"
const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: envoy }
rules:
  - { apiGroups: [""], resources: [configmaps], verbs: ["*"] }
  - { apiGroups: [operator.metalbear.co], resources: ["*"], verbs: ["*"] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: envoy }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: envoy }
subjects: [{ kind: ServiceAccount, name: mirrord-operator-envoy, namespace: mirrord }]
`

const run = Effect.runPromise
const scope = Effect.runSync(Scope.make())
let running: RunningCluster
let backend: Backend
let cell: TestCell
let access: ClusterAccess
/** The tunnel that the access uses; `undefined` while there is none. */
let current: CellTunnel | undefined
let serve: (lane: Duplex) => void

const dial = async (): Promise<CellTunnel> => {
  const place = cell.tunnels.length
  await cell.dial({ serve }, scope)
  return cell.tunnel(place)
}

beforeAll(async () => {
  running = await runCluster()
  const { admin, cluster } = running
  const { body } = await admin.get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication")
  const frontProxyCaPem = asString(at(body, "data", "requestheader-client-ca-file")) ?? ""
  backend = await startBackend({ group: "operator.metalbear.co", version: "v1", frontProxyCaPem, host: "127.0.0.1" })
  cluster.apply(rights + "---" + apiServiceAt("operator.metalbear.co", backend.port))
  await eventually(
    () => admin.get("/apis/operator.metalbear.co/v1/gadgets"),
    ({ code }) => code === 404
  )
  const config = new KubeConfig()
  config.loadFromFile(cluster.kubeconfigPath)
  const lanes = makeLaneServer(config, laneOptions(envoy, "braid/1.2.3 (outpost)"))
  serve = lanes.serve
  cell = await startCell()
  const openLane = (): Duplex => {
    if (current === undefined) throw new Error("cluster-b has not dialled")
    return current.openLane()
  }
  access = await run(
    makeLaneAccess(clusterName("cluster-b"), openLane, openLaneLink, "braid/1.2.3 (cell)").pipe(Scope.provide(scope))
  )
})
afterAll(async () => {
  await run(Scope.close(scope, Exit.void))
  await cell.close()
  await backend.close()
  await running.close()
})
beforeEach(async () => {
  current = await dial()
})

const configMap = (name: string, data: Readonly<Record<string, string>> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  data
})
const failureOf = (effect: Effect.Effect<unknown, KubeError>): Promise<KubeError> => run(Effect.flip(effect))

/** A watch of ConfigMaps, from now on. */
const watch = async () => {
  const { resourceVersion } = await run(access.api.list(configMaps, { namespace: "default" }))
  const events = new Array<WatchEvent>()
  const fiber = Effect.runFork(
    Stream.runForEach(access.api.watch(configMaps, resourceVersion, { namespace: "default" }), (event) =>
      Effect.sync(() => void events.push(event))
    )
  )
  return { events, fiber }
}

describe("the API server of a member that dials out", () => {
  it("answers as another does, to the envoy", async () => {
    const { api } = access
    const large = { text: "x".repeat(700_000) }
    await run(api.create(configMaps, configMap("a", large), "default"))
    expect(await run(api.get(configMaps, "a", "default"))).toMatchObject({ data: large })
    await run(api.mergePatch(configMaps, "a", { data: { text: "y" } }, { namespace: "default" }))
    const { items } = await run(api.list(configMaps, { namespace: "default" }))
    expect(items.find(({ metadata }) => metadata.name === "a")).toMatchObject({ data: { text: "y" } })
    await run(api.delete(configMaps, "a", { namespace: "default" }))
    const seen = running.cluster.callers().filter(({ path }) => path.includes("/configmaps/a"))
    expect(seen.length).toBeGreaterThan(2)
    for (const { userAgent } of seen) expect(userAgent).toBe("braid/1.2.3 (cell)")
  })

  it("refuses in its own words", async () => {
    expect(await failureOf(access.api.get(configMaps, "none", "default"))).toMatchObject({
      cluster: "cluster-b",
      reason: "NotFound",
      code: 404,
      detail: 'configmaps "none" not found'
    })
    expect(await failureOf(access.api.list(secrets))).toMatchObject({
      reason: "Forbidden",
      detail: expect.stringContaining(`User "${envoy}" cannot list resource "secrets"`)
    })
  })

  it("streams watches, also while many others are cancelled", async () => {
    const { events, fiber } = await watch()
    const others = await Promise.all(Array.from({ length: 100 }, watch))
    await untilTrue("all are open", () => (current?.lanes() ?? 0) >= 101)
    await Promise.all(others.map((other) => run(Fiber.interrupt(other.fiber))))
    await run(access.api.create(configMaps, configMap("seen"), "default"))
    await untilTrue("the event", () => events.length > 0)
    expect(events).toMatchObject([{ _tag: "Changed", object: { metadata: { name: "seen" } } }])
    await untilTrue("the cancelled lanes are gone", () => current?.lanes() === 1)
    await run(Fiber.interrupt(fiber))
    await untilTrue("no lane is left", () => current?.lanes() === 0)
  })

  it("is asked over the next tunnel once a tunnel has ended, whose watches fail", async () => {
    const { fiber } = await watch()
    const { fiber: second } = await watch()
    const before = current
    await run(access.api.list(configMaps))
    current = await dial()
    before?.destroy("the certificate has ended")
    for (const one of [fiber, second]) {
      const exit = await run(Fiber.await(one))
      expect(String(exit)).toContain("the certificate has ended")
    }
    for (let round = 0; round < 3; round++) await run(access.api.list(configMaps))
    await run(access.api.create(configMaps, configMap(`after-${randomUUID()}`), "default"))
  })

  it("is not waited for while there is no tunnel", async () => {
    current?.destroy("gone")
    const gone = { reason: "Unreachable", detail: "the tunnel has ended: gone" }
    expect(await failureOf(access.api.list(configMaps))).toMatchObject(gone)
    current = undefined
    const none = { reason: "Unreachable", detail: "cluster-b has not dialled" }
    expect(await failureOf(access.api.list(configMaps))).toMatchObject(none)
    expect(await failureOf(access.api.create(configMaps, configMap("x"), "default"))).toMatchObject(none)
  })

  it("says so when it is away itself", async () => {
    await run(running.cluster.stop())
    const away = {
      code: 502,
      detail: expect.stringMatching(/^the API server https.+ cannot be reached by the operator/)
    }
    expect(await failureOf(access.api.list(configMaps))).toMatchObject(away)
    await run(running.cluster.restart())
  })
})

describe("the link to a member that dials out", () => {
  const request = (more: Partial<LinkRequest> = {}): LinkRequest => ({
    cluster: "cluster-b",
    sessionId: 7n,
    namespace: "default",
    target: "deployment.foo",
    query: `connect=true&key=${"k".repeat(9_000)}`,
    parametersInHeader: true,
    ...more
  })
  const refusal = (): Promise<LinkRefused> => run(Effect.flip(access.link(request())))

  it("passes frames both ways, with the primary's headers and as the envoy, and ends with the tunnel", async () => {
    const sockets = new WebSocketServer({ noServer: true, handleProtocols: () => "v4.channel.k8s.io" })
    const accepted = new Array<WebSocket>()
    backend.onUpgrade((asked, socket) =>
      sockets.handleUpgrade(asked, socket, Buffer.alloc(0), (one) => void accepted.push(one))
    )
    const channel = await run(access.link(request()))
    const { headers, url } = backend.seen.at(-1) ?? {}
    expect(url).toMatch(/^\/apis\/operator.metalbear.co\/v1\/proxy\/namespaces\/default\/targets\/deployment.foo\?/)
    expect(headers).toMatchObject({ "x-session-id": ["7"], "x-remote-user": [envoy] })
    expect(headers?.["x-mirrord-connect-params"]?.[0]?.length).toBeGreaterThan(9_000)
    const events = new Array<string>()
    channel.open({
      message: (bytes) => events.push(`${bytes.length}`),
      ended: (reason) => events.push(reason),
      drained: () => undefined,
      ignored: () => undefined
    })
    const member = await until("the upgrade", () => accepted[0])
    member.on("message", (bytes: Buffer) => member.send(bytes))
    for (const size of [1, 70_000, 900_000]) channel.send(Buffer.alloc(size, size % 256))
    await untilTrue("all frames", () => events.length === 3)
    expect(events).toEqual(["1", "70000", "900000"])
    current?.destroy("the tunnel ends")
    current = undefined
    await untilTrue("the end", () => events.length === 4)
    expect(events.at(-1)).toMatch(/^code 1006|the tunnel ends/)
    await untilTrue("the member has seen it", () => member.readyState === member.CLOSED)
  })

  it("is refused in the words of the member", async () => {
    const status = JSON.stringify({ kind: "Status", reason: "Forbidden", message: "not for you" })
    const head = `HTTP/1.1 403 Forbidden\r\nContent-Length: ${status.length}\r\n\r\n`
    backend.onUpgrade((_request, socket) => void socket.end(head + status))
    expect(await refusal()).toMatchObject({ code: 403, reason: "Forbidden", detail: "not for you" })
  })

  it("given up while the member holds it is given up there", async () => {
    let held: Duplex | undefined
    backend.onUpgrade((_request, socket) => void (held = socket.resume()))
    const fiber = Effect.runFork(access.link(request()))
    const socket = await until("the held upgrade", () => held)
    await run(Fiber.interrupt(fiber))
    await untilTrue("it has ended", () => socket.destroyed || socket.readableEnded)
  })

  it("is refused at once without a tunnel, with the reason", async () => {
    current?.destroy("gone")
    expect(await refusal()).toMatchObject({ detail: "the tunnel has ended: gone" })
    current = undefined
    expect(await refusal()).toMatchObject({ cluster: "cluster-b", detail: "cluster-b has not dialled" })
  })
})
