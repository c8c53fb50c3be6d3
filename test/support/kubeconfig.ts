import { kubeconfigKey, kubeconfigLabel } from "../../src/domain/fleet/provided-clusters.ts"
import { secrets } from "../../src/domain/resources/core-kinds.ts"
import { operatorNamespace } from "./fleet.ts"
import type { MemoryKubeApi } from "./memory-kube-api.ts"

/** A kubeconfig as YAML, of a cluster at `https://<name>`. */
export const kubeconfigOf = (name: string, user: object = { token: "token" }): string =>
  JSON.stringify({
    "current-context": name,
    contexts: [{ name, context: { cluster: name, user: name } }],
    clusters: [{ name, cluster: { server: `https://${name}` } }],
    users: [{ name, user }]
  })

/** The Secret by which a primary finds a cluster. */
export const writeKubeconfig = (primary: MemoryKubeApi, name: string, text = kubeconfigOf(name)): void => {
  primary.write(
    secrets,
    name,
    {
      metadata: { labels: { [kubeconfigLabel]: "true" } },
      data: { [kubeconfigKey]: Buffer.from(text).toString("base64") }
    },
    operatorNamespace
  )
}
