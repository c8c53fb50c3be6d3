/**
 * Finds the cluster that this process runs in. Configurations of members are made from the fleet's credentials instead.
 */

import { existsSync } from "node:fs"
import { KubeConfig } from "@kubernetes/client-node"

/** The first of the files by which a pod knows its service account. */
const accountFile = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"

/**
 * The cluster that this process runs in: `KUBECONFIG` if set, else the pod's own service account. Throws where there is
 * neither: the library would look for the account's files at each request, for ever.
 */
export const ownKubeConfig = (): KubeConfig => {
  const config = new KubeConfig()
  const file = process.env["KUBECONFIG"]
  if (file !== undefined && file !== "") config.loadFromFile(file)
  else if (existsSync(accountFile)) config.loadFromCluster()
  else throw new Error("KUBECONFIG is not set, and this is no pod with a service account")
  return config
}
