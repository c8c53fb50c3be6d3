/**
 * Three controllers of a real cluster in one: Services and their pods → EndpointSlices and Endpoints, and Endpoints
 * that a client wrote for a Service without a selector → EndpointSlices. Watches and writes; the content is computed in
 * `endpoint-slices.ts`.
 */

import { Effect, type Scope } from "effect"
import { asObject, at, jsonEqual } from "../../../src/domain/json.ts"
import type { KubeObject, ObjectMeta } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { endpoints, endpointSlices, namespaces, pods, services } from "../store/resource-refs.ts"
import { find, ifPresent, keyOf, nameOf, namespaceOf, ownedBy } from "../store/store-access.ts"
import { endpointSubsets, mirroredContents, type SliceContent, sliceContents } from "./endpoint-slices.ts"

const serviceNameLabel = "kubernetes.io/service-name"
const sliceManagerLabel = "endpointslice.kubernetes.io/managed-by"
const endpointsManagerLabel = "endpoints.kubernetes.io/managed-by"
const skipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror"

const selectorOf = (service: KubeObject): ReadonlyArray<readonly [key: string, value: unknown]> =>
  Object.entries(asObject(at(service, "spec", "selector")))
const hasSelector = (service: KubeObject): boolean => selectorOf(service).length > 0

/** Makes the slices of one manager equal to `wanted` with few writes: it reuses slices with the same ports first. */
const syncSlices = (
  store: ObjectStore,
  owner: KubeObject,
  { labels, manager }: { readonly manager: string; readonly labels: Readonly<Record<string, string>> },
  wanted: ReadonlyArray<SliceContent>
): void => {
  const namespace = namespaceOf(owner)
  const name = nameOf(owner)
  const own = { ...labels, [serviceNameLabel]: name, [sliceManagerLabel]: manager }
  const labelSelector = `${serviceNameLabel}=${name},${sliceManagerLabel}=${manager}`
  const left = new Set(store.list(endpointSlices, { namespace, labelSelector }).items)
  const pairs = wanted.map((content) => {
    const same = [...left].find((slice) => jsonEqual(slice["ports"], content.ports))
    if (same !== undefined) left.delete(same)
    return { content, same }
  })
  for (const { content, same } of pairs) {
    const slice = same ?? left.values().next().value
    if (slice === undefined) {
      const ownerReferences = [ownedBy(owner, owner.apiVersion, owner.kind)]
      store.create(endpointSlices, {
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: { generateName: `${name}-`, namespace, labels: own, ownerReferences },
        ...content
      })
      continue
    }
    left.delete(slice)
    store.modify(endpointSlices, namespace, nameOf(slice), (draft) => {
      draft.metadata.labels = own
      Object.assign(draft, content)
    })
  }
  for (const slice of left) store.delete(endpointSlices, namespace, nameOf(slice))
}

const syncEndpoints = (
  store: ObjectStore,
  service: KubeObject,
  labels: Readonly<Record<string, string>>,
  selected: ReadonlyArray<KubeObject>
): void => {
  const subsets = endpointSubsets(service, selected)
  const metadata = {
    name: nameOf(service),
    namespace: namespaceOf(service),
    labels: { ...labels, [endpointsManagerLabel]: "endpoint-controller" }
  }
  if (find(store, endpoints, metadata.namespace, metadata.name) === undefined) {
    store.create(endpoints, {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata,
      ...(subsets.length === 0 ? {} : { subsets })
    })
    return
  }
  store.modify(endpoints, metadata.namespace, metadata.name, (draft) => {
    draft.metadata.labels = metadata.labels
    if (subsets.length === 0) delete draft["subsets"]
    else draft["subsets"] = subsets
  })
}

const reconcile = (store: ObjectStore, namespace: string, name: string): void => {
  const service = find(store, services, namespace, name)
  if (service === undefined || find(store, namespaces, undefined, namespace)?.metadata.deletionTimestamp !== undefined)
    return
  const written = find(store, endpoints, namespace, name)
  if (written !== undefined) {
    const { [endpointsManagerLabel]: _, ...own } = written.metadata.labels ?? {}
    const isMirrored = !hasSelector(service) && own[skipMirrorLabel] !== "true"
    const mirroring = { manager: "endpointslicemirroring-controller.k8s.io", labels: own }
    syncSlices(store, written, mirroring, isMirrored ? mirroredContents(written) : [])
  }
  if (!hasSelector(service) || at(service, "spec", "type") === "ExternalName") return
  const labelSelector = selectorOf(service)
    .map(([key, value]) => `${key}=${String(value)}`)
    .join(",")
  const selected = store.list(pods, { namespace, labelSelector }).items
  const labels = {
    ...service.metadata.labels,
    ...(at(service, "spec", "clusterIP") === "None" ? { "service.kubernetes.io/headless": "" } : {})
  }
  const managing = { manager: "endpointslice-controller.k8s.io", labels }
  syncSlices(store, service, managing, sliceContents(service, selected))
  syncEndpoints(store, service, labels, selected)
}

/**
 * Runs until the scope closes. Many changes at once lead to one reconciliation per Service, in a microtask: before any
 * request can ask for the result.
 */
export const startEndpointsControllers = (store: ObjectStore): Effect.Effect<void, never, Scope.Scope> =>
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
        if (type === "DELETED") ifPresent(() => store.delete(endpoints, namespaceOf(object), nameOf(object)))
        else offer(keyOf(object))
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
      store.watch(endpoints, {}, ({ object }) => isReconciling || offer(keyOf(object))),
      store.watch(
        endpointSlices,
        {},
        ({ object }) =>
          isReconciling || offer(`${namespaceOf(object)}/${object.metadata.labels?.[serviceNameLabel] ?? ""}`)
      )
    ]
    yield* Effect.addFinalizer(() => Effect.sync(() => watches.forEach((stop) => stop())))
  })
