import type { Endpoint } from "../../../ports/agent-target.ts"
import { asNumber, asObject, asObjects, asString } from "../json.ts"
import type { KubeObject } from "../kube-object.ts"
import { namespaceOf, nameOf } from "./store-access.ts"

/** A Service's port as it is reached inside of the cluster, and the ready pods behind it. */
export interface ServedPort {
  readonly at: Endpoint
  readonly service: string
  readonly endpoints: ReadonlyArray<Endpoint>
}

/** One that is not ready serves nobody; of one that says nothing a consumer shall think well. */
const isReady = (endpoint: unknown): boolean => asObject(asObject(endpoint)["conditions"])["ready"] !== false

/**
 * What a kube-proxy makes of Services and their EndpointSlices: each TCP port of a cluster IP with its ready endpoints, IPv4 only. A
 * Service's port and a slice's belong together by name.
 */
export const servedPorts = (services: ReadonlyArray<KubeObject>, slices: ReadonlyArray<KubeObject>): ReadonlyArray<ServedPort> =>
  services.flatMap((service) => {
    const spec = asObject(service["spec"])
    const ip = asString(spec["clusterIP"])
    if (ip === undefined || !/^\d+(\.\d+){3}$/u.test(ip)) return []
    const own = slices.filter(({ metadata }) =>
      metadata.namespace === service.metadata.namespace && metadata.labels?.["kubernetes.io/service-name"] === service.metadata.name
    )
    return asObjects(spec["ports"]).flatMap((port) => {
      const number = asNumber(port["port"])
      if (number === undefined || (port["protocol"] ?? "TCP") !== "TCP") return []
      const endpoints = own.flatMap((slice) => {
        const target = asObjects(slice["ports"]).find((candidate) => (candidate["name"] ?? "") === (port["name"] ?? ""))
        const targetPort = asNumber(target?.["port"])
        if (targetPort === undefined || slice["addressType"] !== "IPv4") return []
        const addresses = asObjects(slice["endpoints"]).filter(isReady).flatMap(({ addresses: all }) => (Array.isArray(all) ? all : []))
        return addresses.flatMap((address: unknown) => (typeof address === "string" ? [{ ip: address, port: targetPort }] : []))
      })
      return [{ at: { ip, port: number }, service: `${namespaceOf(service)}/${nameOf(service)}`, endpoints }]
    })
  })
