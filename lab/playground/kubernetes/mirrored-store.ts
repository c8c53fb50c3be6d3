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

/** A kind of resource as descriptors have it. */
export interface FurtherKind {
  readonly group: string
  readonly version: string
  readonly plural: string
  readonly kind: string
  readonly scope: Kind["scope"]
}

const custom = (descriptor: FurtherKind): Kind =>
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

const pathOf = (object: KubeObject): string => `${object.metadata.namespace ?? ""}/${nameOf(object)}`

/** The collections that are mirrored, and reads from them. */
class Mirror implements Pick<NodeStore, "get" | "list" | "watch"> {
  readonly #collections: ReadonlyMap<string, Collection>

  constructor(kinds: ReadonlyArray<Kind>) {
    this.#collections = new Map(kinds.map((mirrored) => [keyOf(mirrored.ref), new Collection(mirrored)]))
  }

  collection(ref: ResourceRef): Collection {
    const found = this.#collections.get(keyOf(ref))
    if (found === undefined) throw new Error(`${keyOf(ref)} is not mirrored here`)
    return found
  }

  /** Begins to follow the collections until the scope ends. */
  follow(api: port.KubeApi): Effect.Effect<void, never, Scope.Scope> {
    return Effect.forEach(
      this.#collections.values(),
      (watched) => {
        const changed = (object: port.KubeObject, deleted: boolean, before: port.KubeObject | undefined): void => {
          const kept = before === undefined ? "ADDED" : "MODIFIED"
          const event = { type: deleted ? "DELETED" : kept, object: watched.complete(object) } as const
          for (const listener of watched.listeners) listener(event)
        }
        const reflector = makeReflector(api, { ...portRef(watched.kind), keeps: (object) => object }, changed)
        return Effect.map(reflector, (made) => {
          watched.reflector = made
        })
      },
      { discard: true }
    )
  }

  /** Completes when these kinds have been read. */
  synced(kinds: ReadonlyArray<Kind>): Effect.Effect<void> {
    return Effect.forEach(kinds, ({ ref }) => this.collection(ref).reflector?.awaitSynced ?? Effect.void, {
      discard: true
    })
  }

  has({ group, plural: resource, version }: port.ResourceRef, uid: string): boolean {
    const { reflector } = this.collection({ group, version, resource })
    return reflector?.all().some(({ metadata }) => metadata.uid === uid) === true
  }

  readonly get = (ref: ResourceRef, namespace: string | undefined, name: string): KubeObject | undefined => {
    const source = this.collection(ref)
    const found = source.reflector?.get(name, source.kind.scope === "Namespaced" ? namespace : undefined)
    return found === undefined ? undefined : source.complete(found)
  }

  readonly list: NodeStore["list"] = (ref, options = {}) => {
    const matches = parseLabelSelector(options.labelSelector)
    const items = this.collection(ref).all.filter(
      ({ metadata }) =>
        (options.namespace === undefined || metadata.namespace === options.namespace) && matches(metadata.labels ?? {})
    )
    return { items: items.toSorted((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1)) }
  }

  readonly watch: NodeStore["watch"] = (ref, _options, listener) => {
    const { all, listeners } = this.collection(ref)
    listeners.add(listener)
    for (const object of all) listener({ type: "ADDED", object })
    return () => void listeners.delete(listener)
  }
}

const register = (api: port.KubeApi, mirror: Mirror, node: object & KubeObject): Effect.Effect<void> => {
  const isSeen = Effect.sync(() => mirror.get(nodes, undefined, nameOf(node)) !== undefined)
  return api.create(portRef(mirror.collection(nodes).kind), node).pipe(
    Effect.catch((error) => (error.reason === "AlreadyExists" ? Effect.void : Effect.fail(error))),
    Effect.retry({ while: isWorthAnotherTry, schedule: everyHalfSecond }),
    Effect.orDie,
    Effect.andThen(Effect.repeat(isSeen, { until: (seen) => seen, schedule: Schedule.spaced("50 millis") })),
    Effect.asVoid
  )
}

/** Binds a pod to a node; `undefined` if the pod is gone or bound to another node. */
const bind = (
  api: port.KubeApi,
  podKind: Kind,
  pod: KubeObject,
  nodeName: string
): Effect.Effect<KubeObject | undefined> => {
  const bound: KubeObject = { ...pod, spec: { ...asObject(pod["spec"]), nodeName } }
  if (at(pod, "spec", "nodeName") === nodeName) return Effect.succeed(bound)
  const binding = {
    apiVersion: "v1",
    kind: "Binding",
    metadata: { name: nameOf(pod), namespace: namespaceOf(pod), uid: uidOf(pod) },
    target: { apiVersion: "v1", kind: "Node", name: nodeName }
  }
  const ref = portRef({ ...podKind, ref: { ...pods, resource: `pods/${nameOf(pod)}` } }, "/binding")
  return api.create(ref, binding, namespaceOf(pod)).pipe(
    Effect.as(bound),
    Effect.retry({ while: isWorthAnotherTry, schedule: everyHalfSecond }),
    // The watch tells which of both happened.
    Effect.catch(() => Effect.succeed(undefined))
  )
}

/**
 * The objects of a real cluster that a node, its proxy and the playground look at, and a kubelet's writes. `further`:
 * kinds that the playground looks at beside the usual ones.
 */
export const mirrorCluster = (
  api: port.KubeApi,
  further: ReadonlyArray<FurtherKind>
): Effect.Effect<MirroredCluster, never, Scope.Scope> =>
  Effect.gen(function* () {
    const mirror = new Mirror([...builtIn, clusterSessions, multiClusterSessions, ...further.map(custom)])
    yield* mirror.follow(api)
    yield* mirror.synced(builtIn)
    const writer = yield* makeStatusWriter(api, (ref, uid) => mirror.has(ref, uid))
    const target = (ref: ResourceRef, object: KubeObject) => {
      const { kind } = mirror.collection(ref)
      const namespace = kind.scope === "Namespaced" ? namespaceOf(object) : undefined
      return { ref: portRef(kind), name: nameOf(object), namespace, uid: uidOf(object) }
    }
    /** By uid: the status that an object was last given. The mirror may show an older status. */
    const given = new Map<string, Readonly<Record<string, unknown>>>()
    const { kind: podKind, listeners } = mirror.collection(pods)
    listeners.add(({ object, type }) => {
      if (type === "DELETED") given.delete(uidOf(object))
    })
    const store: NodeStore = {
      get: mirror.get,
      list: mirror.list,
      watch: mirror.watch,
      register: (node) => register(api, mirror, node),
      bind: (pod, nodeName) => bind(api, podKind, pod, nodeName),
      setStatus: (ref, object, status) => {
        const current = mirror.get(ref, object.metadata.namespace, nameOf(object))
        if (current === undefined || uidOf(current) !== uidOf(object)) return
        const before = given.get(uidOf(object)) ?? asObject(current["status"])
        const after = { ...before, ...status }
        if (jsonEqual(before, after)) return
        given.set(uidOf(object), after)
        writer.setStatus(target(ref, object), status)
      },
      release: (pod) => {
        const current = mirror.get(pods, namespaceOf(pod), nameOf(pod))
        if (current?.metadata.deletionTimestamp === undefined || uidOf(current) !== uidOf(pod)) return
        writer.release(target(pods, pod))
      }
    }
    return {
      store,
      awaitSessions: (isPrimary) =>
        mirror.synced(isPrimary ? [clusterSessions, multiClusterSessions] : [clusterSessions])
    }
  })
