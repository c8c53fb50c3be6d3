/**
 * The calls for splits of queues: of an operator that splits them, of a primary that copies their configurations, in
 * its own cluster and in its members', and of the hooks that end splits. The simulation's operators split none.
 */

import { Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { cleanup } from "../../src/app/commands/cleanup/cleanup.ts"
import { restartWorkload } from "../../src/app/queues/restart-workload.ts"
import { syncedConfigurationKinds } from "../../src/domain/queues/configuration-sync-plan.ts"
import { wishNote } from "../../src/domain/queues/split-wish.ts"
import { splitSessions } from "../../src/domain/queues/stored-session.ts"
import { configMaps, deployments, leases, pods, rollouts, secrets } from "../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordPropertyLists } from "../../src/domain/resources/queues/mirrord-property-list.ts"
import { KubeError } from "../../src/ports/kube-api.ts"
import type { SplitCluster } from "../app/queues/split-cluster.ts"
import {
  begin,
  clusterWith,
  end,
  operate,
  OperatorProcess,
  shareQueues,
  start,
  wanted
} from "../app/queues/split-life.ts"
import { place, spec, SyncFleet } from "../app/queues/sync/sync-fleet.ts"
import { ordersPod, split } from "../domain/queues/reviewed-pod.ts"
import { pass } from "../support/connect-request.ts"
import { operatorNamespace } from "../support/fleet.ts"
import { MemoryKubeApi } from "../support/memory-kube-api.ts"
import { recordingKubeApi } from "../support/recording-kube-api.ts"
import { virtualTime } from "../support/virtual-time.ts"
import type { ApiCall } from "./api-call.ts"

/** Another writer is faster with each kind of object, once for each verb. */
const withRivals = (api: MemoryKubeApi): void => {
  const met = new Set<string>()
  api.before = ({ plural, subresource, verb }) => {
    const deed = [verb, plural, subresource].join(" ")
    if (!["create", "patch", "delete"].includes(verb) || met.has(deed)) return Effect.void
    met.add(deed)
    const reason = verb === "create" ? "AlreadyExists" : "Conflict"
    return Effect.fail(new KubeError({ cluster: api.cluster, operation: deed, reason, code: 409, detail: "a rival" }))
  }
}

/** A process whose calls are written down. */
class RecordedProcess extends OperatorProcess {
  readonly made: Array<ApiCall>

  constructor(made: Array<ApiCall>) {
    super()
    this.made = made
  }

  override api(real: MemoryKubeApi) {
    return recordingKubeApi(super.api(real), this.made)
  }
}

/** A workload whose queue is named by a ConfigMap, with properties that are in a Secret of the operator. */
const clusterWithReferences = (): SplitCluster => {
  const appConfig = { queue: [{ env: "ORDERS" }] }
  const cluster = clusterWith({ spec: { queues: [{ id: "orders", kind: "sqs", appConfig, queueConfig: "list" }] } })
  cluster.api.write(configMaps, "names", { data: { orders: "orders" } }, "shop")
  cluster.deploy("consumer", [{ name: "ORDERS", valueFrom: { configMapKeyRef: { name: "names", key: "orders" } } }])
  cluster.api.write(secrets, "properties", { data: {} }, operatorNamespace)
  const list = { propertiesFrom: [{ secretRef: { name: "properties" } }] }
  cluster.api.write(mirrordPropertyLists, "list", { spec: list }, operatorNamespace)
  return cluster
}

const inVirtualTime = <A, E>(use: Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(use.pipe(Effect.provide(Layer.merge(virtualTime, Logger.layer([])))))

/** A split, from a session and a primary's child to its end, while others write the same objects. */
const ofSplit = (made: Array<ApiCall>) =>
  Effect.gen(function* () {
    const cluster = clusterWithReferences()
    withRivals(cluster.api)
    yield* begin(cluster)
    // It may delete no queue at first, and says so in an Event of the workload.
    let isAllowed = false
    const queues = cluster.sqs.port((operation) => isAllowed || operation !== "DeleteQueue")
    const { splits } = yield* operate(cluster, { process: new RecordedProcess(made), queues })
    yield* pass("15 seconds")
    yield* start(cluster, splits, wanted("^ann$"))
    const { given: _, workload: __, ...wish } = wanted("^bob$", { isShared: true, startedAt: 0 })
    const metadata = { annotations: wishNote({ ...wish, workload: undefined }) }
    const target = { apiVersion: "apps/v1", kind: "Deployment", name: "consumer", container: "" }
    const owner = { userId: "bob", username: "", hostname: "", k8sUsername: "bob" }
    cluster.api.write(mirrordClusterSessions, "child", { metadata, spec: { namespace: "shop", owner, target } })
    yield* pass("1 minute")
    end(cluster)
    end(cluster, "child")
    yield* pass("10 minutes")
    isAllowed = true
    yield* pass("30 minutes")
  }).pipe(Effect.scoped)

/** Pods are replaced in each way. The cluster above has no Rollouts, and its pods are replaced as a whole. */
const ofRestarts = Effect.fnUntraced(function* (made: Array<ApiCall>) {
  const api = new MemoryKubeApi("recorded")
  const pod = { ...ordersPod, status: { conditions: [{ type: "Ready", status: "True" }] } }
  for (const kind of [deployments, rollouts])
    api.write(kind, "orders", { spec: { replicas: 1, selector: { matchLabels: { app: "orders" } } } }, "shop")
  api.write(pods, "old", pod, "shop")
  const order = { strategy: "isolatePods", token: "1", bornBefore: 60_000 } as const
  const recorded = recordingKubeApi(api, made)
  yield* restartWorkload(recorded, { ...split.workload, kind: "rollout" }, { ...order, strategy: "standard" })
  yield* restartWorkload(recorded, split.workload, order)
  yield* TestClock.adjust("2 minutes")
  yield* restartWorkload(recorded, split.workload, order)
})

/** The calls of an operator that splits queues, as far as that is more. */
export const ofQueues = (): Promise<Array<ApiCall>> => {
  const made: Array<ApiCall> = []
  return inVirtualTime(Effect.as(Effect.andThen(ofSplit(made), ofRestarts(made)), made))
}

/** The calls by which replicas share queues: a split from its session to its end. */
export const ofSharedQueues = (): Promise<Array<ApiCall>> => {
  const made: Array<ApiCall> = []
  const life = Effect.gen(function* () {
    const cluster = clusterWith({ ids: ["orders", "refunds"] })
    yield* begin(cluster)
    const first = yield* shareQueues(cluster, "first", new RecordedProcess(made))
    yield* shareQueues(cluster, "second", new RecordedProcess(made))
    yield* pass("10 seconds")
    const { splits } = yield* operate(cluster, first)
    yield* pass("15 seconds")
    yield* start(cluster, splits, wanted("^ann$"))
    yield* pass("1 minute")
    end(cluster)
    yield* pass("10 minutes")
  })
  const isAboutShares = ({ resource }: ApiCall) => resource === leases.plural || resource === configMaps.plural
  return inVirtualTime(Effect.map(Effect.scoped(life), () => made.filter(isAboutShares)))
}

/**
 * Configurations that a primary copies to its members: made, changed, deleted, and refused by one of them for two
 * reasons.
 */
export const ofQueueSync = (): Promise<Readonly<Record<"own" | "atMember", Array<ApiCall>>>> => {
  const calls = { own: new Array<ApiCall>(), atMember: new Array<ApiCall>() }
  const apis = new Map<MemoryKubeApi, ReturnType<typeof recordingKubeApi>>()
  const recorded = (api: MemoryKubeApi) => {
    const one = apis.get(api) ?? recordingKubeApi(api, api.cluster === "primary" ? calls.own : calls.atMember)
    apis.set(api, one)
    return one
  }
  return inVirtualTime(
    Effect.gen(function* () {
      const fleet = new SyncFleet(new MemoryKubeApi("primary"), recorded)
      withRivals(fleet.a)
      let refusals = 0
      fleet.b.before = ({ verb }) => {
        const detail = `no, for the reason ${++refusals}`
        const error = new KubeError({ cluster: "b", operation: verb, reason: "Forbidden", code: 403, detail })
        return verb === "create" ? Effect.fail(error) : Effect.void
      }
      yield* fleet.start()
      const [name, namespace] = place
      for (const kind of syncedConfigurationKinds) {
        for (const change of [{ spec }, { spec: { ...spec, queues: [] } }]) {
          fleet.primary.write(kind, name, change, namespace)
          yield* pass("10 minutes")
        }
        fleet.primary.erase(kind, name, namespace)
        yield* pass("10 seconds")
      }
      return calls
    }).pipe(Effect.scoped)
  )
}

/** A split is ended whose operator is away, as its cluster's controllers are. */
export const ofSplitCleanup = (): Promise<Array<ApiCall>> => {
  const made: Array<ApiCall> = []
  const cluster = clusterWith()
  const life = Effect.gen(function* () {
    yield* begin(cluster)
    const { process, splits } = yield* operate(cluster)
    yield* pass("15 seconds")
    yield* start(cluster, splits, wanted("^ann$"))
    yield* pass("20 seconds")
    process.kill()
  })
  const ending = cleanup(recordingKubeApi(cluster.api, made), { waitSecs: 2, copies: true, splitSecs: 2 })
  return inVirtualTime(
    Effect.gen(function* () {
      yield* Effect.scoped(life)
      // The garbage collector of a real cluster takes its time.
      cluster.api.write(splitSessions, "left", {})
      const running = yield* Effect.forkChild(ending)
      yield* pass("1 minute")
      yield* Fiber.join(running)
      return made
    })
  )
}
