/**
 * Completes Services as a real server with one address family does (k8s.io/kubernetes `pkg/registry/core/service`):
 * families, cluster IPs, node ports, and the refusals of those that cannot be allocated. The other rules for Services
 * are in `checks/network-checks.ts`; nothing here listens on an address.
 */

import { isIPv4, isIPv6 } from "node:net"
import {
  asNumber,
  asObject,
  asObjects,
  asString,
  asStrings,
  at,
  type JsonObject,
  jsonEqual
} from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { type FieldError, forbiddenField, invalidValue, unsupportedValue } from "../wire/status-error.ts"

/**
 * All embedded clusters take their cluster IPs from 127.96.0.0/16. Nothing listens there: `serviceRoutes` leads a dial
 * from inside of a cluster to a ready pod, and without such a pod the machine refuses the connection.
 */
const network = "127.96"
/** The cluster IP of `kubernetes`, the API server's own Service. */
export const apiServerIp = `${network}.0.1`
const addresses = 65_536
/** Lower addresses are for people who ask for a certain address (k8s.io/kubernetes `ipallocator`). */
const firstDynamic = 256
const nodePorts = { first: 30_000, last: 32_767 }

/** The Services that have their addresses and ports already, and the source of chance. */
export interface Allocated {
  readonly services: Iterable<KubeObject>
  /** Uniform in [0, 1). */
  readonly random: () => number
}

const familyPolicies = ["PreferDualStack", "RequireDualStack", "SingleStack"]
/** Fields that an ExternalName Service does not have. */
const clusterIpFields = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"]

const hasClusterIp = (spec: JsonObject): boolean => spec["type"] !== "ExternalName"
const isExternal = (spec: JsonObject): boolean => spec["type"] === "NodePort" || spec["type"] === "LoadBalancer"
const takesNodePorts = (spec: JsonObject): boolean =>
  isExternal(spec) && spec["allocateLoadBalancerNodePorts"] !== false
const isHeadless = (spec: JsonObject): boolean => spec["clusterIP"] === "None"
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)

const dropUnchanged = (spec: JsonObject, old: JsonObject, fields: ReadonlyArray<string>): void => {
  for (const field of fields) if (jsonEqual(spec[field], old[field])) delete spec[field]
}

/** An update that leaves out allocated values keeps them; a change of the type drops those that the new type lacks. */
const carryOver = (spec: JsonObject, old: JsonObject): void => {
  if (hasClusterIp(old) && hasClusterIp(spec)) {
    if (spec["clusterIP"] !== old["clusterIP"] && jsonEqual(spec["clusterIPs"], old["clusterIPs"]))
      delete spec["clusterIPs"]
    for (const field of ["clusterIP", "ipFamilies", "ipFamilyPolicy"])
      if (isEmpty(spec[field])) spec[field] = old[field]
  } else if (hasClusterIp(old)) dropUnchanged(spec, old, clusterIpFields)
  if (isExternal(old) && !isExternal(spec))
    dropUnchanged(spec, old, ["externalTrafficPolicy", "allocateLoadBalancerNodePorts"])
  carryNodePorts(spec, old)
}

const carryNodePorts = (spec: JsonObject, old: JsonObject): void => {
  const before = asObjects(old["ports"])
  const used = new Set(asObjects(spec["ports"]).map((port) => port["nodePort"]))
  for (const port of asObjects(spec["ports"])) {
    const known = before.find((candidate) => (candidate["name"] ?? "") === (port["name"] ?? ""))?.["nodePort"]
    if (known === undefined) continue
    if (!isExternal(spec)) dropUnchanged(port, { nodePort: known }, ["nodePort"])
    else if (isEmpty(port["nodePort"]) && !used.has(known)) port["nodePort"] = known
  }
}

const setDefaults = (spec: JsonObject): void => {
  if (!isEmpty(spec["clusterIP"]) && isEmpty(spec["clusterIPs"])) spec["clusterIPs"] = [spec["clusterIP"]]
  for (const field of ["clusterIP", "clusterIPs"]) if (isEmpty(spec[field])) delete spec[field]
  if (isExternal(spec)) spec["externalTrafficPolicy"] ??= "Cluster"
  if (spec["type"] === "LoadBalancer") spec["allocateLoadBalancerNodePorts"] ??= true
  if (hasClusterIp(spec)) spec["internalTrafficPolicy"] ??= "Cluster"
}

/** Refusals of the addresses that a Service asks for. */
export const checkClusterIps = (service: KubeObject, before: KubeObject | undefined): ReadonlyArray<FieldError> => {
  const spec = asObject(service["spec"])
  const field = "spec.clusterIPs"
  const all = asStrings(spec["clusterIPs"])
  if (!hasClusterIp(spec))
    return all.length === 0 ? [] : [forbiddenField(field, "may not be set for ExternalName services")]
  if (!isEmpty(spec["ipFamilyPolicy"]) && !familyPolicies.includes(String(spec["ipFamilyPolicy"]))) {
    return [unsupportedValue("spec.ipFamilyPolicy", spec["ipFamilyPolicy"], familyPolicies)]
  }
  const [first] = all
  if (first === undefined) return []
  if (spec["clusterIP"] === undefined)
    return [invalidValue(field, all, "must be empty when `clusterIP` is not specified")]
  if (first !== spec["clusterIP"]) return [invalidValue(field, all, "first value must match `clusterIP`")]
  const wrong = checkAddress(spec, field, first, all)
  if (wrong !== undefined) return [wrong]
  const known = asString(at(before, "spec", "clusterIP"))
  return known !== undefined && known !== first ? [invalidValue(`${field}[0]`, all, "may not change once set")] : []
}

