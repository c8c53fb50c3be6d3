/**
 * A real cluster's objects as the stand-in node needs them: read through list and watch, written through a status
 * writer. The embedded cluster's node uses its store directly (`localNodeStore`).
 */

import { Effect, Schedule, type Scope } from "effect"
import { makeReflector, type Reflector } from "../../../src/app/kernel/reflector.ts"
import { asObject, at, jsonEqual } from "../../../src/domain/json.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type * as port from "../../../src/ports/kube-api.ts"
import type { NodeStore } from "../../cluster/node/node-store.ts"
import { apiVersionOf, type KubeObject, type ResourceRef, type StoreEvent } from "../../cluster/schema/kube-object.ts"
import {
  configMaps,
  deployments,
  endpointSlices,
  jobs,
  nodes,
  pods,
  secrets,
  services
} from "../../cluster/store/resource-refs.ts"
import { parseLabelSelector } from "../../cluster/store/selectors.ts"
import { nameOf, namespaceOf, uidOf } from "../../cluster/store/store-access.ts"
import { isWorthAnotherTry, makeStatusWriter } from "./status-writer.ts"

interface Kind {
  readonly kind: string
  readonly ref: ResourceRef
  readonly scope: "Cluster" | "Namespaced"
}

const kind = (name: string, ref: ResourceRef, scope: Kind["scope"] = "Namespaced"): Kind => ({ kind: name, ref, scope })
const custom = (descriptor: {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly scope: Kind["scope"]
}): Kind =>
  kind(
    descriptor.kind,
    { group: descriptor.group, version: descriptor.version, resource: descriptor.plural },
    descriptor.scope
  )

/** Kinds that every API server serves. The node and the proxy must have seen them before they begin. */
const builtIn: ReadonlyArray<Kind> = [
  kind("Pod", pods),
  kind("Service", services),
  kind("EndpointSlice", endpointSlices),
  kind("ConfigMap", configMaps),
  kind("Secret", secrets),
  kind("Job", jobs),
  kind("Deployment", deployments),
  kind("Node", nodes, "Cluster"),
  kind("Lease", { group: "coordination.k8s.io", version: "v1", resource: "leases" }),
  kind("APIService", { group: "apiregistration.k8s.io", version: "v1", resource: "apiservices" }, "Cluster")
]
/** Kinds that an installation brings, and a primary's alone. */
const clusterSessions = custom(mirrordClusterSessions)
const multiClusterSessions = custom(mirrordMultiClusterSessions)

const everyHalfSecond = Schedule.spaced("500 millis")

const keyOf = ({ group, resource }: ResourceRef): string => `${group}/${resource}`
const portRef = ({ ref, scope }: Kind, subresource = ""): port.ResourceRef => ({
  group: ref.group,
  version: ref.version,
  plural: `${ref.resource}${subresource}`,
  scope
})

/** One collection of objects, with its listeners. */
class Collection {
  readonly kind: Kind
  reflector: Reflector | undefined
  readonly listeners = new Set<(event: StoreEvent) => void>()

  constructor(mirrored: Kind) {
    this.kind = mirrored
  }

  /** Items of a list come without kind and version. */
  readonly complete = (object: port.KubeObject): KubeObject =>
    ({ ...object, apiVersion: apiVersionOf(this.kind.ref), kind: this.kind.kind }) as KubeObject

  get all(): ReadonlyArray<KubeObject> {
    return (this.reflector?.all() ?? []).map(this.complete)
  }
}

export interface MirroredCluster {
  /** The mirror lags behind the server, so a caller that needs an object waits until it is there. */
  readonly store: NodeStore
  /** Completes when `store` shows the sessions of an operator that is installed as a primary, or not. */
  readonly awaitSessions: (isPrimary: boolean) => Effect.Effect<void>
}

