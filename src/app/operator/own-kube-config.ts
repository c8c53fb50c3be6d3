import { KubeConfig } from "@kubernetes/client-node"

/** The cluster that we run in: `KUBECONFIG` if set, else the pod's own service account. */
export const ownKubeConfig = (): KubeConfig => {
  const config = new KubeConfig()
  const file = process.env["KUBECONFIG"]
  if (file !== undefined && file !== "") config.loadFromFile(file)
  else config.loadFromCluster()
  return config
}