const checkAddress = (
  spec: JsonObject,
  field: string,
  first: string,
  all: ReadonlyArray<string>
): FieldError | undefined => {
  if (first === "None") {
    return isExternal(spec)
      ? invalidValue(`${field}[0]`, first, `may not be set to 'None' for ${String(spec["type"])} services`)
      : undefined
  }
  if (!isIPv4(first) && !isIPv6(first))
    return invalidValue(`${field}[0]`, first, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
  if (all.filter(isIPv4).length > 1)
    return invalidValue(field, all, "may specify no more than one IP for each IP family")
  return isIPv6(first) ? invalidValue(`${field}[0]`, all, "IPv6 is not configured on this cluster") : undefined
}

const setFamilies = (spec: JsonObject): ReadonlyArray<FieldError> => {
  const anyFamily = isHeadless(spec) && Object.keys(asObject(spec["selector"])).length === 0
  if (!anyFamily && asStrings(spec["ipFamilies"])[0] === "IPv6")
    return [invalidValue("spec.ipFamilies[0]", "IPv6", "not configured on this cluster")]
  if (!anyFamily && spec["ipFamilyPolicy"] === "RequireDualStack") {
    return [
      invalidValue("spec.ipFamilyPolicy", "RequireDualStack", "this cluster is not configured for dual-stack services")
    ]
  }
  if (isEmpty(spec["ipFamilyPolicy"])) spec["ipFamilyPolicy"] = anyFamily ? "RequireDualStack" : "SingleStack"
  if (isEmpty(spec["ipFamilies"]))
    spec["ipFamilies"] = anyFamily && spec["ipFamilyPolicy"] !== "SingleStack" ? ["IPv4", "IPv6"] : ["IPv4"]
  return []
}

/** A free number from [first, end), searched from a random start. `undefined` if all are taken. */
const freeNumber = (
  first: number,
  end: number,
  random: () => number,
  isTaken: (candidate: number) => boolean
): number | undefined => {
  const size = end - first
  const start = Math.floor(random() * size)
  for (let step = 0; step < size; step++) {
    const candidate = first + ((start + step) % size)
    if (!isTaken(candidate)) return candidate
  }
  return undefined
}

const setClusterIp = (
  spec: JsonObject,
  others: ReadonlyArray<JsonObject>,
  random: () => number
): ReadonlyArray<FieldError> => {
  const field = "spec.clusterIPs"
  const taken = new Set(others.map((other) => other["clusterIP"]))
  const wanted = asString(spec["clusterIP"])
  if (wanted === undefined) {
    const address = (index: number): string => `${network}.${Math.floor(index / 256)}.${index % 256}`
    const index = freeNumber(firstDynamic, addresses - 1, random, (candidate) => taken.has(address(candidate)))
    if (index === undefined) return [invalidValue(field, [], "failed to allocate IP: range is full")]
    spec["clusterIP"] = address(index)
    spec["clusterIPs"] = [spec["clusterIP"]]
    return []
  }
  const refuse = (why: string) => [invalidValue(field, spec["clusterIPs"], `failed to allocate IP ${wanted}: ${why}`)]
  if (!wanted.startsWith(`${network}.`) || [`${network}.0.0`, `${network}.255.255`].includes(wanted)) {
    return refuse("the provided network does not match the current range")
  }
  return taken.has(wanted) ? refuse("provided IP is already allocated") : []
}

const setNodePorts = (
  spec: JsonObject,
  others: ReadonlyArray<JsonObject>,
  random: () => number
): ReadonlyArray<FieldError> => {
  const { first, last } = nodePorts
  const taken = new Set(others.flatMap((other) => asObjects(other["ports"]).map((port) => port["nodePort"])))
  return asObjects(spec["ports"]).flatMap((port, index) => {
    const field = `spec.ports[${index}].nodePort`
    const wanted = asNumber(port["nodePort"])
    if (wanted === undefined) {
      const free = freeNumber(first, last + 1, random, (candidate) => taken.has(candidate))
      if (free === undefined) return [invalidValue(field, 0, "failed to allocate a nodePort: range is full")]
      taken.add(free)
      port["nodePort"] = free
      return []
    }
    if (wanted < first || wanted > last) {
      return [
        invalidValue(
          field,
          wanted,
          `provided port is not in the valid range. The range of valid ports is ${first}-${last}`
        )
      ]
    }
    return taken.has(wanted) ? [invalidValue(field, wanted, "provided port is already allocated")] : []
  })
}

/** To be called before the checks: carries over old values and sets defaults, in place. */
export const prepareService = (service: KubeObject, before: KubeObject | undefined): void => {
  const spec = asObject(service["spec"])
  if (before !== undefined) carryOver(spec, asObject(before["spec"]))
  setDefaults(spec)
}

/**
 * To be called on a Service that passed the checks: allocates in place, and returns a refusal for each value that
 * cannot be allocated. Nothing has to be released: an allocation lives in its Service.
 */
export const allocateService = (service: KubeObject, { random, services }: Allocated): ReadonlyArray<FieldError> => {
  const spec = asObject(service["spec"])
  const others = [...services]
    .filter(({ metadata }) => metadata.uid !== service.metadata.uid)
    .map((other) => asObject(other["spec"]))
  return [
    ...(hasClusterIp(spec) ? setFamilies(spec) : []),
    ...(hasClusterIp(spec) && !isHeadless(spec) ? setClusterIp(spec, others, random) : []),
    ...(takesNodePorts(spec) ? setNodePorts(spec, others, random) : [])
  ]
}
