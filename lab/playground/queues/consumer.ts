/** The workload of a split: a Deployment whose pods read a queue of SQS, which the variable `QUEUE` names. */

import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { asObjects, asString, at } from "../../../src/domain/json.ts"
import { patchedLabel } from "../../../src/domain/queues/pod-patch.ts"
import type { ClientFailed } from "../../client/client-failed.ts"
import type { SessionClient } from "../../client/session-client.ts"
import type { ImageRegistry } from "../../cluster/node/container-program.ts"
import { processProgram } from "../../cluster/node/process-program.ts"
import { pods } from "../../cluster/store/resource-refs.ts"
import type { LocalCluster } from "../local-cluster.ts"
import { workloadNamespace as namespace } from "../manifests.ts"
import { failed } from "../story-steps.ts"
import type { NamedQueue } from "./ask-sqs.ts"

const name = "consumer"
/** The target of a session, as in connect URLs, and as in the client's configuration. */
export const consumerTarget = `deployment.${name}`
export const consumerPath = `deployment/${name}`
/** The id by which a session asks for the queue. */
export const queueId = "orders"

const program = fileURLToPath(new URL("queue-consumer.ts", import.meta.url))
/** The image of the workload. */
export const consumerImages: ImageRegistry = new Map([
  [
    name,
    processProgram({
      command: () => [process.execPath, program],
      readyWhen: (line) => line.startsWith("reads ")
    })
  ]
])

const apply = async ({ apply: applyTo }: LocalCluster, object: object): Promise<void> => applyTo(JSON.stringify(object))

/** Starts the workload in a cluster. `taken`: the file into which it writes what it reads, see {@link takenInto}. */
export const startConsumer = async (cluster: LocalCluster, queue: NamedQueue, taken: string): Promise<void> => {
  writeFileSync(taken, "")
  const variables = { QUEUE: queue.name, AWS_ENDPOINT_URL_SQS: queue.endpoint, TAKEN: taken }
  const env = Object.entries(variables).map(([variable, value]) => ({ name: variable, value }))
  const labels = { app: name }
  const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: name, env }] } }
  const spec = { replicas: 1, selector: { matchLabels: labels }, template }
  await apply(cluster, { apiVersion: "apps/v1", kind: "Deployment", metadata: { name, namespace }, spec })
}

/** Says which variable names the workload's queue. `more`: further fields; none unless given. */
export const splitConfig = (more: object = {}): object => {
  const targetRef = { apiVersion: "apps/v1", kind: "Deployment", name }
  const queues = [{ id: queueId, kind: "sqs", appConfig: { queue: [{ env: "QUEUE" }] } }]
  const kind = { apiVersion: "queues.mirrord.metalbear.co/v1", kind: "MirrordSplitConfig" }
  return { ...kind, metadata: { name, namespace }, spec: { targetRef, queues, ...more } }
}

/** Gives a cluster the configuration of {@link splitConfig}. */
export const configureSplit = (cluster: LocalCluster, more?: object): Promise<void> => apply(cluster, splitConfig(more))

/** The bodies of the messages that workloads wrote into a file. */
export const takenInto = (file: string): ReadonlyArray<string> =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .flatMap((line) => line.split(" ")[1] ?? [])

/** A pod of the workload. */
export interface ConsumerPod {
  readonly uid: string | undefined
  readonly isReady: boolean
  /** Whether an operator gave it the name of a temporary queue. */
  readonly isPatched: boolean
  /** The name of the queue that it reads. */
  readonly queue: string
}

/** The pods of the workload in a cluster, also those that are ending. */
export const consumerPods = ({ store }: LocalCluster): ReadonlyArray<ConsumerPod> =>
  store.list(pods, { namespace, labelSelector: `app=${name}` }).items.map((pod) => {
    const env = asObjects(at(asObjects(at(pod, "spec", "containers"))[0], "env"))
    return {
      uid: pod.metadata.uid,
      isReady: asObjects(at(pod, "status", "containerStatuses")).some(({ ready }) => ready === true),
      isPatched: pod.metadata.labels?.[patchedLabel] !== undefined,
      queue: asString(env.find((variable) => variable["name"] === "QUEUE")?.["value"]) ?? ""
    }
  })

/** The name of the queue that the program of a session reads, by the environment that it is given. */
export const sessionQueue = (client: SessionClient): Effect.Effect<string, ClientFailed> =>
  Effect.gen(function* () {
    const selection = { filter: new Set<string>(), select: new Set(["*"]) }
    const result = yield* client.ask({ _tag: "FetchEnv", selection }, (event) =>
      event._tag === "Env" ? event.result : undefined
    )
    const found = result._tag === "Ok" ? result.value.get("QUEUE") : undefined
    return found ?? (yield* failed("the session's environment names no queue"))
  })
