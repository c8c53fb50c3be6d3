/**
 * From a Service and its pods to the content of EndpointSlices and v1 Endpoints, as a real server's controllers compute
 * it. Pure: `endpoints-controllers.ts` watches and writes.
 */

import { isIPv4 } from "node:net"
import { asNumber, asObject, asObjects, asString, at, type JsonObject } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { isPodReady, nameOf, namespaceOf, podIpOf, podPhase, uidOf } from "../store/store-access.ts"

/** The part of an EndpointSlice that names the endpoints. A real server shows empty lists as `null`. */
export interface SliceContent {
  readonly addressType: "IPv4"
  readonly endpoints: ReadonlyArray<JsonObject> | null
  readonly ports: ReadonlyArray<JsonObject> | null
}

const orNull = (items: ReadonlyArray<JsonObject>): ReadonlyArray<JsonObject> | null =>
  items.length === 0 ? null : items

/** The given fields of a source, without those that it lacks. */
const present = (source: JsonObject, ...fields: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(fields.flatMap((field) => (source[field] === undefined ? [] : [[field, source[field]]])))

const groupBy = <A>(items: ReadonlyArray<A>, key: (item: A) => unknown): ReadonlyArray<ReadonlyArray<A>> => [
  ...Map.groupBy(items, (item) => JSON.stringify(key(item))).values()
]

/** The number of a Service's port in a pod; a name means a container's port of the same protocol. */
const numberIn = (pod: KubeObject, port: JsonObject): number | undefined => {
  const target = port["targetPort"] ?? port["port"]
  if (typeof target === "number") return target
  const named = asObjects(at(pod, "spec", "containers"))
    .flatMap((container) => asObjects(container["ports"]))
    .find(
      (candidate) => candidate["name"] === target && (candidate["protocol"] ?? "TCP") === (port["protocol"] ?? "TCP")
    )
  return asNumber(named?.["containerPort"])
}

const portsIn = (service: KubeObject, pod: KubeObject): ReadonlyArray<JsonObject> =>
  asObjects(at(service, "spec", "ports")).flatMap((port) => {
    const number = numberIn(pod, port)
    return number === undefined
      ? []
      : [
          {
            name: asString(port["name"]) ?? "",
            protocol: port["protocol"] ?? "TCP",
            port: number,
            ...present(port, "appProtocol")
          }
        ]
  })

/** A selected pod that has an address and has not ended. */
interface Member {
  readonly ip: string
  readonly ports: ReadonlyArray<JsonObject>
  readonly ready: boolean
  readonly serving: boolean
  readonly terminating: boolean
  /** `nodeName`, `targetRef`, and `hostname` where the Service gives the pod a name. */
  readonly about: JsonObject
}

const membersOf = (service: KubeObject, pods: ReadonlyArray<KubeObject>): ReadonlyArray<Member> =>
  pods.flatMap((pod) => {
    const ip = podIpOf(pod)
    if (ip === undefined || !isIPv4(ip) || podPhase(pod) === "Succeeded" || podPhase(pod) === "Failed") return []
    const spec = asObject(pod["spec"])
    const serving = isPodReady(pod)
    const terminating = pod.metadata.deletionTimestamp !== undefined
    return [
      {
        ip,
        ports: portsIn(service, pod),
        ready: at(service, "spec", "publishNotReadyAddresses") === true || (serving && !terminating),
        serving,
        terminating,
        about: {
          ...(spec["subdomain"] === nameOf(service) ? present(spec, "hostname") : {}),
          targetRef: { kind: "Pod", namespace: namespaceOf(pod), name: nameOf(pod), uid: uidOf(pod) },
          ...present(spec, "nodeName")
        }
      }
    ]
  })

/**
 * The slices of a Service: pods with the same ports share a slice. Like on a real server there is at least one slice.
 */
export const sliceContents = (service: KubeObject, pods: ReadonlyArray<KubeObject>): ReadonlyArray<SliceContent> => {
  const slices = groupBy(membersOf(service, pods), ({ ports }) => ports).map((members): SliceContent => ({
    addressType: "IPv4",
    endpoints: members.map(({ about, ip, ready, serving, terminating }) => ({
      addresses: [ip],
      conditions: { ready, serving, terminating },
      ...about
    })),
    ports: orNull(members[0]?.ports ?? [])
  }))
  return slices.length > 0 ? slices : [{ addressType: "IPv4", endpoints: null, ports: null }]
}

/** The `subsets` of v1 Endpoints, which only know ready and not ready: ports with the same pods share a subset. */
export const endpointSubsets = (service: KubeObject, pods: ReadonlyArray<KubeObject>): ReadonlyArray<JsonObject> => {
  const withoutPorts = asObjects(at(service, "spec", "ports")).length === 0
  const served = membersOf(service, pods)
    .filter(({ ready, terminating }) => ready || !terminating)
    .flatMap((member) => (withoutPorts ? [undefined] : member.ports).map((port) => ({ member, port })))
  const perPort = groupBy(served, ({ port }) => port).map((entries) => {
    const list = (field: string, wanted: boolean): JsonObject => {
      const found = entries
        .filter(({ member }) => member.ready === wanted)
        .map(({ member: { about, ip } }) => ({ ip, ...about }))
      return found.length === 0 ? {} : { [field]: found }
    }
    return { addresses: { ...list("addresses", true), ...list("notReadyAddresses", false) }, port: entries[0]?.port }
  })
  return groupBy(perPort, ({ addresses }) => addresses).map((entries) => {
    const ports = entries.flatMap(({ port }) =>
      port === undefined
        ? []
        : [present(port, ...(port["name"] === "" ? [] : ["name"]), "port", "protocol", "appProtocol")]
    )
    return { ...entries[0]?.addresses, ...(ports.length === 0 ? {} : { ports }) }
  })
}

/** The slices that mirror v1 Endpoints which a client wrote for a Service without a selector. */
export const mirroredContents = (endpoints: KubeObject): ReadonlyArray<SliceContent> =>
  asObjects(endpoints["subsets"]).flatMap((subset) => {
    const list = (field: string, ready: boolean): ReadonlyArray<JsonObject> =>
      asObjects(subset[field]).map((address) => ({
        addresses: [address["ip"]],
        conditions: { ready },
        ...present(address, "hostname", "targetRef", "nodeName")
      }))
    const found = [...list("addresses", true), ...list("notReadyAddresses", false)]
    const ports = asObjects(subset["ports"]).map((port) => ({
      name: asString(port["name"]) ?? "",
      protocol: port["protocol"] ?? "TCP",
      ...present(port, "port", "appProtocol")
    }))
    return found.length === 0 ? [] : [{ addressType: "IPv4", endpoints: found, ports: orNull(ports) }]
  })
