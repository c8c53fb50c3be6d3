import * as net from "node:net"
import { assert, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { startServiceProxy } from "../../../../lab/cluster/network/service-proxy.ts"
import type { KubeObject, ResourceRef, StoreEvent } from "../../../../lab/cluster/schema/kube-object.ts"
import type { ObjectReader } from "../../../../lab/cluster/store/object-reader.ts"
import { endpointSlices, services } from "../../../../lab/cluster/store/resource-refs.ts"
import { readAll } from "../node/test-cluster.ts"

const clusterIp = "127.217.0.1"

/** A store whose objects the test sets. */
class ObjectsOfTest implements ObjectReader {
  readonly #objects = new Map<string, ReadonlyArray<KubeObject>>()
  readonly #listeners = new Set<(event: StoreEvent) => void>()

  set(ref: ResourceRef, ...objects: ReadonlyArray<KubeObject>): void {
    this.#objects.set(ref.resource, objects)
    for (const listener of this.#listeners) for (const object of objects) listener({ type: "MODIFIED", object })
  }

  readonly get = () => undefined
  readonly list = (ref: ResourceRef) => ({ items: this.#objects.get(ref.resource) ?? [] })
  readonly watch = (_ref: ResourceRef, _options: object, listener: (event: StoreEvent) => void) => {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}

const service = (port: number): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "shop" },
  spec: { clusterIP: clusterIp, ports: [{ port }] }
})
const slice = (endpoints: Readonly<Record<string, boolean>>): KubeObject => ({
  apiVersion: "discovery.k8s.io/v1",
  kind: "EndpointSlice",
  metadata: { name: "web-x", namespace: "shop", labels: { "kubernetes.io/service-name": "web" } },
  addressType: "IPv4",
  ports: [{ port: 7000 }],
  endpoints: Object.entries(endpoints).map(([address, ready]) => ({ addresses: [address], conditions: { ready } }))
})

/** A pod that sends its name, then echoes. */
const pod = (address: string, name: string): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.callback<net.Server>((resume) => {
      const server = net.createServer((socket) => {
        socket.on("error", () => undefined)
        socket.write(name)
        socket.pipe(socket)
      })
      server.listen(7000, address, () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => void server.close())
  ).pipe(Effect.asVoid)

const ask = (port: number) => Effect.promise(() => readAll(net.connect({ host: clusterIp, port }).end("!")))
/** Asks again until the answer is as wanted: the proxy does not say when it listens. */
const until = (port: number, wanted: string) => Effect.repeat(ask(port), { until: (answer) => answer === wanted })
const real = ({ ip, port }: { readonly ip: string; readonly port: number }) => ({ ip: ip.replace("10.", "127."), port })

it.live("listens while there is a ready endpoint, takes them in turn, and refuses otherwise", () =>
  Effect.scoped(
    Effect.gen(function* () {
      const objects = new ObjectsOfTest()
      yield* pod("127.217.1.1", "one")
      yield* pod("127.217.1.2", "two")
      yield* startServiceProxy(objects, real)
      objects.set(services, service(7001))
      assert.strictEqual(yield* ask(7001), "ECONNREFUSED")
      objects.set(endpointSlices, slice({ "10.217.1.1": true, "10.217.1.2": false }))
      yield* until(7001, "one!")
      assert.strictEqual(yield* ask(7001), "one!")
      objects.set(endpointSlices, slice({ "10.217.1.1": true, "10.217.1.2": true }))
      const answers = [yield* ask(7001), yield* ask(7001), yield* ask(7001), yield* ask(7001)]
      assert.deepStrictEqual(answers.toSorted(), ["one!", "one!", "two!", "two!"])
      objects.set(endpointSlices, slice({ "10.217.1.1": false, "10.217.1.2": false }))
      yield* until(7001, "ECONNREFUSED")
      objects.set(endpointSlices, slice({ "10.217.1.2": true }))
      yield* until(7001, "two!")
    })
  )
)

it.live("a connection goes on when its endpoint leaves the Service, and ends with the proxy", () =>
  Effect.gen(function* () {
    const objects = new ObjectsOfTest()
    const socket = yield* Effect.scoped(
      Effect.gen(function* () {
        yield* pod("127.217.2.1", "one")
        yield* startServiceProxy(objects, real)
        objects.set(services, service(7002))
        objects.set(endpointSlices, slice({ "10.217.2.1": true }))
        yield* until(7002, "one!")
        const open = net.connect({ host: clusterIp, port: 7002 })
        open.on("error", () => undefined)
        const heard = (text: string) =>
          Effect.callback<void>((resume) => {
            let said = ""
            const listener = (bytes: Buffer): void => {
              said += bytes.toString()
              if (said.endsWith(text)) resume(Effect.void)
            }
            open.on("data", listener)
            return Effect.sync(() => open.off("data", listener))
          })
        yield* heard("one")
        objects.set(endpointSlices, slice({}))
        yield* until(7002, "ECONNREFUSED")
        open.write("still here")
        yield* heard("still here")
        return open
      })
    )
    yield* Effect.callback<void>((resume) => {
      if (socket.destroyed) resume(Effect.void)
      else socket.once("close", () => resume(Effect.void))
    })
    assert.strictEqual(yield* ask(7002), "ECONNREFUSED")
  })
)
