/**
 * A controller of a real cluster: Services and their pods → EndpointSlices. Watches and writes; the content is computed
 * in `endpoint-slices.ts`. There are no v1 Endpoints.
 */

import { Effect, type Scope } from "effect"
import { asObject, at, jsonEqual } from "../../../src/domain/json.ts"
import type { KubeObject, ObjectMeta } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { endpointSlices, namespaces, pods, services } from "../store/resource-refs.ts"
import { find, keyOf, nameOf, namespaceOf, ownedBy } from "../store/store-access.ts"
import { sliceContents } from "./endpoint-slices.ts"

const serviceNameLabel = "kubernetes.io/service-name"
const managerLabel = "endpointslice.kubernetes.io/managed-by"
const manager = "endpointslice-controller.k8s.io"

const selectorOf = (service: KubeObject): ReadonlyArray<readonly [key: string, value: unknown]> =>
  Object.entries(asObject(at(service, "spec", "selector")))

/** Makes the slices of a Service right with few writes: slices with the same ports are used first. */
const reconcile = (store: ObjectStore, namespace: string, name: string): void => {
  const service = find(store, services, namespace, name)
  if (service === undefined || find(store, namespaces, undefined, namespace)?.metadata.deletionTimestamp !== undefined)
    return
  const selector = selectorOf(service)
  if (selector.length === 0 || at(service, "spec", "type") === "ExternalName") return
  const selected = store.list(pods, {
    namespace,
    labelSelector: selector.map(([key, value]) => `${key}=${String(value)}`).join(",")
  })
  const labels = {
    ...service.metadata.labels,
    ...(at(service, "spec", "clusterIP") === "None" ? { "service.kubernetes.io/headless": "" } : {}),
    [serviceNameLabel]: name,
    [managerLabel]: manager
  }
  const labelSelector = `${serviceNameLabel}=${name},${managerLabel}=${manager}`
  const left = new Set(store.list(endpointSlices, { namespace, labelSelector }).items)
  const pairs = sliceContents(service, selected.items).map((content) => {
    const same = [...left].find((slice) => jsonEqual(slice["ports"], content.ports))
    if (same !== undefined) left.delete(same)
    return { content, same }
  })
  for (const { content, same } of pairs) {
    const slice = same ?? left.values().next().value
    if (slice === undefined) {
      const ownerReferences = [ownedBy(service, service.apiVersion, service.kind)]
      store.create(endpointSlices, {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { generateName: `${name}-`, namespace, labels, ownerReferences },
        ...content
      })
      continue
    }
    left.delete(slice)
    store.modify(endpointSlices, namespace, nameOf(slice), (draft) => {
      draft.metadata.labels = labels
      Object.assign(draft, content)
    })
  }
  for (const slice of left) store.delete(endpointSlices, namespace, nameOf(slice))
}

/**
 * Runs until the scope closes. Many changes at once lead to one reconciliation per Service, in a microtask: before any
 * request can ask for the result.
 */
export const startEndpointsController = (store: ObjectStore): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<never>()
    const waiting = new Set<string>()
    let isReconciling = false
    /** Last labels of the pods by key: a Service must also learn of a pod that leaves its selection. */
    const seen = new Map<string, ObjectMeta["labels"]>()
    const reconcileWaiting = (): void => {
      const keys = [...waiting]
      waiting.clear()
      isReconciling = true
      for (const key of keys) {
        const [namespace = "", name = ""] = key.split("/")
        try {
          reconcile(store, namespace, name)
        } catch (error) {
          Effect.runForkWith(context)(Effect.logError(`endpoints controller: ${key} failed`, error))
        }
      }
      isReconciling = false
    }
    const offer = (key: string): void => {
      if (waiting.size === 0) queueMicrotask(reconcileWaiting)
      waiting.add(key)
    }
    const watches = [
      store.watch(services, {}, ({ object, type }) => {
        if (type !== "DELETED") offer(keyOf(object))
      }),
      store.watch(pods, {}, ({ object, type }) => {
        const { labels } = object.metadata
        const before = seen.get(keyOf(object))
        if (type === "DELETED") seen.delete(keyOf(object))
        else seen.set(keyOf(object), labels)
        for (const service of store.list(services, { namespace: namespaceOf(object) }).items) {
          const selector = selectorOf(service)
          const selects = (podLabels: ObjectMeta["labels"]): boolean =>
            selector.length > 0 && selector.every(([key, value]) => podLabels?.[key] === value)
          if (selects(labels) || selects(before)) offer(keyOf(service))
        }
      }),
      // Our own writes are no news.
      store.watch(
        endpointSlices,
        {},
        ({ object }) =>
          isReconciling || offer(`${namespaceOf(object)}/${object.metadata.labels?.[serviceNameLabel] ?? ""}`)
      )
    ]
    yield* Effect.addFinalizer(() => Effect.sync(() => watches.forEach((stop) => stop())))
  })
