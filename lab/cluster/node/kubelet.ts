/**
 * The stand-in kubelet, and the scheduler of its one node: admits pods, gives each a worker and an address, and
 * registers the Node. The life of a single pod is `pod-worker.ts`'s part. Containers are functions
 * (`container-program.ts`), not images.
 */

import * as fs from "node:fs/promises"
import { Clock, Duration, Effect, FiberMap, Queue, Result, Schema, type Scope } from "effect"
import { asObject } from "../../../src/domain/json.ts"
import type { ContainerRuntime } from "../../../src/domain/targets/pod-choice.ts"
import { resolveService } from "../network/cluster-dns.ts"
import type { Endpoint } from "../network/endpoint.ts"
import { serviceRoutes } from "../network/service-endpoints.ts"
import { type KubeObject, kubeTime } from "../schema/kube-object.ts"
import type { ObjectReader } from "../store/object-reader.ts"
import { configMaps, nodes, pods, secrets } from "../store/resource-refs.ts"
import { find, keyOf, nameOf, namespaceOf, podPhase, uidOf, withConditions } from "../store/store-access.ts"
import { kubernetesVersion } from "../wire/kubernetes-version.ts"
import { AddressPool } from "./address-pool.ts"
import type { AgentTarget } from "./agent-target.ts"
import type { LogReadOptions } from "./container-log.ts"
import type { ImageRegistry, RunningContainer } from "./container-program.ts"
import { type IssueToken, withServiceAccountVolume } from "./container-volumes.ts"
import type { NodeStore } from "./node-store.ts"
import { loopbackAddresses, type PodAddresses } from "./pod-addresses.ts"
import { AddressBook } from "./pod-network.ts"
import { allowsNode, readPodSpec } from "./pod-spec.ts"
import { makePodWorker, type NodeContext, type PodWorker } from "./pod-worker.ts"

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
  /** The container runtime that the ids of containers name; containerd unless given. */
  readonly containerRuntime?: ContainerRuntime
  /** At the end of the kubelet's scope no pod gets more grace than this. Default 5 s. */
  readonly shutdownGraceSeconds?: number
}

export type PodLogs =
  | { readonly _tag: "Lines"; readonly lines: AsyncIterable<string> }
  | { readonly _tag: "NotFound"; readonly message: string }
  | { readonly _tag: "BadRequest"; readonly message: string }

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

const registerNode = Effect.fnUntraced(function* (options: KubeletOptions, now: number) {
  const { nodeName, store } = options
  const labels = { "kubernetes.io/hostname": nodeName, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64" }
  yield* store.register({ apiVersion: "v1", kind: "Node", metadata: { name: nodeName, labels } })
  const node = find(store, nodes, undefined, nodeName)
  if (node === undefined) return
  const resources = { cpu: "2", memory: "4Gi", pods: String(options.podCapacity ?? 110) }
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
      containerRuntimeVersion: `${options.containerRuntime ?? "containerd"}://stand-in`,
      operatingSystem: "linux",
      architecture: "amd64"
    }
  })
})

const isOver = (pod: KubeObject): boolean => podPhase(pod) === "Succeeded" || podPhase(pod) === "Failed"

