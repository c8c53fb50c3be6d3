/** One kubeconfig for all clusters of a playground, as an administrator has it. */

import { readFileSync, writeFileSync } from "node:fs"
import { parse, stringify } from "yaml"
import { asArray, at } from "../../src/domain/json.ts"

/** Writes one kubeconfig with contexts of many clusters, under the clusters' names; the first is the current one. */
export const mergedKubeconfig = (
  path: string,
  clusters: ReadonlyArray<{ readonly name: string; readonly kubeconfigPath: string }>
): string => {
  const read = clusters.map(({ kubeconfigPath, name }) => ({
    name,
    config: parse(readFileSync(kubeconfigPath, "utf8")) as unknown
  }))
  const only = (config: unknown, list: string, kind: string): unknown => at(asArray(at(config, list))[0], kind)
  const merged = {
    apiVersion: "v1",
    kind: "Config",
    clusters: read.map(({ config, name }) => ({ name, cluster: only(config, "clusters", "cluster") })),
    users: read.map(({ config, name }) => ({ name, user: only(config, "users", "user") })),
    contexts: read.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    "current-context": read[0]?.name
  }
  writeFileSync(path, stringify(merged), { mode: 0o600 })
  return path
}
