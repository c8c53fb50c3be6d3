/** A workload on a node that reads a queue: the program of the playground, in one file. */

import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"
import { workloadNamespace as namespace } from "../../lab/playground/manifests.ts"
import { nodeImages } from "../../lab/playground/node/node-files.ts"
import { splitConfig } from "../../lab/playground/queues/consumer.ts"
import { image } from "../../scripts/image.mjs"

const program = fileURLToPath(new URL("../../lab/playground/queues/queue-consumer.ts", import.meta.url))

const programText = async (): Promise<string> => {
  const build = await rolldown({ input: program, platform: "node" })
  const { output } = await build.generate({ format: "esm" })
  await build.close()
  return output[0].code
}

/**
 * The manifests of the Deployment `consumer`, with two pods, and of the configuration of its queue.
 *
 * `endpoint`: URL of the server of queues, as pods reach it; `folder`: of this machine, for a file `taken`.
 */
export const consumerManifests = async ({ endpoint, folder }: Readonly<Record<"endpoint" | "folder", string>>) => {
  const metadata = { name: "consumer", namespace }
  const labels = { app: "consumer" }
  const env = Object.entries({ QUEUE: "orders", AWS_ENDPOINT_URL_SQS: endpoint, TAKEN: "/taken/taken" })
  const container = {
    name: "main",
    image: nodeImages.demo,
    command: [image.node, "/app/consumer.mjs"],
    env: env.map(([name, value]) => ({ name, value })),
    volumeMounts: [
      { name: "app", mountPath: "/app" },
      { name: "taken", mountPath: "/taken" }
    ]
  }
  const volumes = [
    { name: "app", configMap: { name: "consumer" } },
    { name: "taken", hostPath: { path: folder, type: "Directory" } }
  ]
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata, data: { "consumer.mjs": await programText() } },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container], volumes } }
      }
    },
    splitConfig()
  ]
    .map((object) => JSON.stringify(object))
    .join("\n---\n")
}
