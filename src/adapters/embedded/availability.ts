import { aggregatedServices } from "./aggregation.ts"
import type { AggregationProxy } from "./aggregation-proxy.ts"
import { refs } from "./built-in-resources.ts"
import { asObjects, at } from "./json.ts"
import { kubeTime } from "./kube-object.ts"
import type { ObjectStore } from "./object-store.ts"

const passed = { reason: "Passed", message: "all checks passed" }

/**
 * Keeps the `Available` condition of aggregated APIServices: probes them at once when something they depend on changes, and at an
 * interval. Returns what stops it.
 */
export const watchAvailability = (store: ObjectStore, proxy: AggregationProxy, now: () => number, intervalMs: number): (() => void) => {
  let running = false
  let again = false
  let stopped = false

  const check = async (): Promise<void> => {
    for (const service of aggregatedServices(store)) {
      const problem = await proxy.probe(service)
      const object = store.get(refs.apiServices, undefined, service.name)
      if (stopped || object === undefined) continue
      const status = problem === undefined ? "True" : "False"
      const { reason, message } = problem ?? passed
      const before = asObjects(at(object, "status", "conditions")).find((item) => item["type"] === "Available")
      if (before?.["status"] === status && before["reason"] === reason && before["message"] === message) continue
      const lastTransitionTime = before?.["status"] === status ? before["lastTransitionTime"] : kubeTime(now())
      store.modify(
        refs.apiServices,
        undefined,
        service.name,
        (draft) => {
          draft["status"] = { conditions: [{ lastTransitionTime, message, reason, status, type: "Available" }] }
        },
        { subresource: "status" }
      )
    }
  }

  const run = async (): Promise<void> => {
    if (running) {
      again = true
      return
    }
    running = true
    do {
      again = false
      await check()
    } while (again && !stopped)
    running = false
  }

  const trigger = (): void => {
    if (!stopped) void run()
  }
  const watches = [refs.apiServices, refs.services, refs.endpointSlices].map((ref) =>
    store.watch(ref, { resourceVersion: store.resourceVersion }, trigger)
  )
  const timer = setInterval(trigger, intervalMs)
  trigger()
  return () => {
    stopped = true
    clearInterval(timer)
    for (const stop of watches) stop()
  }
}
