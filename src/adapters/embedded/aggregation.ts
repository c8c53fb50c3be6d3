import { refs } from "./built-in-resources.ts"
import { asNumber, asObject, asObjects, asString, at, isObject } from "./json.ts"
import type { KubeObject } from "./kube-object.ts"
import type { ObjectStore } from "./object-store.ts"

/** An `APIService` that sends its group and version to a Service. */
export interface AggregatedService {
  readonly name: string
  readonly group: string
  readonly version: string
  readonly versionPriority: number
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number }
  readonly insecureSkipTlsVerify: boolean
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
    caBundle: caBundle === undefined ? undefined : Buffer.from(caBundle, "base64").toString("utf8")
  }
}

export const aggregatedServices = (store: ObjectStore): ReadonlyArray<AggregatedService> =>
  store.list(refs.apiServices).items.flatMap((object) => parse(object) ?? [])

/** The aggregated service of exactly this group and version: other versions of the group stay with the definitions. */
export const aggregatedServiceFor = (store: ObjectStore, group: string, version: string): AggregatedService | undefined => {
  const object = store.get(refs.apiServices, undefined, `${version}.${group}`)
  return object === undefined ? undefined : parse(object)
}

export type Backend =
  | { readonly _tag: "Address"; readonly host: string; readonly port: number }
  /** Reason and message of the `Available` condition of a real server. */
  | { readonly _tag: "Missing"; readonly reason: string; readonly message: string }

const isReady = (pod: KubeObject): boolean =>
  pod.metadata.deletionTimestamp === undefined &&
  at(pod, "status", "phase") === "Running" &&
  asObjects(at(pod, "status", "conditions")).some((item) => item["type"] === "Ready" && item["status"] === "True")

const podPort = (pod: KubeObject, target: unknown): number | undefined => {
  if (typeof target === "number") return target
  for (const container of asObjects(at(pod, "spec", "containers"))) {
    for (const port of asObjects(container["ports"])) if (port["name"] === target) return asNumber(port["containerPort"])
  }
  return undefined
}

const addressesOfPods = (store: ObjectStore, namespace: string, selector: object, target: unknown): ReadonlyArray<Backend> => {
  const labelSelector = Object.entries(selector)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(",")
  return store.list(refs.pods, { namespace, labelSelector }).items.filter(isReady).flatMap((pod): ReadonlyArray<Backend> => {
    const host = asString(at(pod, "status", "podIP"))
    const port = podPort(pod, target)
    return host === undefined || port === undefined ? [] : [{ _tag: "Address", host, port }]
  })
}

const addressesOfEndpoints = (store: ObjectStore, namespace: string, name: string, portName: string): ReadonlyArray<Backend> =>
  asObjects(store.get(refs.endpoints, namespace, name)?.["subsets"]).flatMap((subset) => {
    const ports = asObjects(subset["ports"])
    const port = asNumber((ports.find((item) => (item["name"] ?? "") === portName) ?? (ports.length === 1 ? ports[0] : undefined))?.["port"])
    return asObjects(subset["addresses"]).flatMap((address): ReadonlyArray<Backend> => {
      const host = asString(address["ip"])
      return host === undefined || port === undefined ? [] : [{ _tag: "Address", host, port }]
    })
  })

/** Where requests to an aggregated service go now. `random` in [0, 1) picks among several ready endpoints. */
export const resolveBackend = (store: ObjectStore, { service: target }: AggregatedService, random: number): Backend => {
  const { namespace, name, port } = target
  const service = store.get(refs.services, namespace, name)
  if (service === undefined) {
    return { _tag: "Missing", reason: "ServiceNotFound", message: `service/${name} in "${namespace}" is not present` }
  }
  if (at(service, "spec", "type") === "ExternalName") {
    return { _tag: "Address", host: asString(at(service, "spec", "externalName")) ?? "", port }
  }
  const entry = asObjects(at(service, "spec", "ports")).find((item) => item["port"] === port)
  if (entry === undefined) {
    return { _tag: "Missing", reason: "ServicePortError", message: `service/${name} in "${namespace}" is not listening on port ${port}` }
  }
  const selector = asObject(at(service, "spec", "selector"))
  const portName = asString(entry["name"]) ?? ""
  const addresses =
    Object.keys(selector).length > 0
      ? addressesOfPods(store, namespace, selector, entry["targetPort"] ?? port)
      : addressesOfEndpoints(store, namespace, name, portName)
  return (
    addresses[Math.floor(random * addresses.length)] ?? {
      _tag: "Missing",
      reason: "MissingEndpoints",
      message: `endpoints for service/${name} in "${namespace}" have no addresses with port name "${portName}"`
    }
  )
}
