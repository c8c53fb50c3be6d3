import { Clock, Context, Effect, Fiber, Layer, Result, Scope, Stream } from "effect"
import { type Change, Changes } from "../../../src/app/kernel/change-feed.ts"
import { CurrentMeasurements, Measurements } from "../../../src/app/kernel/metrics.ts"
import { CurrentSettings } from "../../../src/app/kernel/setting-values.ts"
import { PodReviews } from "../../../src/app/queues/pod-reviews.ts"
import { QueueSplits } from "../../../src/app/queues/queue-splits.ts"
import { QueueSplitting, type SplittingOptions } from "../../../src/app/queues/queue-splitting.ts"
import { watchPumpOrders } from "../../../src/app/queues/sharding/pump-orders.ts"
import { pumpQueues } from "../../../src/app/queues/sharding/pump-queues.ts"
import { makeSharedForwarders } from "../../../src/app/queues/sharding/shared-forwarders.ts"
import { splitLayer } from "../../../src/app/queues/split-capability.ts"
import { Capabilities } from "../../../src/app/services/capability.ts"
import { watchLeases } from "../../../src/app/sharding/seen-leases.ts"
import { bePresent } from "../../../src/app/sharding/share.ts"
import { patchedLabel } from "../../../src/domain/queues/pod-patch.ts"
import { reviewPod } from "../../../src/domain/queues/pod-review.ts"
import { queueRecords } from "../../../src/domain/queues/stored-queue.ts"
import { splitSessions } from "../../../src/domain/queues/stored-session.ts"
import { splitPatches } from "../../../src/domain/queues/stored-split.ts"
import type { WantedSplit } from "../../../src/domain/queues/wanted-split.ts"
import {
  apiServices,
  configMaps,
  leases,
  mutatingWebhookConfigurations,
  pods
} from "../../../src/domain/resources/core-kinds.ts"
import {
  type MirrordClusterSession,
  mirrordClusterSessions
} from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordSplitConfigs } from "../../../src/domain/resources/queues/mirrord-split-config.ts"
import { splitsQueuesAnnotation } from "../../../src/domain/sessions/names.ts"
import type { KubeApi } from "../../../src/ports/kube-api.ts"
import type { MessageQueues } from "../../../src/ports/message-queues.ts"
import { pass } from "../../support/connect-request.ts"
import { servicesOf } from "../../support/services.ts"
import { SplitCluster } from "./split-cluster.ts"
import { jq, noObjects } from "./split-world.ts"

const owner = { userId: "ann", username: "Ann", hostname: "laptop", k8sUsername: "ann" }

/** A split of the queue `orders` of the workload `consumer` for messages whose attribute `to` fits. */
export const wanted = (pattern: string, change: Partial<WantedSplit> = {}): WantedSplit => ({
  workload: { namespace: "shop", kind: "deployment", name: "consumer", container: undefined },
  filters: new Map([["orders", { attributes: { to: pattern }, program: undefined }]]),
  modes: new Map(),
  isAutomatic: false,
  sessionKey: "ann-key",
  startedAt: undefined,
  isShared: false,
  given: undefined,
  ...change
})

/** The configuration of a workload's queues: an id for each, and the variable of the same name in capitals. */
export const configure = (cluster: SplitCluster, name: string, ids: ReadonlyArray<string>, spec: object = {}): void => {
  const targetRef = { apiVersion: "apps/v1", kind: "Deployment", name }
  const queues = ids.map((id) => ({ id, kind: "sqs", appConfig: { queue: [{ env: id.toUpperCase() }] } }))
  const whole = { spec: { targetRef, queues, restart: { strategy: "standard" }, ...spec } }
  cluster.api.write(mirrordSplitConfigs, name, whole, "shop")
}

export interface ClusterOptions {
  readonly spec?: object
  readonly seed?: string
  readonly isFifo?: boolean
  readonly ids?: ReadonlyArray<string>
}

/** A cluster with a consumer of the queue `orders`, and its configuration. */
export const clusterWith = ({ ids = ["orders"], isFifo = false, seed, spec }: ClusterOptions = {}): SplitCluster => {
  const cluster = new SplitCluster(seed)
  const nameOf = (id: string): string => (isFifo ? `${id}.fifo` : id)
  for (const id of ids) cluster.sqs.add(nameOf(id), isFifo ? { FifoQueue: "true" } : {})
  cluster.deploy(
    "consumer",
    ids.map((id) => ({ name: id.toUpperCase(), value: nameOf(id) }))
  )
  cluster.api.write(apiServices, "v1.operator.metalbear.co", {
    spec: { service: { name: "mirrord-operator", namespace: "mirrord", port: 443 }, caBundle: "Y2E=" }
  })
  configure(cluster, "consumer", ids, spec)
  return cluster
}

/**
 * A process of the operator, which may be killed at one of its calls: from then on it has no effect. The request of
 * that call is lost, or only its answer.
 */
export class OperatorProcess {
  readonly calls: Array<string> = []
  isDead = false
  readonly #diesAt: number
  readonly #loses: "request" | "answer"
  died: () => void = () => {}

