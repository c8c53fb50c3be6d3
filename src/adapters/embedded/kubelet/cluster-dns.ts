import type { KubeObject } from "../kube-object.ts"
import { asObject, asString } from "../json.ts"
import type { ObjectStore } from "../object-store.ts"
import { pods, services } from "./resources.ts"
import { find, isPodReady, podIpOf, podPhase } from "./store-access.ts"

/**
 * The pods that a service sends traffic to: selected, running, Ready, not being deleted. `undefined`: no such
 * service.
 */
export const servicePods = (store: ObjectStore, namespace: string, name: string): ReadonlyArray<KubeObject> | undefined => {
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
 * The cluster's names: `<svc>`, `<svc>.<ns>`, `<svc>.<ns>.svc`, `<svc>.<ns>.svc.<cluster domain>` → addresses of the
 * service's
 * ready pods, as for a headless service. There are no cluster IPs here: a client that dials the answer must use the
 * target port.
 */
export const resolveService = (
  store: ObjectStore,
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
  const found = servicePods(store, namespace ?? fromNamespace, service)
  return found?.flatMap((pod) => asString(podIpOf(pod)) ?? [])
}
