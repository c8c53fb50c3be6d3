/** Waits until a started playground is ready: workload, operators, and the primary's connection to its members. */

import { KubeConfig } from "@kubernetes/client-node"
import { Data, Effect, Result } from "effect"
import { makeKubeApi } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { at, asNumber, asObjects } from "../../src/domain/json.ts"
import { mirrordOperators } from "../../src/domain/resources/mirrord-operator.ts"
import { readResource } from "../../src/domain/resources/resource-descriptor.ts"
import { deployments } from "../cluster/store/resource-refs.ts"
import type { LocalCluster } from "./local-cluster.ts"
import { workloadNamespace } from "./manifests.ts"
import type { PlaygroundCluster } from "./topology.ts"

export class PlaygroundError extends Data.TaggedError("PlaygroundError")<{ readonly detail: string }> {
  override get message(): string {
    return this.detail
  }
}

/** Far longer than any step takes on a loaded machine; after that something is wrong. */
const patience = { minutes: 5 }

/** The end of a wait that would never end by itself, with what was awaited. */
export const tooLong = (what: string) => ({
  duration: patience,
  orElse: () =>
    Effect.fail(new PlaygroundError({ detail: `${what} did not happen within ${patience.minutes} minutes` }))
})

/** Waits until a condition of the cluster's objects holds; the stand-in kubelet changes the objects at any time. */
const waitFor = (what: string, holds: () => boolean): Effect.Effect<void, PlaygroundError> =>
  Effect.gen(function* () {
    while (!holds()) yield* Effect.sleep("50 millis")
  }).pipe(Effect.timeoutOrElse(tooLong(what)))

const apiServices = { group: "apiregistration.k8s.io", version: "v1", resource: "apiservices" }

/** Waits until the demo workload of a cluster has a ready pod. */
const waitForWorkload = (cluster: LocalCluster): Effect.Effect<void, PlaygroundError> =>
  waitFor(`the start of the demo workload in ${cluster.name}`, () => {
    const deployment = cluster.store.get(deployments, workloadNamespace, "myapp")
    return (asNumber(at(deployment, "status", "readyReplicas")) ?? 0) > 0
  })

/** Waits until the cluster's APIService answers, so that the operator is reachable through the API server. */
const waitForOperator = (cluster: LocalCluster): Effect.Effect<void, PlaygroundError> =>
  waitFor(`the start of the operator in ${cluster.name}`, () => {
    const service = cluster.store.get(apiServices, undefined, "v1.operator.metalbear.co")
    return asObjects(at(service, "status", "conditions")).some(
      ({ status, type }) => type === "Available" && status === "True"
    )
  })

/** Waits until the primary's operator reports a connection to every workload cluster. */
const waitForFleet = (primary: LocalCluster): Effect.Effect<void, PlaygroundError> =>
  Effect.gen(function* () {
    const config = new KubeConfig()
    config.loadFromFile(primary.kubeconfigPath)
    const api = yield* makeKubeApi(config, primary.name)
    for (;;) {
      const operator = yield* Effect.result(api.get(mirrordOperators, "operator"))
      const read = Result.flatMap(operator, (object) => readResource(mirrordOperators, object))
      const clusters = Result.isSuccess(read) ? (read.success.status?.connected_clusters ?? []) : []
      if (clusters.length > 0 && clusters.every((cluster) => "connected" in cluster)) return
      yield* Effect.sleep("100 millis")
    }
  }).pipe(Effect.scoped, Effect.timeoutOrElse(tooLong("the connection of the primary to every cluster")))

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
