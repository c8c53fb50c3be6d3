import { KubeConfig } from "@kubernetes/client-node"
import { Effect, Exit, Scope } from "effect"
import { expect, it } from "vitest"
import { makeKubeApi } from "../../../src/adapters/kubernetes/kube-api-http.ts"
import { clusterApi } from "../../../src/app/fleet/cluster-api-clusters.ts"
import { clusterApiClusters, clusterApiKey, clusterApiSecret } from "../../../src/domain/fleet/cluster-api.ts"
import { secrets } from "../../../src/domain/resources/core-kinds.ts"
import { clustersNamespace } from "../../support/cluster-api.ts"
import { kubeconfigOf } from "../../support/kubeconfig.ts"
import { untilTrue } from "../../support/until-true.ts"
import type { ApiServer } from "./api-server.ts"

const version = (name: string) => `
  - name: ${name}
    served: true
    storage: ${name === "v1beta1"}
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
    subresources: { status: {} }`

/** The definition of `Cluster` without its schema. */
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: clusters.cluster.x-k8s.io }
spec:
  group: cluster.x-k8s.io
  scope: Namespaced
  names: { kind: Cluster, plural: clusters, singular: cluster, listKind: ClusterList }
  versions:${version("v1beta1")}${version("v1beta2")}
---
apiVersion: v1
kind: Namespace
metadata: { name: ${clustersNamespace} }
`

const clusters = clusterApiClusters("v1beta2")
const namespace = clustersNamespace

export const clusterApiSuite = (use: () => ApiServer): void => {
  it("finds a cluster by its Cluster and its Secret, and loses it with them", async () => {
    const { apply, kubeconfigPath } = use()
    const run = Effect.runPromise
    await apply(definition)
    const scope = Effect.runSync(Scope.make())
    const config = new KubeConfig()
    config.loadFromFile(kubeconfigPath)
    try {
      const admin = await run(makeKubeApi(config, "primary").pipe(Scope.provide(scope)))
      // An API server serves the versions of a new definition one after the other.
      await untilTrue("Clusters are served", () => run(Effect.isSuccess(admin.list(clusters, { namespace }))))
      const found = await run(clusterApi(admin, namespace).pipe(Scope.provide(scope)))
      const names = () => found.all().map(({ name }) => name)
      expect(names()).toEqual([])
      const cluster = { apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Cluster", metadata: { name: "a" } }
      await run(admin.create(clusters, cluster, namespace))
      const data = { [clusterApiKey]: Buffer.from(kubeconfigOf("a")).toString("base64") }
      const metadata = { name: clusterApiSecret("a") }
      await run(admin.create(secrets, { apiVersion: "v1", kind: "Secret", metadata, data }, namespace))
      const status = { initialization: { controlPlaneInitialized: true } }
      await run(admin.mergePatch(clusters, "a", { status }, { namespace, subresource: "status" }))
      await untilTrue("the cluster is found", () => names().includes("a"))
      await run(admin.delete(clusters, "a", { namespace }))
      await untilTrue("it is gone", () => names().length === 0)
    } finally {
      await run(Scope.close(scope, Exit.void))
    }
  })
}
