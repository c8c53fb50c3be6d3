/**
 * APIServices that point to a Service, read from the store, and the endpoint to which their requests go, with a real
 * server's reasons if there is none. Connections are `aggregation-proxy.ts`'s part.
 */

import { asNumber, asObject, asObjects, asString, at, isObject } from "../../../src/domain/json.ts"
import { readyEndpoints, slicesOf } from "../network/service-endpoints.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import * as refs from "../store/resource-refs.ts"

/** An `APIService` that sends its group and version to a Service. */
export interface AggregatedService {
  readonly name: string
  readonly group: string
  readonly version: string
  readonly versionPriority: number
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number }
  readonly insecureSkipTlsVerify: boolean
  /** The `Available` condition: a server sends no requests to an unavailable service. */
  readonly available: boolean
  /** PEM. */
  readonly caBundle: string | undefined
}

const parse = (object: KubeObject): AggregatedService | undefined => {
  const spec = asObject(object["spec"])
  if (!isObject(spec["service"])) return undefined
  const caBundle = asString(spec["caBundle"])
  return {
    name: object.metadata.name ?? "",
    group: asString(spec["group"]) ?? "",
    version: asString(spec["version"]) ?? "",
    versionPriority: asNumber(spec["versionPriority"]) ?? 0,
    service: {
      namespace: asString(spec["service"]["namespace"]) ?? "",
      name: asString(spec["service"]["name"]) ?? "",
      port: asNumber(spec["service"]["port"]) ?? 443
    },
    insecureSkipTlsVerify: spec["insecureSkipTLSVerify"] === true,
    available: asObjects(at(object, "status", "conditions")).some(
      (item) => item["type"] === "Available" && item["status"] === "True"
    ),
    caBundle: caBundle === undefined ? undefined : Buffer.from(caBundle, "base64").toString("utf8")
  }
}

export const aggregatedServices = (store: ObjectStore): ReadonlyArray<AggregatedService> =>
  store.list(refs.apiServices).items.flatMap((object) => parse(object) ?? [])

/** The aggregated service of exactly this group and version. Other versions of the group may be custom resources. */
export const aggregatedServiceFor = (
  store: ObjectStore,
  group: string,
  version: string
): AggregatedService | undefined => {
  const object = store.get(refs.apiServices, undefined, `${version}.${group}`)
  return object === undefined ? undefined : parse(object)
}

/** Reason and message of a real server's `Available` condition. */
export interface Unavailable {
  readonly reason: string
  readonly message: string
}

export type Backend =
  /** `authority` is the Service's own address, which a real server dials. */
  | { readonly _tag: "Address"; readonly host: string; readonly port: number; readonly authority: string }
  | ({ readonly _tag: "Missing" } & Unavailable)

/** The present target for requests to a Service. `random` in [0, 1) picks among several ready endpoints. */
export const resolveBackend = (
  store: ObjectStore,
  { service: target }: Pick<AggregatedService, "service">,
  random: number
): Backend => {
  const { namespace, name, port } = target
  const missing = (reason: string, message: string): Backend => ({ _tag: "Missing", reason, message })
  const about = `service/${name} in ${JSON.stringify(namespace)}`
  const service = store.get(refs.services, namespace, name)
  if (service === undefined) return missing("ServiceNotFound", `${about} is not present`)
  if (at(service, "spec", "type") === "ExternalName") {
    const host = asString(at(service, "spec", "externalName")) ?? ""
    return { _tag: "Address", host, port, authority: `${host}:${port}` }
  }
  const entry = asObjects(at(service, "spec", "ports")).find((item) => item["port"] === port)
  if (entry === undefined) return missing("ServicePortError", `${about} is not listening on port ${port}`)
  const slices = slicesOf(store, namespace, name)
  if (slices.length === 0) return missing("EndpointsNotFound", `cannot find endpointslices for ${about}`)
  const portName = asString(entry["name"]) ?? ""
  const endpoints = readyEndpoints(slices, portName)
  const endpoint = endpoints[Math.floor(random * endpoints.length)]
  return endpoint === undefined
    ? missing("MissingEndpoints", `endpointslices for ${about} have no addresses with port name "${portName}"`)
    : {
        _tag: "Address",
        host: endpoint.ip,
        port: endpoint.port,
        authority: `${asString(at(service, "spec", "clusterIP")) ?? ""}:${port}`
      }
}
