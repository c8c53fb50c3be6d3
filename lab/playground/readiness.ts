/** Waits until a started playground is ready: workload, operators, and the primary's connection to its members. */

import { KubeConfig } from "@kubernetes/client-node"
import { Data, Effect, Result } from "effect"
import { makeKubeApi } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { at, asNumber, asObjects, asString } from "../../src/domain/json.ts"
import { mirrordOperators } from "../../src/domain/resources/mirrord-operator.ts"
import { readResource } from "../../src/domain/resources/resource-descriptor.ts"
import { deployments, pods } from "../cluster/store/resource-refs.ts"
import { awaited, type Hangs, seen } from "./awaited.ts"
import type { LocalCluster } from "./local-cluster.ts"
import { operatorNamespace, workloadNamespace } from "./manifests.ts"
import type { PlaygroundCluster } from "./topology.ts"

export class PlaygroundError extends Data.TaggedError("PlaygroundError")<{ readonly detail: string }> {
  override get message(): string {
    return this.detail
  }
}

const asProblem = ({ message }: Hangs): PlaygroundError => new PlaygroundError({ detail: message })

/** Waits until a condition of the cluster's objects holds; the stand-in kubelet changes the objects at any time. */
const waitFor = (what: string, holds: () => boolean, look: () => string): Effect.Effect<void, PlaygroundError> =>
  seen(
    what,
    Effect.sync(() => (holds() ? true : undefined)),
    look
  ).pipe(Effect.asVoid, Effect.mapError(asProblem))

/** The pods of a namespace and their containers, in words. */
const podsIn = ({ store }: LocalCluster, namespace: string): string =>
  store
    .list(pods, { namespace })
    .items.map((pod) => {
      const containers = asObjects(at(pod, "status", "containerStatuses")).map(
        ({ ready, state }) => (ready === true ? "ready" : Object.keys(state ?? {}).join()) || "no state"
      )
      const phase = asString(at(pod, "status", "phase")) ?? "not scheduled"
      return `${pod.metadata.name ?? ""} ${phase} (${containers.join(", ")})`
    })
    .join("; ") || "no pod"

const apiServices = { group: "apiregistration.k8s.io", version: "v1", resource: "apiservices" }

/** Waits until the demo workload of a cluster has a ready pod. */
const waitForWorkload = (cluster: LocalCluster): Effect.Effect<void, PlaygroundError> =>
  waitFor(
    `the start of the demo workload in ${cluster.name}`,
    () => {
      const deployment = cluster.store.get(deployments, workloadNamespace, "myapp")
      return (asNumber(at(deployment, "status", "readyReplicas")) ?? 0) > 0
    },
    () => podsIn(cluster, workloadNamespace)
  )

/** Waits until the cluster's APIService answers, so that the operator is reachable through the API server. */
const waitForOperator = (cluster: LocalCluster): Effect.Effect<void, PlaygroundError> => {
  const available = () => {
    const service = cluster.store.get(apiServices, undefined, "v1.operator.metalbear.co")
    return asObjects(at(service, "status", "conditions")).find(({ type }) => type === "Available")
  }
  return waitFor(
    `the start of the operator in ${cluster.name}`,
    () => available()?.["status"] === "True",
    () => `${podsIn(cluster, operatorNamespace)}; ${asString(available()?.["message"]) ?? "its API is unknown"}`
  )
}

/** Waits until the primary's operator reports a connection to every workload cluster. */
const waitForFleet = (primary: LocalCluster): Effect.Effect<void, PlaygroundError> =>
  Effect.gen(function* () {
    const config = new KubeConfig()
    config.loadFromFile(primary.kubeconfigPath)
    const api = yield* makeKubeApi(config, primary.name)
    let last = ""
    const find = Effect.gen(function* () {
      const operator = yield* Effect.result(api.get(mirrordOperators, "operator"))
      const read = Result.flatMap(operator, (object) => readResource(mirrordOperators, object))
      const clusters = Result.isSuccess(read) ? (read.success.status?.connected_clusters ?? []) : []
      last = Result.isSuccess(read)
        ? clusters
            .map(({ name, ...how }) => `${name} ${"connected" in how ? "connected" : how.error.message}`)
            .join("; ")
        : read.failure.message
      return clusters.length > 0 && clusters.every((cluster) => "connected" in cluster) ? true : undefined
    })
    yield* seen("the connection of the primary to every cluster", find, () => last)
  }).pipe(Effect.scoped, Effect.mapError(asProblem))

/** Waits until the stand-in node of a real cluster shows the first sessions. */
export const waitForView = (cluster: string, view: Effect.Effect<void>): Effect.Effect<void, PlaygroundError> =>
  awaited(`the first view of the sessions in ${cluster}`, view).pipe(Effect.mapError(asProblem))

/**
 * Waits until the demo workload and the operators of all clusters run and the primary is connected to them, and reports
 * each step.
 */
export const waitForClusters = <Cluster extends LocalCluster>(
  started: ReadonlyArray<{ readonly description: PlaygroundCluster; readonly cluster: Cluster }>,
  primary: Cluster,
  progress: (step: string) => Effect.Effect<void>
): Effect.Effect<void, PlaygroundError> =>
  Effect.gen(function* () {
    const workloads = started.filter(({ description }) => description.hasWorkload)
    yield* Effect.forEach(workloads, ({ cluster }) => waitForWorkload(cluster), { concurrency: "unbounded" })
    yield* progress("workload")
    yield* Effect.forEach(started, ({ cluster }) => waitForOperator(cluster), { concurrency: "unbounded" })
    yield* waitForFleet(primary)
    yield* progress("operators")
  })
