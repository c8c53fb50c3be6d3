/** A workload with variables from every source that a pod can name, and what a session is to see of them. */

import { image } from "../../scripts/image.mjs"

export const variablesTarget = "deployment/variables"

const [name, labels] = ["variables", { app: "variables" }] as const
const field = (fieldPath: string): object => ({ valueFrom: { fieldRef: { fieldPath } } })
const resource = (wanted: string, divisor: string): object => ({
  valueFrom: { resourceFieldRef: { resource: wanted, divisor } }
})
const key = (kind: "configMapKeyRef" | "secretKeyRef", wanted: string, optional = false): object => ({
  valueFrom: { [kind]: { name, key: wanted, optional } }
})

/** The process changes its own variables, which is not seen from outside: a container keeps those of its start. */
const program = `
Object.assign(process.env, { PLAIN: "changed", CHANGED: "changed" })
process.once("SIGTERM", () => process.exit(0))
require("node:net").createServer().listen(8080)`

/** The objects of a cluster. `ranImage`: an image that has variables of its own; its Node runs the program. */
export const variablesObjects = (cluster: string, ranImage: string): string => {
  const env = {
    PLAIN: { value: `plain of ${cluster}` },
    FROM_MAP: key("configMapKeyRef", "one"),
    FROM_SECRET: key("secretKeyRef", "one"),
    NOT_THERE: key("configMapKeyRef", "none", true),
    POD: field("metadata.name"),
    NAMESPACE: field("metadata.namespace"),
    LABEL: field("metadata.labels['app']"),
    ANNOTATION: field("metadata.annotations['of']"),
    ADDRESS: field("status.podIP"),
    NODE: field("spec.nodeName"),
    NODE_ADDRESS: field("status.hostIP"),
    ACCOUNT: field("spec.serviceAccountName"),
    CPU: resource("limits.cpu", "1m"),
    MEMORY: resource("limits.memory", "1Mi"),
    MAP_two: { value: "the container's own" },
    EXPANDED: { value: "$(PLAIN), $(FROM_SECRET), $(MAP_one), $(LATER), $(KUBERNETES_SERVICE_PORT), $$(PLAIN)" },
    LATER: { value: "later" },
    CHANGED: { value: "as it was" },
    [`ONLY_${cluster.replaceAll("-", "_")}`]: { value: cluster }
  }
  const container = {
    name,
    image: ranImage,
    command: [image.node, "--eval", program],
    env: Object.entries(env).map(([variable, source]) => ({ name: variable, ...source })),
    envFrom: [
      { prefix: "MAP_", configMapRef: { name } },
      { prefix: "SECRET_", secretRef: { name } },
      { configMapRef: { name: "none", optional: true } }
    ],
    resources: { limits: { cpu: "300m", memory: "128Mi" } }
  }
  const data = (what: string): object => ({ one: `${what} one of ${cluster}`, two: `${what} two of ${cluster}` })
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: data("map") },
    { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: data("secret") },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels, annotations: { of: cluster } }, spec: { containers: [container] } }
      }
    }
  ]
    .map((object) => JSON.stringify(object))
    .join("\n---\n")
}

/** Those that a session is to have; of the names in it, no others. `pod`: that of the default cluster. */
export const variablesSeen = (cluster: string, pod: { readonly name: string; readonly address: string }) => ({
  PLAIN: `plain of ${cluster}`,
  FROM_MAP: `map one of ${cluster}`,
  FROM_SECRET: `secret one of ${cluster}`,
  POD: pod.name,
  HOSTNAME: pod.name,
  NAMESPACE: "default",
  LABEL: "variables",
  ANNOTATION: cluster,
  ADDRESS: pod.address,
  NODE: cluster,
  NODE_ADDRESS: "10.99.0.1",
  ACCOUNT: "default",
  CPU: "300",
  MEMORY: "128",
  MAP_one: `map one of ${cluster}`,
  MAP_two: "the container's own",
  SECRET_one: `secret one of ${cluster}`,
  SECRET_two: `secret two of ${cluster}`,
  EXPANDED: `plain of ${cluster}, secret one of ${cluster}, map one of ${cluster}, $(LATER), 443, $(PLAIN)`,
  LATER: "later",
  CHANGED: "as it was",
  ONLY_cluster_a: "cluster-a",
  MYAPP_SERVICE_PORT: "80",
  // The image's own.
  MALLOC_ARENA_MAX: "2"
})
