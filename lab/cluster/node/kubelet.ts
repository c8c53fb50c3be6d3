/**
 * The stand-in kubelet, and the scheduler of its one node: admits pods, gives each a worker and an address, and
 * registers the Node. The life of a single pod is `pod-worker.ts`'s part. Containers are functions
 * (`container-program.ts`), not images.
 */

import * as fs from "node:fs/promises"
import { Clock, Duration, Effect, FiberMap, Queue, Result, Schema, type Scope } from "effect"
import { asObject } from "../../../src/domain/json.ts"
import { resolveService } from "../network/cluster-dns.ts"
import type { Endpoint } from "../network/endpoint.ts"
import { serviceRoutes } from "../network/service-endpoints.ts"
import { type KubeObject, kubeTime } from "../schema/kube-object.ts"
import { configMaps, nodes, pods, secrets } from "../store/resource-refs.ts"
import { find, keyOf, nameOf, namespaceOf, podPhase, uidOf, withConditions } from "../store/store-access.ts"
import { kubernetesVersion } from "../wire/kubernetes-version.ts"
import { AddressPool } from "./address-pool.ts"
import type { AgentTarget } from "./agent-target.ts"
import type { LogReadOptions } from "./container-log.ts"
import type { ImageRegistry, RunningContainer } from "./container-program.ts"
import { type IssueToken, withServiceAccountVolume } from "./container-volumes.ts"
import type { NodeContext } from "./node-context.ts"
import type { NodeStore } from "./node-store.ts"
import { loopbackAddresses, type PodAddresses } from "./pod-addresses.ts"
import { type PodLogs, podLogs } from "./pod-logs.ts"
import { AddressBook } from "./pod-network.ts"
import { allowsNode, type PodSpec, readPodSpec } from "./pod-spec.ts"
import { makePodWorker, type PodWorker } from "./pod-worker.ts"

export class KubeletError extends Schema.TaggedError<KubeletError>()("KubeletError", {
  reason: Schema.String,
  cause: Schema.optional(Schema.Defect())
}) {
  override get message() {
    return `kubelet: ${this.reason}`
  }
}

export interface KubeletOptions {
  readonly store: NodeStore
  readonly nodeName: string
  /** Holds the containers' folders; created if missing. A pod's folder is removed with its pod. */
  readonly directory: string
  /** Pods get `127.<subnet>.x.y`: 1 to 254, a different number for each cluster of this machine. */
  readonly subnet: number
  /** Replaces the pods' addresses towards an API server that refuses loopback addresses. */
  readonly addresses?: PodAddresses
  readonly images: ImageRegistry
  /** `KUBERNETES_SERVICE_HOST` and `_PORT` of every container. */
  readonly apiServer?: Endpoint
  /**
   * Issues service account tokens. Without it no token volume is added, and pods that ask for a token wait for ever.
   */
  readonly issueToken?: IssueToken
  /** Default `cluster.local`. */
  readonly clusterDomain?: string
  /** `status.allocatable.pods`, default 110. */
  readonly podCapacity?: number
  /** Default 10 s doubling to 5 min, as a real kubelet's; the first restart is immediate. */
  readonly restartBackOff?: { readonly initial: Duration.Input; readonly max: Duration.Input }
  /** At the end of the kubelet's scope no pod gets more grace than this. Default 5 s. */
  readonly shutdownGraceSeconds?: number
}

export interface Kubelet {
  /**
   * `GET pods/<pod>/log`: lines without line end. `container` may be missing if the pod has a single container. The
   * texts of the failures (404, 400) are a real server's.
   */
  readonly podLogs: (
    namespace: string,
    pod: string,
    container: string | undefined,
    options?: LogReadOptions & { readonly previous?: boolean }
  ) => PodLogs
  /** A running container by id, with or without `<runtime>://`. */
  readonly target: (containerId: string) => AgentTarget | undefined
  readonly containers: () => ReadonlyArray<RunningContainer>
  /**
   * The address to dial for an address of the cluster: a ready pod for the address of a Service, and for a pod's port
   * that this user may not bind (below 1024) the port that was bound instead.
   */
  readonly reach: (endpoint: Endpoint) => Endpoint
  /** The answer of the cluster's DNS to a pod of `namespace`. */
  readonly resolve: (namespace: string, name: string) => ReadonlyArray<string> | undefined
}

