/**
 * From a Service and its pods to the content of EndpointSlices, as a real server's controller computes it. Pure:
 * `endpoints-controller.ts` watches and writes.
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
