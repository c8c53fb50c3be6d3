/**
 * The orders about queues that replicas share, and the reports of their owners, as this process sees them. Kept by one
 * watch.
 *
 * Not here: giving orders (shared-forwarders.ts), and carrying them out (pump-queues.ts).
 */

import { Effect, type Scope } from "effect"
import { asObject } from "../../../domain/json.ts"
import {
  orderEntry,
  type PumpOrder,
  pumpLabel,
  type PumpReport,
  readOrder,
  readReport,
  reportEntry
} from "../../../domain/queues/pump-order.ts"
import { configMaps } from "../../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeObject } from "../../../ports/kube-api.ts"
import { makeReflector } from "../../kernel/reflector.ts"

/** A queue with its order, by the name of their ConfigMap. */
export interface OrderedPump {
  readonly name: string
  readonly uid: string
  /** `undefined` if it cannot be read, as that of another release. */
  readonly order: PumpOrder | undefined
  readonly report: PumpReport | undefined
}

export interface PumpOrders {
  readonly awaitSynced: Effect.Effect<void>
  readonly all: () => ReadonlyArray<OrderedPump>
  readonly get: (name: string) => OrderedPump | undefined
  /** Takes an answer of the API server. */
  readonly wrote: (answer: KubeObject) => void
  readonly reread: (name: string) => Effect.Effect<void>
  /** Calls back with the name of each that has come, changed or gone, until the returned function is called. */
  readonly listen: (changed: (name: string) => void) => () => void
}

/** Watches the orders until the scope closes. */
export const watchPumpOrders = Effect.fnUntraced(function* (
  api: KubeApi,
  namespace: string
): Effect.fn.Return<PumpOrders, never, Scope.Scope> {
  const listeners = new Set<(name: string) => void>()
  const read = new WeakMap<KubeObject, OrderedPump>()
  const reflector = yield* makeReflector(
    api,
    configMaps,
    ({ metadata: { name } }) => {
      for (const changed of listeners) changed(name)
    },
    { namespace, labelSelector: pumpLabel }
  )
  const pumpOf = (object: KubeObject): OrderedPump => {
    const before = read.get(object)
    if (before !== undefined) return before
    const { name, uid = "" } = object.metadata
    const data = asObject(object["data"])
    const pump = { name, uid, order: readOrder(data[orderEntry]), report: readReport(data[reportEntry]) }
    read.set(object, pump)
    return pump
  }
  return {
    awaitSynced: reflector.awaitSynced,
    all: () => reflector.all().map(pumpOf),
    get: (name) => {
      const object = reflector.get(name, namespace)
      return object && pumpOf(object)
    },
    wrote: reflector.wrote,
    reread: (name) => reflector.reread(name, namespace),
    listen: (changed) => {
      listeners.add(changed)
      return () => void listeners.delete(changed)
    }
  }
})
