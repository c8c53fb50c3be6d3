import {
  clusterApiClusters,
  clusterApiKey,
  clusterApiSecret,
  type ClusterApiVersion
} from "../../src/domain/fleet/cluster-api.ts"
import { secrets } from "../../src/domain/resources/core-kinds.ts"
import { kubeconfigOf } from "./kubeconfig.ts"
import type { MemoryKubeApi } from "./memory-kube-api.ts"

/** Namespace of the `Cluster` objects. */
export const clustersNamespace = "clusters"

/** Writes a `Cluster` whose control plane is up, or is not yet. */
export const writeCluster = (
  api: MemoryKubeApi,
  name: string,
  isUp = true,
  version: ClusterApiVersion = "v1beta2"
): void => {
  const status = { initialization: { controlPlaneInitialized: isUp } }
  api.write(clusterApiClusters(version), name, { status }, clustersNamespace)
}

/** The Secret that Cluster API writes for a cluster. */
export const writeClusterKubeconfig = (api: MemoryKubeApi, name: string, text = kubeconfigOf(name)): void => {
  const data = { [clusterApiKey]: Buffer.from(text).toString("base64") }
  api.write(secrets, clusterApiSecret(name), { data }, clustersNamespace)
}