  constructor(diesAt = Infinity, loses: "request" | "answer" = "request") {
    this.#diesAt = diesAt
    this.#loses = loses
  }

  kill(): void {
    this.isDead = true
    this.died()
  }

  #call<A, E, R>(name: string, call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> {
    return Effect.suspend(() => {
      if (this.isDead) return Effect.never
      const isLast = this.calls.push(name) === this.#diesAt
      if (isLast && this.#loses === "request") this.kill()
      if (this.isDead) return Effect.never
      return Effect.flatMap(Effect.exit(call), (exit) => {
        if (isLast) this.kill()
        return this.isDead ? Effect.never : exit
      })
    })
  }

  api(real: KubeApi): KubeApi {
    return {
      cluster: real.cluster,
      get: (ref, ...rest) => this.#call(`get ${ref.plural}`, real.get(ref, ...rest)),
      list: (ref, ...rest) => this.#call(`list ${ref.plural}`, real.list(ref, ...rest)),
      watch: (ref, ...rest) =>
        Stream.unwrap(this.#call(`watch ${ref.plural}`, Effect.succeed(real.watch(ref, ...rest)))),
      create: (ref, ...rest) => this.#call(`create ${ref.plural}`, real.create(ref, ...rest)),
      mergePatch: (ref, ...rest) => this.#call(`patch ${ref.plural}`, real.mergePatch(ref, ...rest)),
      update: (ref, ...rest) => this.#call(`update ${ref.plural}`, real.update(ref, ...rest)),
      delete: (ref, ...rest) => this.#call(`delete ${ref.plural}`, real.delete(ref, ...rest))
    }
  }

  queues(real: MessageQueues["Service"]): MessageQueues["Service"] {
    return {
      receive: (receive) => this.#call("receive", real.receive(receive)),
      sendBatch: (url, entries) => this.#call("send", real.sendBatch(url, entries)),
      deleteBatch: (url, entries) => this.#call("delete messages", real.deleteBatch(url, entries)),
      urlOf: (name) => this.#call("url", real.urlOf(name)),
      attributes: (url) => this.#call("attributes", real.attributes(url)),
      tags: (url) => this.#call("tags", real.tags(url)),
      create: (queue) => this.#call("create queue", real.create(queue)),
      delete: (url) => this.#call("delete queue", real.delete(url))
    }
  }
}

export interface OperateOptions {
  readonly process?: OperatorProcess
  /** The port as the operator's credentials may use it. */
  readonly queues?: MessageQueues["Service"]
  readonly addsSessionKey?: boolean
  /** Where replicas share the queues. */
  readonly sharedForwarders?: SplittingOptions["sharedForwarders"]
}

const operatorNamespace = "mirrord"

/** The receives of one replica that have not ended, by queue. */
class Receiver {
  readonly process: OperatorProcess
  readonly #open = new Map<string, number>()

  constructor(process: OperatorProcess) {
    this.process = process
  }

