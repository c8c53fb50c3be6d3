/**
 * From Services and their EndpointSlices to addresses: which ready endpoints stand behind a port. Pure reading: the
 * slices are written by `controllers/endpoints-controller.ts`, and `service-proxy.ts` does the listening.
 */

import { isIPv4 } from "node:net"
import { asNumber, asObject, asObjects, asString, asStrings } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectReader } from "../store/object-reader.ts"
import { endpointSlices, services } from "../store/resource-refs.ts"
import { nameOf, namespaceOf } from "../store/store-access.ts"
import type { Endpoint } from "./endpoint.ts"

/** A port of a Service at its cluster IP, with the ready endpoints behind it. */
export interface ServedPort {
  readonly at: Endpoint
  readonly service: string
  readonly endpoints: ReadonlyArray<Endpoint>
}

/** The Service's cluster IP, IPv4 only. A headless Service has none, nor has an ExternalName. */
export const clusterIpOf = (service: KubeObject | undefined): string | undefined => {
  const ip = asString(asObject(service?.["spec"])["clusterIP"])
  return ip !== undefined && isIPv4(ip) ? ip : undefined
}

/** The EndpointSlices of a Service. */
export const slicesOf = (
  store: Pick<ObjectReader, "list">,
  namespace: string,
  service: string
): ReadonlyArray<KubeObject> =>
  store.list(endpointSlices, { namespace, labelSelector: `kubernetes.io/service-name=${service}` }).items

/** The addresses of ready endpoints, IPv4 only. By the API's rule an endpoint without the condition counts as ready. */
export const readyAddresses = (slice: KubeObject): ReadonlyArray<string> =>
  slice["addressType"] !== "IPv4"
    ? []
    : asObjects(slice["endpoints"])
        .filter((endpoint) => asObject(endpoint["conditions"])["ready"] !== false)
        .flatMap(({ addresses }) => asStrings(addresses))

/** The ready endpoints behind a port of a Service: its name leads to the port of each slice. */
export const readyEndpoints = (slices: ReadonlyArray<KubeObject>, portName: unknown): ReadonlyArray<Endpoint> =>
  slices.flatMap((slice) => {
    const target = asObjects(slice["ports"]).find((candidate) => (candidate["name"] ?? "") === (portName ?? ""))
    const port = asNumber(target?.["port"])
    return port === undefined ? [] : readyAddresses(slice).map((ip) => ({ ip, port }))
  })

/** The TCP ports of all cluster IPs with their ready endpoints, as a kube-proxy derives them. */
export const servedPorts = (
  all: ReadonlyArray<KubeObject>,
  slices: ReadonlyArray<KubeObject>
): ReadonlyArray<ServedPort> =>
  all.flatMap((service) => {
    const ip = clusterIpOf(service)
    if (ip === undefined) return []
    const own = slices.filter(
      ({ metadata }) =>
        metadata.namespace === service.metadata.namespace &&
        metadata.labels?.["kubernetes.io/service-name"] === service.metadata.name
    )
    return asObjects(asObject(service["spec"])["ports"]).flatMap((port) => {
      const number = asNumber(port["port"])
      if (number === undefined || (port["protocol"] ?? "TCP") !== "TCP") return []
      return [
        {
          at: { ip, port: number },
          service: `${namespaceOf(service)}/${nameOf(service)}`,
          endpoints: readyEndpoints(own, port["name"])
        }
      ]
    })
  })

/**
 * Picks a ready endpoint for an address of a Service, in turn, as a kube-proxy's rules do. `undefined` if none is ready
 * or the address belongs to no Service.
 */
export const serviceRoutes = (store: Pick<ObjectReader, "list">): ((at: Endpoint) => Endpoint | undefined) => {
  const turns = new Map<string, number>()
  return ({ ip, port }) => {
    const owner = store.list(services).items.find((service) => clusterIpOf(service) === ip)
    if (owner === undefined) return undefined
    const served = asObjects(asObject(owner["spec"])["ports"]).find((candidate) => candidate["port"] === port)
    const endpoints =
      served === undefined ? [] : readyEndpoints(slicesOf(store, namespaceOf(owner), nameOf(owner)), served["name"])
    const turn = turns.get(`${ip}:${port}`) ?? 0
    turns.set(`${ip}:${port}`, turn + 1)
    return endpoints[turn % Math.max(1, endpoints.length)]
  }
}
