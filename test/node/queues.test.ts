import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, expect, it } from "vitest"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { freePort } from "../../lab/playground/free-ports.ts"
import { installChart } from "../../lab/playground/kubernetes/helm-release.ts"
import { workloadNamespace as namespace } from "../../lab/playground/manifests.ts"
import { startNodeCluster } from "../../lab/playground/node/node-cluster.ts"
import { askSqs, takeMessages } from "../../lab/playground/queues/ask-sqs.ts"
import { startElasticMq } from "../../lab/playground/queues/elasticmq.ts"
import { asArray, asObjects, at } from "../../src/domain/json.ts"
import { describeReal, runClient, type RunningCommand } from "../real/harness.ts"
import { eventually } from "../support/eventually.ts"
import { kubectl, useNodes } from "./nodes.ts"
import { consumerManifests } from "./queue-consumer.ts"

const identity = { AWS_REGION: "eu-central-1", AWS_ACCESS_KEY_ID: "AKIAEXAMPLE", AWS_SECRET_ACCESS_KEY: "secret" }

describeReal(
  "a queue that mirrord's own client splits on a real node",
  ["mirrord", "layerApp"],
  ({ layerApp, mirrord }) => {
    const nodes = useNodes(({ directory, ...parts }) =>
      Effect.gen(function* () {
        const cluster = yield* startNodeCluster({ ...parts, directory, name: "own", number: 1 })
        const { address: host, forward, inNetwork } = cluster.world
        const port = yield* Effect.promise(freePort)
        const endpoint = yield* startElasticMq({ port, host, inNetwork })
        const own = yield* Effect.promise(() => forward({ host, port }))
        const taken = join(directory, "taken")
        mkdirSync(taken)
        writeFileSync(join(taken, "taken"), "")
        // Containers have users of their own.
        for (const path of [taken, join(taken, "taken")]) chmodSync(path, 0o777)
        const extraEnv = { AWS_ENDPOINT_URL_SQS: endpoint, ...identity }
        const values = { operator: { sqsSplitting: true, extraEnv } }
        yield* installChart(parts.programs, cluster, values, { flags: ["--wait"] })
        return { cluster, endpoint, ownEndpoint: `http://127.0.0.1:${own}`, taken }
      })
    )
    const cluster = () => nodes.started().cluster
    const endpoint = (): string => nodes.started().ownEndpoint
    const urlOf = async (name: string) => (await askSqs(endpoint(), "GetQueueUrl", { QueueName: name }))["QueueUrl"]
    const readyQueues = (): ReadonlyArray<unknown> =>
      cluster()
        .store.list(pods, { namespace, labelSelector: "app=consumer" })
        .items.flatMap((pod) => {
          const [container] = asObjects(at(pod, "spec", "containers"))
          const [status] = asObjects(at(pod, "status", "containerStatuses"))
          const named = asObjects(container?.["env"]).find(({ name }) => name === "QUEUE")?.["value"]
          return status?.["ready"] === true && pod.metadata.deletionTimestamp === undefined ? [named] : ["not ready"]
        })
    const byWorkload = (): ReadonlyArray<string> =>
      readFileSync(join(nodes.started().taken, "taken"), "utf8")
        .trim()
        .split("\n")
        .flatMap((line) => line.split(" ")[1] ?? [])
        .toSorted()
    const put = async (to: string, count: number): Promise<ReadonlyArray<string>> => {
      const bodies = Array.from({ length: count }, (_, i) => `${to}-${i}`).toSorted()
      const QueueUrl = await urlOf("orders")
      const MessageAttributes = { to: { DataType: "String", StringValue: to } }
      for (const MessageBody of bodies)
        await askSqs(endpoint(), "SendMessage", { QueueUrl, MessageBody, MessageAttributes })
      return bodies
    }
    let session: RunningCommand | undefined
    afterAll(() => session?.stop())

    it("gives the session what its filter lets through and the pods the rest, and pods their queue back", async () => {
      await kubectl(
        cluster(),
        "wait",
        "--for=condition=Available",
        "apiservice/v1.operator.metalbear.co",
        "--timeout=300s"
      )
      await askSqs(endpoint(), "CreateQueue", { QueueName: "orders" })
      const { endpoint: forPods, taken: folder } = nodes.started()
      await cluster().plane.apply(await consumerManifests({ endpoint: forPods, folder }))
      await kubectl(cluster(), "rollout", "status", "deployment/consumer", "--timeout=300s")

      const home = nodes.home("exec")
      const config = join(home, "mirrord.json")
      const split = { queue_type: "SQS", message_filter: { to: "^ann$" } }
      writeFileSync(config, JSON.stringify({ feature: { split_queues: { orders: split } } }))
      const args = [
        "exec",
        "--target",
        "deployment/consumer",
        "-f",
        config,
        "--",
        layerApp,
        "--env",
        "QUEUE",
        "--steal",
        "80"
      ]
      session = runClient({ file: mirrord, args, home, kubeconfig: cluster().kubeconfigPath })
      const { value } = await session.waitForEvent("env")
      expect(value).toMatch(/^mirrord-tmp-[^-]+-orders$/u)
      const main = expect.stringMatching(/^mirrord-tmp-.*-main-orders$/u)
      expect(readyQueues()).toEqual([main, main])

      const bodies: Array<string> = []
      const over = new AbortController()
      const program = takeMessages(
        { endpoint: endpoint(), name: String(value) },
        (body) => void bodies.push(body),
        over.signal
      )
      const [forAnn, forOthers] = [await put("ann", 20), await put("bob", 30)]
      await eventually("each message is taken", () => {
        expect(byWorkload()).toEqual(forOthers)
        expect(bodies.toSorted()).toEqual(forAnn)
      })

      over.abort()
      await program
      session.stop("SIGTERM")
      await session.ended()
      await eventually("pods that read the original", () => expect(readyQueues()).toEqual(["orders", "orders"]))
      const later = await put("cleo", 10)
      await eventually("each message is taken", () => expect(byWorkload()).toEqual([...forOthers, ...later].toSorted()))
      await eventually("the end of all temporary queues", async () =>
        expect(asArray((await askSqs(endpoint(), "ListQueues", {}))["QueueUrls"])).toEqual([await urlOf("orders")])
      )
      expect(await kubectl(cluster(), "get", "mutatingwebhookconfigurations", "--output=name")).toBe("")
    })
  },
  { also: ["mirrord-agent", "node", "control plane", "ElasticMQ"] }
)
