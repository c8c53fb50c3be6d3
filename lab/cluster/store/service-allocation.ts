/**
 * Completes Services as a real server with one address family does (k8s.io/kubernetes `pkg/registry/core/service`):
 * families and cluster IPs. Rules for Services are in `checks/built-in-checks.ts`. Nothing here listens on an address,
 * and there are no node ports.
 */

import { asObject, asString, at, type JsonObject, jsonEqual } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { type FieldError, invalidValue } from "../wire/status-error.ts"

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

/** The Services that have their addresses already, and the source of chance. */
export interface Allocated {
  readonly services: Iterable<KubeObject>
  /** Uniform in [0, 1). */
  readonly random: () => number
}

const hasClusterIp = (spec: JsonObject): boolean => spec["type"] !== "ExternalName"
const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)

const dropAddress = (spec: JsonObject, old: JsonObject): void => {
  for (const field of ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"])
    if (jsonEqual(spec[field], old[field])) delete spec[field]
}

const keepAddress = (spec: JsonObject, old: JsonObject): void => {
  for (const field of ["clusterIP", "clusterIPs"]) if (isEmpty(spec[field])) delete spec[field]
  const wanted = spec["clusterIP"] ?? old["clusterIP"]
  if (wanted === undefined) return
  if (wanted !== old["clusterIP"] && jsonEqual(spec["clusterIPs"], old["clusterIPs"])) delete spec["clusterIPs"]
  spec["clusterIP"] = wanted
  spec["clusterIPs"] ??= [wanted]
}

/**
 * To be called before the checks: an update that leaves out the address keeps it, in place. A change of the type drops
 * it.
 */
export const prepareService = (service: KubeObject, before: KubeObject | undefined): void => {
  const spec = asObject(service["spec"])
  const old = asObject(before?.["spec"])
  if (!hasClusterIp(spec)) return dropAddress(spec, old)
  keepAddress(spec, old)
  spec["internalTrafficPolicy"] ??= "Cluster"
  if (isEmpty(spec["ipFamilyPolicy"])) spec["ipFamilyPolicy"] = "SingleStack"
  if (isEmpty(spec["ipFamilies"])) spec["ipFamilies"] = ["IPv4"]
}

/** Refuses another address than the one that a Service has. */
export const checkClusterIps = (service: KubeObject, before: KubeObject | undefined): ReadonlyArray<FieldError> => {
  const known = asString(at(before, "spec", "clusterIP"))
  const { clusterIP, clusterIPs } = asObject(service["spec"])
  return known === undefined || clusterIP === undefined || clusterIP === known
    ? []
    : [invalidValue("spec.clusterIPs[0]", clusterIPs, "may not change once set")]
}

/** A free address, searched from a random start; `undefined` if all are taken. */
const freeAddress = (taken: ReadonlySet<unknown>, random: () => number): string | undefined => {
  const size = addresses - 1 - firstDynamic
  const start = Math.floor(random() * size)
  for (let step = 0; step < size; step++) {
    const index = firstDynamic + ((start + step) % size)
    const address = `${network}.${Math.floor(index / 256)}.${index % 256}`
    if (!taken.has(address)) return address
  }
  return undefined
}

/**
 * To be called on a Service that passed the checks: gives it an address in place, and refuses one that cannot be had.
 * Nothing has to be released: an address lives in its Service.
 */
export const allocateService = (service: KubeObject, { random, services }: Allocated): ReadonlyArray<FieldError> => {
  const spec = asObject(service["spec"])
  if (!hasClusterIp(spec) || spec["clusterIP"] === "None") return []
  const others = [...services].filter(({ metadata }) => metadata.uid !== service.metadata.uid)
  const taken = new Set(others.map((other) => at(other, "spec", "clusterIP")))
  const wanted = asString(spec["clusterIP"]) ?? freeAddress(taken, random)
  const refuse = (why: string) => [invalidValue("spec.clusterIPs", spec["clusterIPs"] ?? [], why)]
  if (wanted === undefined) return refuse("failed to allocate IP: range is full")
  const problem = `failed to allocate IP ${wanted}:`
  if (!wanted.startsWith(`${network}.`))
    return refuse(`${problem} the provided network does not match the current range`)
  if (taken.has(wanted)) return refuse(`${problem} provided IP is already allocated`)
  spec["clusterIP"] = wanted
  spec["clusterIPs"] = [wanted]
  return []
}