  receives = (url: string): boolean => !this.process.isDead && (this.#open.get(url) ?? 0) > 0

  count(url: string, by: number): void {
    this.#open.set(url, (this.#open.get(url) ?? 0) + by)
  }
}

const receivers = new WeakMap<SplitCluster, Array<Receiver>>()

/** A replica that takes its share of the queues, whether it leads or not. The end of its scope stops it in order. */
export const shareQueues = Effect.fnUntraced(function* (
  cluster: SplitCluster,
  name: string,
  process = new OperatorProcess()
) {
  const receiver = new Receiver(process)
  const all = [...(receivers.get(cluster) ?? []), receiver]
  receivers.set(cluster, all)
  const overlaps: Array<string> = []
  const receive: MessageQueues["Service"]["receive"] = (one) =>
    Effect.suspend(() => {
      const others = (receivers.get(cluster) ?? []).filter((other) => other !== receiver && other.receives(one.url))
      if (others.length > 0) overlaps.push(`${name} receives from ${one.url}, as another replica does`)
      receiver.count(one.url, 1)
      return Effect.ensuring(
        cluster.queues.receive(one),
        Effect.sync(() => receiver.count(one.url, -1))
      )
    })
  const scope = yield* Scope.make()
  const api = process.api(cluster.api)
  const at = { api, namespace: operatorNamespace, pod: { name, uid: `uid-of-${name}` } }
  const [seen, presentSince, orders] = yield* Effect.all([
    watchLeases(at),
    bePresent(at, 1),
    watchPumpOrders(api, operatorNamespace)
  ]).pipe(Scope.provide(scope))
  const splitting = { queues: process.queues({ ...cluster.queues, receive }), jq, storedObjects: noObjects }
  const measurements = new Measurements()
  yield* pumpQueues({ ...at, seen, presentSince }, splitting, orders).pipe(
    Effect.provideService(CurrentMeasurements, measurements),
    Scope.provide(scope),
    Effect.forkIn(scope)
  )
  const sharedForwarders: NonNullable<SplittingOptions["sharedForwarders"]> = (led, changed) =>
    makeSharedForwarders({ api: led, namespace: operatorNamespace, orders, seen }, changed)
  return { name, scope, process, sharedForwarders, overlaps, measured: measurements.now }
})
export type SharingReplica = Effect.Success<ReturnType<typeof shareQueues>>

/** Starts the operator's part, which answers for pods from now on. */
export const operate = Effect.fnUntraced(function* (
  cluster: SplitCluster,
  {
    addsSessionKey = true,
    process = new OperatorProcess(),
    queues = cluster.queues,
    sharedForwarders
  }: OperateOptions = {}
) {
  const scope = yield* Scope.make()
  const services = yield* servicesOf({ api: process.api(cluster.api) }).pipe(Scope.provide(scope))
  const options = {
    settings: { lingerSeconds: 60, isolatesPods: false, waitsForPods: true },
    queues: process.queues(queues),
    jq,
    storedObjects: noObjects,
    endpoint: undefined,
    sharedForwarders
  }
  const made = yield* Layer.build(splitLayer).pipe(
    Effect.provideContext(Context.add(services, QueueSplitting, { options, servedAuthority: () => undefined })),
    Effect.updateService(CurrentSettings, (settings) => ({ ...settings, addsSessionKey })),
    Scope.provide(scope)
  )
  const { lookup } = Context.get(made, PodReviews)
  cluster.operator = (uid, review) => Result.getOrThrow(reviewPod(lookup(uid), review)).patch
  process.died = () => {
    cluster.operator = undefined
  }
  const features = Context.get(made, Capabilities).flatMap((one) => one.features?.() ?? [])
  const changed: Array<Change> = []
  Context.get(services, Changes).subscribe((change) => void changed.push(change))
  return { splits: Context.get(made, QueueSplits), features, scope, process, changed }
})

export const begin = Effect.fnUntraced(function* (cluster: SplitCluster) {
  const clock = yield* Clock.Clock
  yield* Effect.forkScoped(cluster.live(() => clock.currentTimeMillisUnsafe()))
  yield* pass("2 seconds")
})

export const sessionName = "00000000000000ff"

export const makeSession = (cluster: SplitCluster, name = sessionName, now = 0): MirrordClusterSession => {
  const target = { apiVersion: "apps/v1", kind: "Deployment", name: "consumer", container: "" }
  const object = { metadata: { annotations: splitsQueuesAnnotation }, spec: { namespace: "shop", owner, target } }
  return cluster.api.write(mirrordClusterSessions, name, object, undefined, now) as unknown as MirrordClusterSession
}

/** Makes a session and orders its split. */
export const start = Effect.fnUntraced(function* (
  cluster: SplitCluster,
  splits: QueueSplits["Service"],
  split: WantedSplit,
  name = sessionName
) {
  const session = makeSession(cluster, name, yield* Clock.currentTimeMillis)
  const ordering = yield* Effect.forkScoped(Effect.andThen(splits.check(split), splits.order(session, split)))
  yield* pass("50 millis")
  yield* Fiber.join(ordering)
  return session
})

/** The session ends, and the garbage collector takes what it owns. */
export const end = (cluster: SplitCluster, name = sessionName): void => {
  cluster.programs.delete(name)
  cluster.api.erase(mirrordClusterSessions, name)
}

/** A producer puts a message into a queue at once. */
export const put = (cluster: SplitCluster, body: string, to: string, now: number, queue = "orders"): void => {
  const MessageAttributes = { to: { DataType: "String", StringValue: to } }
  const found = cluster.sqs.named(queue) ?? cluster.sqs.named(`${queue}.fifo`)
  const fifo = found?.isFifo === true ? { MessageGroupId: to, MessageDeduplicationId: body } : {}
  found?.send({ MessageBody: body, MessageAttributes, ...fifo }, now)
}

/** The names of orders about queues, and of their Leases. */
const pumpPrefix = "mirrord-operator-queue-"

/** All that is left of splits beside the original queues: names of objects and queues, and of pods that are patched. */
export const leftOf = (cluster: SplitCluster): ReadonlyArray<string> => [
  ...[splitPatches, queueRecords, splitSessions, mutatingWebhookConfigurations].flatMap((kind) =>
    cluster.api.peekAll(kind).map(({ metadata }) => `${kind.plural} ${metadata.name}`)
  ),
  ...[configMaps, leases].flatMap((kind) =>
    cluster.api.peekAll(kind).flatMap(({ metadata: { name } }) => (name.startsWith(pumpPrefix) ? [name] : []))
  ),
  ...cluster.sqs.names.filter((name) => name.startsWith("mirrord-tmp-")),
  ...cluster.api.peekAll(pods).flatMap(({ metadata }) => (metadata.labels?.[patchedLabel] ? [metadata.name] : []))
]

/** Turns of the controller since so many calls had been made. */
export const looksSince = ({ api }: SplitCluster, calls: number): number =>
  api.calls.slice(calls).filter(({ plural, verb }) => verb === "get" && plural === "deployments").length