/** `status.allocatable.pods` unless given. */
const defaultPodCapacity = 110

const registerNode = Effect.fnUntraced(function* (options: KubeletOptions, now: number) {
  const { nodeName, store } = options
  const labels = { "kubernetes.io/hostname": nodeName, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" }
  yield* store.register({ apiVersion: "v1", kind: "Node", metadata: { name: nodeName, labels } })
  const node = find(store, nodes, undefined, nodeName)
  if (node === undefined) return
  const resources = { cpu: "2", memory: "4Gi", pods: String(options.podCapacity ?? defaultPodCapacity) }
  store.setStatus(nodes, node, {
    capacity: resources,
    allocatable: resources,
    addresses: [
      { type: "InternalIP", address: "127.0.0.1" },
      { type: "Hostname", address: nodeName }
    ],
    conditions: withConditions(
      asObject(node["status"])["conditions"],
      [{ type: "Ready", status: "True", reason: "KubeletReady", message: "stand-in kubelet is running" }],
      kubeTime(now)
    ),
    nodeInfo: {
      kubeletVersion: `v${kubernetesVersion}`,
      containerRuntimeVersion: "containerd://stand-in",
      operatingSystem: "linux",
      architecture: "amd64"
    }
  })
})

const isOver = (pod: KubeObject): boolean => podPhase(pod) === "Succeeded" || podPhase(pod) === "Failed"

/** The node of a kubelet, and the containers that run on it. */
const nodeOf = (options: KubeletOptions, now: () => number, isClosing: () => boolean): NodeContext => {
  const { apiServer, clusterDomain = "cluster.local", restartBackOff, store } = options
  const book = new AddressBook(options.addresses ?? loopbackAddresses)
  const running: NodeContext["running"] = new Map()
  const route = serviceRoutes(store)
  return {
    store,
    nodeName: options.nodeName,
    directory: options.directory,
    images: options.images,
    book,
    clusterDomain,
    serviceEnv: new Map(
      apiServer === undefined
        ? []
        : [
            ["KUBERNETES_SERVICE_HOST", apiServer.ip],
            ["KUBERNETES_SERVICE_PORT", String(apiServer.port)],
            ["KUBERNETES_SERVICE_PORT_HTTPS", String(apiServer.port)]
          ]
    ),
    issueToken: options.issueToken ?? (() => Effect.fail({ message: "this cluster issues none" })),
    restartBackOff: {
      initial: Duration.fromInputUnsafe(restartBackOff?.initial ?? "10 seconds"),
      max: Duration.fromInputUnsafe(restartBackOff?.max ?? "5 minutes")
    },
    running,
    resolve: (namespace, name) => resolveService(store, clusterDomain, namespace, name),
    reach: (endpoint) => book.reach(route(endpoint) ?? endpoint),
    target: (containerId) => running.get(containerId.replace(/^.*:\/\//u, ""))?.target,
    now,
    limitGrace: (seconds) => (isClosing() ? Math.min(seconds, options.shutdownGraceSeconds ?? 5) : seconds)
  }
}

/** The pods of the node: which of them run here, and the changes that they wait for. */
class NodePods {
  readonly workers = new Map<string, PodWorker>()
  readonly #options: KubeletOptions
  readonly #node: NodeContext
  readonly #fibers: FiberMap.FiberMap<string>
  readonly #changes: Queue.Queue<Effect.Effect<void>>
  readonly #addresses: AddressPool
  readonly #isClosing: () => boolean
  /** Pods that wait in the changes: many events of a pod become one reconciliation. */
  readonly #queued = new Set<string>()

  constructor(
    options: KubeletOptions,
    node: NodeContext,
    queues: { readonly fibers: FiberMap.FiberMap<string>; readonly changes: Queue.Queue<Effect.Effect<void>> },
    isClosing: () => boolean
  ) {
    this.#options = options
    this.#node = node
    this.#fibers = queues.fibers
    this.#changes = queues.changes
    this.#addresses = new AddressPool(options.subnet)
    this.#isClosing = isClosing
  }

  /** A pod has changed. */
  offer(pod: KubeObject): void {
    const key = keyOf(pod)
    if (this.#queued.has(key)) return
    this.#queued.add(key)
    const change = Effect.suspend(() => {
      this.#queued.delete(key)
      return this.#reconcile(namespaceOf(pod), nameOf(pod))
    })
    Queue.offerUnsafe(this.#changes, change)
  }

  /** A ConfigMap or Secret has changed, which volumes may show. */
  offerVolumes(kind: "ConfigMap" | "Secret", object: KubeObject): void {
    const change = Effect.suspend(() =>
      Effect.forEach(
        [...this.workers.values()].filter((worker) => namespaceOf(worker.pod) === namespaceOf(object)),
        (worker) => worker.refresh(kind, nameOf(object)),
        { discard: true }
      )
    )
    Queue.offerUnsafe(this.#changes, change)
  }

  #reconcile(namespace: string, name: string): Effect.Effect<void> {
    const { store } = this.#options
    const pod = find(store, pods, namespace, name)
    const known = [...this.workers].filter(([, worker]) => keyOf(worker.pod) === `${namespace}/${name}`)
    return Effect.gen({ self: this }, function* () {
      for (const [uid, worker] of known) yield* this.#follow(uid, worker, pod)
      if (pod === undefined || this.workers.has(uidOf(pod))) return
      if (pod.metadata.deletionTimestamp !== undefined) store.release(pod)
      else if (!isOver(pod)) yield* this.#admit(pod)
    })
  }

  /** Lets a worker follow its pod. */
  #follow(uid: string, worker: PodWorker, pod: KubeObject | undefined): Effect.Effect<void> {
    if (uid !== pod?.metadata.uid) return Effect.asVoid(Effect.forkDetach(FiberMap.remove(this.#fibers, uid)))
    if (pod.metadata.deletionTimestamp !== undefined) return worker.stop
    const spec = readPodSpec(pod["spec"])
    return Result.isSuccess(spec) ? worker.addContainers(spec.success.ephemeralContainers ?? []) : Effect.void
  }

  /** Starts a pending pod, or writes the reason into its status. */
  #admit(pod: KubeObject): Effect.Effect<void> {
    const decoded = readPodSpec(pod["spec"])
    if (Result.isFailure(decoded)) return this.#refuse(pod, "InvalidSpec", decoded.failure.message)
    const spec = decoded.success
    if (spec.nodeName !== undefined && spec.nodeName !== this.#options.nodeName) return Effect.void
    const misfit = this.#misfit(spec)
    if (misfit !== undefined) return this.#refuse(pod, "Unschedulable", misfit)
    const ip = this.#addresses.take()
    return ip === undefined
      ? this.#refuse(pod, "Unschedulable", `no address is left in 127.${this.#options.subnet}.0.0/16`)
      : this.#start(pod, spec, ip)
  }

  #refuse(pod: KubeObject, reason: string, message: string): Effect.Effect<void> {
    const conditions = withConditions(
      asObject(pod["status"])["conditions"],
      [{ type: "PodScheduled", status: "False", reason, message }],
      kubeTime(this.#node.now())
    )
    return Effect.sync(() => void this.#options.store.setStatus(pods, pod, { phase: "Pending", conditions }))
  }

  /** Why a pod does not fit on the node; `undefined` if it does. */
  #misfit(spec: PodSpec): string | undefined {
    const { nodeName, podCapacity = defaultPodCapacity, store } = this.#options
    const labels = find(store, nodes, undefined, nodeName)?.metadata.labels ?? {}
    const unmet = Object.entries(spec.nodeSelector ?? {}).find(([key, value]) => labels[key] !== value)
    if (unmet !== undefined) {
      return `0/1 nodes are available: nodeSelector ${unmet.join("=")} does not match node ${nodeName}`
    }
    if (!allowsNode(spec, nodeName)) {
      return `0/1 nodes are available: node ${nodeName} does not match the pod's node affinity`
    }
    return this.workers.size >= podCapacity ? `0/1 nodes are available: too many pods on node ${nodeName}` : undefined
  }

  #start(pod: KubeObject, spec: PodSpec, ip: string): Effect.Effect<void> {
    const { issueToken, nodeName, store } = this.#options
    return Effect.gen({ self: this }, function* () {
      const bound = yield* store.bind(pod, nodeName)
      if (bound === undefined) return this.#addresses.release(ip)
      const withVolume = issueToken === undefined ? spec : withServiceAccountVolume(spec)
      const worker = makePodWorker(this.#node, bound, withVolume, ip)
      const uid = uidOf(pod)
      this.workers.set(uid, worker)
      const ended = Effect.sync(() => {
        this.workers.delete(uid)
        this.#addresses.release(ip)
        store.release(bound)
        // A pod that found no room before may fit now.
        if (!this.#isClosing()) this.#wakePending()
      })
      yield* FiberMap.run(this.#fibers, uid, Effect.ensuring(worker.run, ended))
    })
  }

  #wakePending(): void {
    for (const pod of this.#options.store.list(pods).items) {
      if (!this.workers.has(uidOf(pod)) && !isOver(pod)) this.offer(pod)
    }
  }
}

/** Watches what the pods of the node follow from. */
const watchStore = (store: NodeStore, nodePods: NodePods): Effect.Effect<void, never, Scope.Scope> => {
  const listeners = [
    [pods, (object: KubeObject) => nodePods.offer(object)],
    [configMaps, (object: KubeObject) => nodePods.offerVolumes("ConfigMap", object)],
    [secrets, (object: KubeObject) => nodePods.offerVolumes("Secret", object)]
  ] as const
  return Effect.forEach(
    listeners,
    ([ref, changed]) =>
      Effect.acquireRelease(
        Effect.sync(() => store.watch(ref, {}, ({ object }) => changed(object))),
        (unwatch) => Effect.sync(unwatch)
      ),
    { discard: true }
  )
}

/** Runs the pods of the store on this machine until the scope closes. */
export const startKubelet = (options: KubeletOptions): Effect.Effect<Kubelet, KubeletError, Scope.Scope> =>
  Effect.gen(function* () {
    const { store } = options
    if (!Number.isInteger(options.subnet) || options.subnet < 1 || options.subnet > 254) {
      return yield* new KubeletError({ reason: `subnet: ${options.subnet} found, a whole number from 1 to 254 wanted` })
    }
    yield* Effect.tryPromise({
      try: () => fs.mkdir(options.directory, { recursive: true }),
      catch: (cause) => new KubeletError({ reason: `cannot create directory ${options.directory}`, cause })
    })
    const clock = yield* Clock.Clock
    let closing = false
    const node = nodeOf(
      options,
      () => clock.currentTimeMillisUnsafe(),
      () => closing
    )
    yield* registerNode(options, node.now())

    const fibers = yield* FiberMap.make<string>()
    // Finalizers run in reverse: the pods learn of the end before FiberMap interrupts them.
    yield* Effect.addFinalizer(() => Effect.sync(() => void (closing = true)))
    const changes = yield* Queue.unbounded<Effect.Effect<void>>()
    const nodePods = new NodePods(options, node, { fibers, changes }, () => closing)
    yield* watchStore(store, nodePods)
    yield* Effect.forkScoped(
      Queue.take(changes).pipe(
        Effect.flatMap((change) => change),
        Effect.catchDefect((defect) => Effect.logError("kubelet: a change could not be handled", defect)),
        Effect.forever
      )
    )
    return {
      podLogs: (namespace, pod, container, logOptions) =>
        podLogs(store, nodePods.workers, { namespace, pod, container, options: logOptions ?? {} }),
      target: node.target,
      containers: () => [...node.running.values()].map((entry) => entry.container),
      reach: node.reach,
      resolve: node.resolve
    }
  })
