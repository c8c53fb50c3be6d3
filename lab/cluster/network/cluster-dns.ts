/**
 * The answers of the cluster's DNS: `<svc>`, `<svc>.<ns>`, `<svc>.<ns>.svc`, `<svc>.<ns>.svc.<cluster domain>`. Names
 * of the outside world, and DNS as a protocol, are not here.
 */

import type { ObjectReader } from "../store/object-reader.ts"
import { services } from "../store/resource-refs.ts"
import { find, namespaceOf } from "../store/store-access.ts"
import { clusterIpOf, readyAddresses, slicesOf } from "./service-endpoints.ts"

/**
 * The Service's cluster IP; `undefined` if there is no such Service. A headless Service has the addresses of its ready
 * pods instead, and a client must dial these at the target port.
 */
export const resolveService = (
  store: ObjectReader,
  clusterDomain: string,
  fromNamespace: string,
  name: string
): ReadonlyArray<string> | undefined => {
  const bare = name.endsWith(".") ? name.slice(0, -1) : name
  const suffix = [`.svc.${clusterDomain}`, ".svc", ""].find((end) => bare.endsWith(end)) ?? ""
  const short = bare.slice(0, bare.length - suffix.length)
  const [service, namespace, ...rest] = short.split(".")
  if (service === undefined || service === "" || rest.length > 0) return undefined
  if (short !== bare && namespace === undefined) return undefined
  const found = find(store, services, namespace ?? fromNamespace, service)
  if (found === undefined) return undefined
  const clusterIp = clusterIpOf(found)
  return clusterIp === undefined
    ? [...new Set(slicesOf(store, namespaceOf(found), service).flatMap(readyAddresses))]
    : [clusterIp]
}
