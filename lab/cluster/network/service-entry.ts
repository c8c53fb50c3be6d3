/**
 * A way into a cluster for programs on this machine, as a load balancer's: a TCP proxy on a free port of 127.0.0.1 that
 * passes each connection to one of a Service's ready pods. Traffic inside of the cluster does not pass here.
 */

import { Effect, Schema, type Scope } from "effect"
import { asObject, asObjects } from "../../../src/domain/json.ts"
import type { ObjectReader } from "../store/object-reader.ts"
import { services } from "../store/resource-refs.ts"
import { find } from "../store/store-access.ts"
import type { Endpoint } from "./endpoint.ts"
import { clusterIpOf } from "./service-endpoints.ts"
import { TcpForwarder } from "./tcp-forwarder.ts"

export class ServiceEntryError extends Schema.TaggedError<ServiceEntryError>()("ServiceEntryError", {
  service: Schema.String,
  reason: Schema.String
}) {
  override get message() {
    return `no entry to service ${this.service}: ${this.reason}`
  }
}

/**
 * Takes the pods in turn. Without a ready pod the connection is closed.
 *
 * @param reach the address of the machine that serves an address of the cluster (`Kubelet.reach`)
 */
export const serviceEntry = (
  store: ObjectReader,
  { namespace, port, service }: { readonly namespace: string; readonly service: string; readonly port: number },
  reach: (endpoint: Endpoint) => Endpoint
): Effect.Effect<{ readonly url: string; readonly endpoint: Endpoint }, ServiceEntryError, Scope.Scope> =>
  Effect.gen(function* () {
    const fail = (reason: string) => new ServiceEntryError({ service: `${namespace}/${service}`, reason })
    const found = find(store, services, namespace, service)
    if (found === undefined) return yield* fail("there is no such service")
    const ports = asObjects(asObject(found["spec"])["ports"]).map((entry) => entry["port"])
    if (!ports.includes(port)) return yield* fail(`it has no port ${port}, only ${ports.join(", ") || "none"}`)
    const ip = clusterIpOf(found)
    if (ip === undefined) return yield* fail("it has no cluster IP")
    const forwarder = new TcpForwarder(() => reach({ ip, port }))
    const { server } = forwarder
    yield* Effect.acquireRelease(
      Effect.callback<void, ServiceEntryError>((resume) => {
        server.once("error", (error) => resume(Effect.fail(fail(error.message))))
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () => Effect.sync(() => forwarder.close())
    )
    const address = server.address()
    if (address === null || typeof address === "string") return yield* fail("the proxy has no address")
    return { url: `http://127.0.0.1:${address.port}`, endpoint: { ip: "127.0.0.1", port: address.port } }
  })
