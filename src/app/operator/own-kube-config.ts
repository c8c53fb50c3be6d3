/**
 * Finds the cluster that this process runs in. Configurations of members are made from the fleet's credentials instead.
 */

import { KubeConfig } from "@kubernetes/client-node"

/** The cluster that this process runs in: `KUBECONFIG` if set, else the pod's own service account. */
export const ownKubeConfig = (): KubeConfig => {
  const config = new KubeConfig()
  const file = process.env["KUBECONFIG"]
  if (file !== undefined && file !== "") config.loadFromFile(file)
  else config.loadFromCluster()
  return config
}
