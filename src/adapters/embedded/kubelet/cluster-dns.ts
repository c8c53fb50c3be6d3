import type { KubeObject } from "../kube-object.ts"
import { asObject, asString } from "../json.ts"
import type { ObjectReader } from "./node-store.ts"
import { pods, services } from "./resources.ts"
import { find, isPodReady, podIpOf, podPhase } from "./store-access.ts"

/**
 * The pods that a service sends traffic to: selected, running, Ready, not being deleted. `undefined`: no such
 * service.
 */
export const servicePods = (store: ObjectReader, namespace: string, name: string): ReadonlyArray<KubeObject> | undefined => {
  const service = find(store, services, namespace, name)
  if (service === undefined) return undefined
  const selector = Object.entries(asObject(asObject(service["spec"])["selector"]))
  if (selector.length === 0) return []
  const labelSelector = selector.map(([key, value]) => `${key}=${String(value)}`).join(",")
  return store.list(pods, { namespace, labelSelector }).items.filter((pod) =>
    podPhase(pod) === "Running" && isPodReady(pod) && pod.metadata.deletionTimestamp === undefined
  )
}

/**
 * The cluster's names: `<svc>`, `<svc>.<ns>`, `<svc>.<ns>.svc`, `<svc>.<ns>.svc.<cluster domain>` → the service's cluster IP, or where it
 * has none, as for a headless service, the addresses of its ready pods: a client that dials these must use the target port. The embedded
 * cluster gives no cluster IPs.
 */
export const resolveService = (
  store: ObjectReader,
  clusterDomain: string,
  fromNamespace: string,
  name: string
): ReadonlyArray<string> | undefined => {
  const bare = name.endsWith(".") ? name.slice(0, -1) : name
  const suffix = `.svc.${clusterDomain}`
  const short = bare.endsWith(suffix)
    ? bare.slice(0, -suffix.length)
    : bare.endsWith(".svc")
    ? bare.slice(0, -".svc".length)
    : bare
  const [service, namespace, ...rest] = short.split(".")
  if (service === undefined || service === "" || rest.length > 0) return undefined
  if (short !== bare && namespace === undefined) return undefined
  const clusterIp = asString(asObject(find(store, services, namespace ?? fromNamespace, service)?.["spec"])["clusterIP"])
  if (clusterIp !== undefined && clusterIp !== "" && clusterIp !== "None") return [clusterIp]
  const found = servicePods(store, namespace ?? fromNamespace, service)
  return found?.flatMap((pod) => asString(podIpOf(pod)) ?? [])
}