/** The objects of a real cluster that a node, its proxy and the playground look at, and a kubelet's writes. */
export const mirrorCluster = (api: port.KubeApi): Effect.Effect<MirroredCluster, never, Scope.Scope> =>
  Effect.gen(function* () {
    const collections = new Map(
      [...builtIn, clusterSessions, multiClusterSessions].map((mirrored) => [
        keyOf(mirrored.ref),
        new Collection(mirrored)
      ])
    )
    const collection = (ref: ResourceRef): Collection => {
      const found = collections.get(keyOf(ref))
      if (found === undefined) throw new Error(`${keyOf(ref)} is not mirrored here`)
      return found
    }
    for (const watched of collections.values()) {
      const changed = (object: port.KubeObject, deleted: boolean, before: port.KubeObject | undefined): void => {
        const type = deleted ? "DELETED" : before === undefined ? "ADDED" : "MODIFIED"
        for (const listener of watched.listeners) listener({ type, object: watched.complete(object) })
      }
      watched.reflector = yield* makeReflector(api, { ...portRef(watched.kind), keeps: (object) => object }, changed)
    }
    const mirrored = (kinds: ReadonlyArray<Kind>): Effect.Effect<void> =>
      Effect.forEach(kinds, ({ ref }) => collection(ref).reflector?.awaitSynced ?? Effect.void, { discard: true })
    yield* mirrored(builtIn)

    const get = (ref: ResourceRef, namespace: string | undefined, name: string): KubeObject | undefined => {
      const source = collection(ref)
      const found = source.reflector?.get(name, source.kind.scope === "Namespaced" ? namespace : undefined)
      return found === undefined ? undefined : source.complete(found)
    }
    const writer = yield* makeStatusWriter(api, (ref, uid) => {
      const source = collection({ group: ref.group, version: ref.version, resource: ref.plural })
      return source.reflector?.all().some(({ metadata }) => metadata.uid === uid) === true
    })
    const target = (ref: ResourceRef, object: KubeObject) => {
      const mirrored = collection(ref).kind
      const namespace = mirrored.scope === "Namespaced" ? namespaceOf(object) : undefined
      return { ref: portRef(mirrored), name: nameOf(object), namespace, uid: uidOf(object) }
    }
    /** By uid: the status that an object was last given. The mirror may show an older status. */
    const given = new Map<string, Readonly<Record<string, unknown>>>()
    const podKind = collection(pods).kind
    collection(pods).listeners.add(({ object, type }) => {
      if (type === "DELETED") given.delete(uidOf(object))
    })

    const store: NodeStore = {
      get,
      list: (ref, options = {}) => {
        const matches = parseLabelSelector(options.labelSelector)
        const items = collection(ref).all.filter(
          ({ metadata }) =>
            (options.namespace === undefined || metadata.namespace === options.namespace) &&
            matches(metadata.labels ?? {})
        )
        const path = (object: KubeObject): string => `${object.metadata.namespace ?? ""}/${nameOf(object)}`
        return { items: items.toSorted((a, b) => (path(a) < path(b) ? -1 : 1)) }
      },
      watch: (ref, _options, listener) => {
        const { all, listeners } = collection(ref)
        listeners.add(listener)
        for (const object of all) listener({ type: "ADDED", object })
        return () => void listeners.delete(listener)
      },
      register: (node) => {
        const isSeen = Effect.sync(() => get(nodes, undefined, nameOf(node)) !== undefined)
        return api.create(portRef(collection(nodes).kind), node).pipe(
          Effect.catch((error) => (error.reason === "AlreadyExists" ? Effect.void : Effect.fail(error))),
          Effect.retry({ while: isWorthAnotherTry, schedule: everyHalfSecond }),
          Effect.orDie,
          Effect.andThen(Effect.repeat(isSeen, { until: (seen) => seen, schedule: Schedule.spaced("50 millis") })),
          Effect.asVoid
        )
      },
      bind: (pod, nodeName) => {
        const bound: KubeObject = { ...pod, spec: { ...asObject(pod["spec"]), nodeName } }
        if (at(pod, "spec", "nodeName") === nodeName) return Effect.succeed(bound)
        const binding = {
          apiVersion: "v1",
          kind: "Binding",
          metadata: { name: nameOf(pod), namespace: namespaceOf(pod), uid: uidOf(pod) },
          target: { apiVersion: "v1", kind: "Node", name: nodeName }
        }
        return api
          .create(
            portRef({ ...podKind, ref: { ...pods, resource: `pods/${nameOf(pod)}` } }, "/binding"),
            binding,
            namespaceOf(pod)
          )
          .pipe(
            Effect.as(bound),
            Effect.retry({ while: isWorthAnotherTry, schedule: everyHalfSecond }),
            // The pod is gone or bound to another node; the watch tells which.
            Effect.catch(() => Effect.succeed(undefined))
          )
      },
      setStatus: (ref, object, status) => {
        const current = get(ref, object.metadata.namespace, nameOf(object))
        if (current === undefined || uidOf(current) !== uidOf(object)) return
        const before = given.get(uidOf(object)) ?? asObject(current["status"])
        const after = { ...before, ...status }
        if (jsonEqual(before, after)) return
        given.set(uidOf(object), after)
        writer.setStatus(target(ref, object), status)
      },
      release: (pod) => {
        const current = get(pods, namespaceOf(pod), nameOf(pod))
        if (current?.metadata.deletionTimestamp === undefined || uidOf(current) !== uidOf(pod)) return
        writer.release(target(pods, pod))
      }
    }
    return {
      store,
      awaitSessions: (isPrimary) => mirrored(isPrimary ? [clusterSessions, multiClusterSessions] : [clusterSessions])
    }
  })