/** Runs the pods of the store on this machine until the scope closes. */
export const startKubelet = (options: KubeletOptions): Effect.Effect<Kubelet, KubeletError, Scope.Scope> =>
  Effect.gen(function* () {
    const { nodeName, store } = options
    if (!Number.isInteger(options.subnet) || options.subnet < 1 || options.subnet > 254) {
      return yield* new KubeletError({ reason: `subnet: ${options.subnet} found, a whole number from 1 to 254 wanted` })
    }
    yield* Effect.tryPromise({
      try: () => fs.mkdir(options.directory, { recursive: true }),
      catch: (cause) => new KubeletError({ reason: `cannot create directory ${options.directory}`, cause })
    })
    const clock = yield* Clock.Clock
    const now = () => clock.currentTimeMillisUnsafe()
    const clusterDomain = options.clusterDomain ?? "cluster.local"
    const book = new AddressBook(options.addresses ?? loopbackAddresses)
    const addresses = new AddressPool(options.subnet)
    const workers = new Map<string, PodWorker>()
    let closing = false
    const running: NodeContext["running"] = new Map()
    const target = (containerId: string) => running.get(containerId.replace(/^.*:\/\//u, ""))?.target
    const resolve = (namespace: string, name: string) => resolveService(store, clusterDomain, namespace, name)
    const route = serviceRoutes(store)
    const reach = (endpoint: Endpoint): Endpoint => book.reach(route(endpoint) ?? endpoint)
    const { apiServer, issueToken } = options
    const node: NodeContext = {
      store,
      nodeName,
      directory: options.directory,
      images: options.images,
      containerRuntime: options.containerRuntime ?? "containerd",
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
      issueToken: issueToken ?? (() => Effect.fail({ message: "this cluster issues none" })),
      restartBackOff: {
        initial: Duration.fromInputUnsafe(options.restartBackOff?.initial ?? "10 seconds"),
        max: Duration.fromInputUnsafe(options.restartBackOff?.max ?? "5 minutes")
      },
      running,
      resolve,
      reach,
      target,
      now,
      limitGrace: (seconds) => (closing ? Math.min(seconds, options.shutdownGraceSeconds ?? 5) : seconds)
    }
    yield* registerNode(options, now())

    const fibers = yield* FiberMap.make<string>()
    // Finalizers run in reverse: the pods learn of the end before FiberMap interrupts them.
    yield* Effect.addFinalizer(() => Effect.sync(() => void (closing = true)))
    const changes = yield* Queue.unbounded<Effect.Effect<void>>()

    /** Starts a pending pod, or writes the reason into its status. */
    const admit = Effect.fnUntraced(function* (pod: KubeObject) {
      const refuse = (reason: string, message: string) =>
        store.setStatus(pods, pod, {
          phase: "Pending",
          conditions: withConditions(
            asObject(pod["status"])["conditions"],
            [{ type: "PodScheduled", status: "False", reason, message }],
            kubeTime(now())
          )
        })
      const decoded = readPodSpec(pod["spec"])
      if (Result.isFailure(decoded)) return refuse("InvalidSpec", decoded.failure.message)
      const spec = decoded.success
      if (spec.nodeName !== undefined && spec.nodeName !== nodeName) return
      const labels = find(store, nodes, undefined, nodeName)?.metadata.labels ?? {}
      const unmet = Object.entries(spec.nodeSelector ?? {}).find(([key, value]) => labels[key] !== value)
      if (unmet !== undefined) {
        const wanted = unmet.join("=")
        return refuse(
          "Unschedulable",
          `0/1 nodes are available: nodeSelector ${wanted} does not match node ${nodeName}`
        )
      }
      if (!allowsNode(spec, nodeName)) {
        return refuse(
          "Unschedulable",
          `0/1 nodes are available: node ${nodeName} does not match the pod's node affinity`
        )
      }
      if (workers.size >= (options.podCapacity ?? 110)) {
        return refuse("Unschedulable", `0/1 nodes are available: too many pods on node ${nodeName}`)
      }
      const ip = addresses.take()
      if (ip === undefined) return refuse("Unschedulable", `no address is left in 127.${options.subnet}.0.0/16`)
      const bound = yield* store.bind(pod, nodeName)
      if (bound === undefined) return addresses.release(ip)
      const worker = makePodWorker(node, bound, issueToken === undefined ? spec : withServiceAccountVolume(spec), ip)
      const uid = uidOf(pod)
      workers.set(uid, worker)
      const ended = Effect.suspend(() => {
        workers.delete(uid)
        addresses.release(ip)
        store.release(bound)
        // A pod that found no room before may fit now.
        return closing ? Effect.void : wakePending
      })
      yield* FiberMap.run(fibers, uid, worker.run.pipe(Effect.ensuring(ended)))
    })

    const reconcile = Effect.fnUntraced(function* (namespace: string, name: string) {
      const pod = find(store, pods, namespace, name)
      for (const [uid, worker] of workers) {
        if (keyOf(worker.pod) !== `${namespace}/${name}`) continue
        if (uid !== pod?.metadata.uid) yield* Effect.forkDetach(FiberMap.remove(fibers, uid))
        else if (pod.metadata.deletionTimestamp !== undefined) yield* worker.stop
        else {
          const spec = readPodSpec(pod["spec"])
          if (Result.isSuccess(spec)) yield* worker.addContainers(spec.success.ephemeralContainers ?? [])
        }
      }
      if (pod === undefined || workers.has(uidOf(pod))) return
      if (pod.metadata.deletionTimestamp !== undefined) store.release(pod)
      else if (!isOver(pod)) yield* admit(pod)
    })
    const wakePending: Effect.Effect<void> = Effect.suspend(() => {
      for (const pod of store.list(pods).items) {
        if (!workers.has(uidOf(pod)) && !isOver(pod)) offerPod(pod)
      }
      return Effect.void
    })

    /** Pods that wait in `changes`: many events of a pod become one reconciliation. */
    const queued = new Set<string>()
    const offerPod = (pod: KubeObject): void => {
      const key = keyOf(pod)
      if (queued.has(key)) return
      queued.add(key)
      Queue.offerUnsafe(
        changes,
        Effect.suspend(() => {
          queued.delete(key)
          return reconcile(namespaceOf(pod), nameOf(pod))
        })
      )
    }
    const offerVolumes =
      (kind: "ConfigMap" | "Secret") =>
      (event: { readonly object: KubeObject }): void => {
        const { object } = event
        Queue.offerUnsafe(
          changes,
          Effect.suspend(() =>
            Effect.forEach(
              [...workers.values()].filter((worker) => namespaceOf(worker.pod) === namespaceOf(object)),
              (worker) => worker.refresh(kind, nameOf(object)),
              { discard: true }
            )
          )
        )
      }
    for (const [ref, listener] of [
      [pods, (event: { readonly object: KubeObject }) => offerPod(event.object)],
      [configMaps, offerVolumes("ConfigMap")],
      [secrets, offerVolumes("Secret")]
    ] as const) {
      yield* Effect.acquireRelease(
        Effect.sync(() => store.watch(ref, {}, listener)),
        (unwatch) => Effect.sync(unwatch)
      )
    }
    yield* Effect.forkScoped(
      Queue.take(changes).pipe(
        Effect.flatMap((change) => change),
        Effect.catchDefect((defect) => Effect.logError("kubelet: a change could not be handled", defect)),
        Effect.forever
      )
    )

    return {
      podLogs: (namespace, pod, container, logOptions = {}) =>
        podLogs(store, workers, namespace, pod, container, logOptions),
      target,
      containers: () => [...running.values()].map((entry) => entry.container),
      reach,
      resolve
    }
  })

const podLogs = (
  store: ObjectReader,
  workers: ReadonlyMap<string, PodWorker>,
  namespace: string,
  name: string,
  container: string | undefined,
  options: LogReadOptions & { readonly previous?: boolean }
): PodLogs => {
  const pod = find(store, pods, namespace, name)
  if (pod === undefined) return { _tag: "NotFound", message: `pods "${name}" not found` }
  const worker = workers.get(uidOf(pod))
  const records = worker?.containers ?? []
  const names = records.map((record) => record.spec.name)
  const wanted = container ?? (names.length === 1 ? names[0] : undefined)
  if (wanted === undefined && names.length > 1) {
    const choice = names.join(" ")
    return {
      _tag: "BadRequest",
      message: `a container name must be specified for pod ${name}, choose one of: [${choice}]`
    }
  }
  const record = [...records, ...(worker?.ephemeralContainers ?? [])].find(({ spec }) => spec.name === wanted)
  if (record === undefined && names.length > 0) {
    return { _tag: "BadRequest", message: `container ${wanted ?? ""} is not valid for pod ${name}` }
  }
  const log = options.previous === true ? record?.previousLog : record?.log
  if (log !== undefined) return { _tag: "Lines", lines: log.read(options) }
  if (options.previous === true) {
    return { _tag: "BadRequest", message: `previous terminated container "${wanted ?? ""}" in pod "${name}" not found` }
  }
  const reason = record?.state._tag === "Waiting" ? record.state.reason : "ContainerCreating"
  return { _tag: "BadRequest", message: `container "${wanted ?? ""}" in pod "${name}" is waiting to start: ${reason}` }
}
