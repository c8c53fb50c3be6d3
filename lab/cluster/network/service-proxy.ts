/**
 * A kube-proxy for cluster IPs below 127.0.0.0/8, which any process can bind. For programs that dial a cluster IP with
 * plain sockets; a stand-in in this process asks `serviceRoutes` instead.
 */

import type { Server } from "node:net"
import { Effect, type Scope } from "effect"
import type { ObjectReader } from "../store/object-reader.ts"
import { endpointSlices, services } from "../store/resource-refs.ts"
import type { Endpoint } from "./endpoint.ts"
import { servedPorts, type ServedPort, serviceRoutes } from "./service-endpoints.ts"
import { TcpForwarder } from "./tcp-forwarder.ts"

type ListenAt = (at: { readonly host: string; readonly port: number }, server: Server) => Promise<void>

/** A failure is an event of the server. */
const listenHere: ListenAt = (at, server) => Promise.resolve(void server.listen({ ...at, backlog: 1024 }))

const keyOf = ({ ip, port }: Endpoint): string => `${ip}:${port}`

/**
 * Listens on a cluster IP only while it has a ready endpoint, so that a Service without endpoints refuses connections.
 * Takes the endpoints in turn. Existing connections survive when their endpoint leaves the Service. A port that this
 * user may not bind (below 1024 without privilege) is left out, with a warning.
 *
 * @param reach the address of the machine that serves a pod's address (`Kubelet.reach`)
 * @param listenAt has a server listen in the network of those who dial; in this machine's unless given
 */
export const startServiceProxy = (
  store: ObjectReader,
  reach: (endpoint: Endpoint) => Endpoint,
  listenAt: ListenAt = listenHere
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const route = serviceRoutes(store)
    const open = new Map<string, TcpForwarder>()
    const left = new Set<TcpForwarder>()
    const warned = new Set<string>()
    const context = yield* Effect.context<never>()
    const warn = ({ service, at }: ServedPort, reason: string): void => {
      if (warned.has(keyOf(at))) return
      warned.add(keyOf(at))
      Effect.runForkWith(context)(Effect.logWarning(`service proxy: ${service} has no ${keyOf(at)}: ${reason}`))
    }
    const listen = (port: ServedPort): void => {
      const opened = new TcpForwarder(() => {
        const endpoint = route(port.at)
        return endpoint === undefined ? undefined : reach(endpoint)
      })
      const key = keyOf(port.at)
      open.set(key, opened)
      const fail = (problem: unknown): void => {
        if (open.get(key) === opened) open.delete(key)
        warn(port, problem instanceof Error ? problem.message : String(problem))
      }
      opened.server.on("error", fail)
      // It may have been given up meanwhile.
      opened.server.on("listening", () => open.get(key) === opened || opened.stop())
      listenAt({ host: port.at.ip, port: port.at.port }, opened.server).catch(fail)
    }
    const reconcile = (): void => {
      const wanted = servedPorts(store.list(services).items, store.list(endpointSlices).items).filter(
        ({ endpoints }) => endpoints.length > 0
      )
      const keys = new Set(wanted.map(({ at }) => keyOf(at)))
      for (const [key, forwarder] of open) {
        if (keys.has(key)) continue
        open.delete(key)
        left.add(forwarder)
        forwarder.stop()
      }
      for (const port of wanted) if (!open.has(keyOf(port.at))) listen(port)
    }
    for (const ref of [services, endpointSlices]) {
      yield* Effect.acquireRelease(
        Effect.sync(() => store.watch(ref, {}, reconcile)),
        (unwatch) => Effect.sync(unwatch)
      )
    }
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const forwarder of [...open.values(), ...left]) forwarder.close()
      })
    )
  })
