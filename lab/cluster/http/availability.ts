/**
 * Keeps the `Available` condition of aggregated APIServices, as kube-aggregator's controller does: probes them at an
 * interval, and at once when an APIService, a Service or an EndpointSlice changes.
 */

import { asObjects, at } from "../../../src/domain/json.ts"
import { kubeTime } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import * as refs from "../store/resource-refs.ts"
import type { AggregationProxy } from "./aggregation-proxy.ts"
import { type AggregatedService, aggregatedServices, type Unavailable } from "./aggregation.ts"

const passed = { reason: "Passed", message: "all checks passed" }

/** The interval of probes when nothing changes, in ms. */
const intervalMs = 5_000
/** The first delay before a failed service is probed again, in ms; it doubles up to {@link intervalMs}. */
const retryMs = 5
/**
 * Probes per check: a single success is enough, since the Service may have several endpoints (kube-aggregator
 * `remote_available_controller`).
 */
const attempts = 5

/** Returns the function that stops it. */
export const watchAvailability = (store: ObjectStore, proxy: AggregationProxy, now: () => number): (() => void) => {
  let running = false
  let changedMeanwhile = false
  let stopped = false
  let failures = 0
  let timer: NodeJS.Timeout | undefined

  const probe = async (service: AggregatedService): Promise<Unavailable | undefined> => {
    const problem = await proxy.probe(service)
    if (problem === undefined) return undefined
    const more = await Promise.all(Array.from({ length: attempts - 1 }, () => proxy.probe(service)))
    return more.includes(undefined) ? undefined : problem
  }

  /** Gives whether the service is available. */
  const check = async (service: AggregatedService): Promise<boolean> => {
    const problem = await probe(service)
    const object = store.get(refs.apiServices, undefined, service.name)
    if (stopped || object === undefined) return true
    const status = problem === undefined ? "True" : "False"
    const { reason, message } = problem ?? passed
    const before = asObjects(at(object, "status", "conditions")).find((item) => item["type"] === "Available")
    if (before?.["status"] === status && before["reason"] === reason && before["message"] === message)
      return problem === undefined
    const lastTransitionTime = before?.["status"] === status ? before["lastTransitionTime"] : kubeTime(now())
    const conditions = [{ lastTransitionTime, message, reason, status, type: "Available" }]
    store.writeStatus(refs.apiServices, undefined, service.name, { conditions })
    return problem === undefined
  }

  const run = async (): Promise<void> => {
    if (running) {
      changedMeanwhile = true
      return
    }
    running = true
    clearTimeout(timer)
    do {
      changedMeanwhile = false
      const available = await Promise.all(aggregatedServices(store).map(check))
      failures = available.includes(false) ? failures + 1 : 0
    } while (changedMeanwhile && !stopped)
    running = false
    if (!stopped)
      timer = setTimeout(trigger, failures === 0 ? intervalMs : Math.min(intervalMs, retryMs * 2 ** failures))
  }

  const trigger = (): void => {
    if (!stopped) void run()
  }
  const watches = [refs.apiServices, refs.services, refs.endpointSlices].map((ref) =>
    store.watch(ref, { resourceVersion: store.resourceVersion }, trigger)
  )
  trigger()
  return () => {
    stopped = true
    clearTimeout(timer)
    for (const stop of watches) stop()
  }
}
