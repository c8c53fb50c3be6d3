import { chmodSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, expect, it } from "vitest"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { freePort } from "../../lab/playground/free-ports.ts"
import { installChart } from "../../lab/playground/kubernetes/helm-release.ts"
import { sqsVariables, workloadNamespace as namespace } from "../../lab/playground/manifests.ts"
import { startNodeCluster } from "../../lab/playground/node/node-cluster.ts"
import { askSqs, takeMessages } from "../../lab/playground/queues/ask-sqs.ts"
import { takenInto } from "../../lab/playground/queues/consumer.ts"
import { startElasticMq } from "../../lab/playground/queues/elasticmq.ts"
import { asArray, asObjects, at } from "../../src/domain/json.ts"
import { describeReal, runClient, type RunningCommand } from "../real/harness.ts"
import { eventually } from "../support/eventually.ts"
import { kubectl, useNodes } from "./nodes.ts"
import { consumerManifests } from "./queue-consumer.ts"

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
        const values = { operator: { sqsSplitting: true, extraEnv: sqsVariables(endpoint) } }
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
    const byWorkload = (): ReadonlyArray<string> => takenInto(join(nodes.started().taken, "taken")).toSorted()
    const put = async (to: string, count: number): Promise<ReadonlyArray<string>> => {
      const bodies = Array.from({ length: count }, (_, i) => `${to}-${i}`).toSorted()
      const QueueUrl = await urlOf("orders")
      const MessageAttributes = { to: { DataType: "String", StringValue: to } }
      for (const MessageBody of bodies)
        await askSqs(endpoint(), "SendMessage", { QueueUrl, MessageBody, MessageAttributes })
      return bodies
    }
    const running: Array<RunningCommand> = []
    afterAll(() => {
      for (const command of running) command.stop()
    })
    const run = (home: string, ...args: ReadonlyArray<string>): RunningCommand => {
      const { kubeconfigPath: kubeconfig } = cluster()
      const command = runClient({ file: mirrord, args, home: nodes.home(home), kubeconfig, progress: "json" })
      running.push(command)
      return command
    }
    const said = async (...args: ReadonlyArray<string>): Promise<string> => {
      const command = run("looks", ...args)
      expect(await command.ended(), command.stderr()).toBe(0)
      return command.stdout()
    }

    /** A session of the real client whose program takes the messages of the queue that its variables name. */
    const session = async (split: object) => {
      const config = join(nodes.home("settings"), "mirrord.json")
      writeFileSync(config, JSON.stringify({ feature: { split_queues: { orders: { queue_type: "SQS", ...split } } } }))
      const program = [layerApp, "--env", "QUEUE", "--steal", "80"]
      const command = run("exec", "exec", "--target", "deployment/consumer", "-f", config, "--", ...program)
      const { value } = await command.waitForEvent("env")
      expect(value).toMatch(/^mirrord-tmp-[^-]+-orders$/u)
      const bodies: Array<string> = []
      const over = new AbortController()
      const queue = { endpoint: endpoint(), name: String(value) }
      const taking = takeMessages(queue, (body) => void bodies.push(body), over.signal)
      return {
        bodies: () => bodies.toSorted(),
        end: async () => {
          over.abort()
          await taking
          command.stop("SIGTERM")
          await command.ended()
        }
      }
    }

    it("gives sessions what their filters let through and the pods the rest, and pods their queue back", async () => {
      const available = ["--for=condition=Available", "apiservice/v1.operator.metalbear.co"]
      await kubectl(cluster(), "wait", ...available, "--timeout=300s")
      await askSqs(endpoint(), "CreateQueue", { QueueName: "orders" })
      const { endpoint: forPods, taken: folder } = nodes.started()
      await cluster().plane.apply(await consumerManifests({ endpoint: forPods, folder }))
      await kubectl(cluster(), "rollout", "status", "deployment/consumer", "--timeout=300s")

      const ann = await session({ message_filter: { to: "^ann$" } })
      const main = expect.stringMatching(/^mirrord-tmp-.*-main-orders$/u)
      await eventually("pods that read the main queue", () => expect(readyQueues()).toEqual([main, main]))
      const bob = await session({ jq_filter: '.MessageAttributes.to.StringValue == "bob"' })
      const [forAnn, forBob, forOthers] = [await put("ann", 20), await put("bob", 20), await put("cleo", 30)]
      await eventually("each message is taken", () =>
        expect([ann.bodies(), bob.bodies(), byWorkload()]).toEqual([forAnn, forBob, forOthers])
      )

      const listed = await said("queues", "status")
      expect(listed.match(/\| [\da-f]{16}\.consumer\.deployment .*\| Deployment\/consumer \| Ready \|/gu)).toHaveLength(
        2
      )
      const undated = (table: string) => table.replaceAll(/ \d+\w+ +\|$/gmu, "")
      expect(undated(await said("queues", "status", "-A"))).toContain(undated(listed.slice(listed.indexOf("| NAME"))))
      const [name = ""] = /[\da-f]{16}\.consumer\.deployment/u.exec(listed) ?? []
      expect(await said("queues", "status", name)).toContain("queue=orders")
      const shown = await said("operator", "status")
      expect(shown).toMatch(/\| orders +\| mirrord-tmp-[^-]+-orders \| to:\^ann\$ +\|/u)
      expect(shown).toMatch(/\| orders +\| mirrord-tmp-[^-]+-orders \| jq:\.Message.* == "bob" \|/u)
      await expect(kubectl(cluster(), "get", "queuesplits", "--as=eve")).rejects.toThrow(/Forbidden/u)

      await Promise.all([ann.end(), bob.end()])
      await eventually("pods that read the original", () => expect(readyQueues()).toEqual(["orders", "orders"]))
      const later = [...forOthers, ...(await put("dan", 10))].toSorted()
      await eventually("each message is taken", () => expect(byWorkload()).toEqual(later))
      await eventually("the end of all temporary queues", async () =>
        expect(asArray((await askSqs(endpoint(), "ListQueues", {}))["QueueUrls"])).toEqual([await urlOf("orders")])
      )
      expect(await kubectl(cluster(), "get", "mutatingwebhookconfigurations", "--output=name")).toBe("")
    })
  },
  { also: ["mirrord-agent", "node", "control plane", "ElasticMQ"] }
)
