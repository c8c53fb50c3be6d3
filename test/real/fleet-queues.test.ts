import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { freePort } from "../../lab/playground/free-ports.ts"
import { askSqs, putMessages, takeMessages } from "../../lab/playground/queues/ask-sqs.ts"
import {
  configureSplit,
  consumerImages,
  consumerPath,
  consumerPods,
  queueId,
  startConsumer,
  takenInto
} from "../../lab/playground/queues/consumer.ts"
import { startElasticMq } from "../../lab/playground/queues/elasticmq.ts"
import { subnetOf } from "../address-plan.ts"
import { eventually } from "../support/eventually.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, runClient, type RunningCommand, usePlayground } from "./harness.ts"
import { uiPage, uiSessions } from "./ui-page.ts"

const both = ["cluster-a", "cluster-b"] as const
type Cluster = (typeof both)[number]
const queueOf = (cluster: Cluster): string => `orders-${cluster}`

describeReal(
  "the real client, queues of many clusters",
  ["mirrord", "layerApp"],
  ({ layerApp, mirrord }) => {
    let endpoint = ""
    const queues = Effect.flatMap(Effect.promise(freePort), (port) => startElasticMq({ port }))
    const real = usePlayground({
      topology: "primary-default",
      agentIdleTtlSecs: 10,
      images: consumerImages,
      queues: Effect.tap(queues, (url) => Effect.sync(() => void (endpoint = url))),
      subnet: subnetOf("real client, queues over many clusters")
    })
    let home = ""
    const commands: Array<RunningCommand> = []
    const run = (...args: ReadonlyArray<string>): RunningCommand => {
      const command = runClient({ file: mirrord, args, home, kubeconfig: real.kubeconfig() })
      commands.push(command)
      return command
    }
    const said = async (...args: ReadonlyArray<string>): Promise<string> => {
      const command = run(...args)
      expect(await command.ended(), command.stderr()).toBe(0)
      return command.stdout()
    }
    const takenIn = (cluster: Cluster): string => join(home, cluster)
    const podsAre = (pod: object, ...clusters: ReadonlyArray<Cluster>): Promise<void> =>
      eventually(`consumers ${JSON.stringify(pod)}`, () => {
        for (const cluster of clusters) expect(consumerPods(real.cluster(cluster).cluster)).toMatchObject([pod])
      })
    /** Puts messages for the user and for others into the queue of each cluster. */
    const put = async (which: string): Promise<void> => {
      for (const cluster of both) {
        const messages = ["ann", "bob"].map((to) => ({ body: `${which}/${cluster}/${to}`, to }))
        await putMessages({ endpoint, name: queueOf(cluster) }, messages)
      }
    }

    beforeAll(async () => {
      home = real.home("queues")
      await fleetIs(real.playground())
      for (const cluster of both) {
        await askSqs(endpoint, "CreateQueue", { QueueName: queueOf(cluster) })
        await startConsumer(real.cluster(cluster).cluster, { endpoint, name: queueOf(cluster) }, takenIn(cluster))
      }
      // The primary gives it to the member.
      await configureSplit(real.playground().primary.cluster, { drainTimeout: 1 })
      await podsAre({ isReady: true }, ...both)
    })
    afterAll(() => {
      for (const command of commands) command.stop()
    })

    it("are split for one program, which gets its messages of all of them, until it ends", async () => {
      const config = join(home, "mirrord.json")
      const split = { [queueId]: { queue_type: "SQS", message_filter: { to: "^ann$" } } }
      writeFileSync(config, JSON.stringify({ feature: { split_queues: split } }))
      const program = [layerApp, "--env", "QUEUE", "--steal", "80"]
      const command = run("exec", "--target", consumerPath, "-f", config, "--", ...program)
      const { value: name } = await command.waitForEvent("env")
      expect(name).toMatch(/^mirrord-tmp-[^-]+-orders-cluster-a$/u)
      await podsAre({ isReady: true, isPatched: true }, ...both)
      const bodies: Array<string> = []
      const over = new AbortController()
      const taking = takeMessages({ endpoint, name: String(name) }, (body) => void bodies.push(body), over.signal)
      await put("split")
      const takenNow = () => [bodies.toSorted(), ...both.map((cluster) => takenInto(takenIn(cluster)).toSorted())]
      const byProgram = both.map((cluster) => `split/${cluster}/ann`)
      const byPods = both.map((cluster) => [`split/${cluster}/bob`])
      await eventually("each message is taken", () => expect(takenNow()).toEqual([byProgram, ...byPods]))

      const listed = await said("queues", "status", "-A")
      expect(listed).toMatch(/\| [\da-f]{16}\.consumer\.deployment +\|.*\| Deployment\/consumer \| Ready \|/u)
      expect(listed).toMatch(/\| [\da-f]{16}\.consumer\.deployment\.cluster-b +\|.*\| Ready \|/u)
      const shown = await said("operator", "status")
      for (const cluster of both)
        expect(shown).toMatch(
          new RegExp(`\\| orders +\\|.*\\| ${queueOf(cluster)} +\\| \\S*${String(name)} +\\| to:\\^ann\\$ +\\|`, "u")
        )
      const page = uiPage(await said("ui", "--no-browser", "--port", String(await freePort()), "start"))
      await eventually("the session and its split in the page of `mirrord ui`", async () =>
        expect(await uiSessions(page)).toMatchObject({ sessions: [{ queueSplits: { sqs: 1, rabbitmq: 0, kafka: 0 } }] })
      )
      await said("ui", "stop")

      over.abort()
      await taking
      command.stop("SIGTERM")
      await command.ended()
      // The default cluster's pods have their main queue as long as another cluster may send to the session's.
      await podsAre({ isReady: true, isPatched: false }, "cluster-b")
      await put("later")
      const all = both.map((cluster) => [`later/${cluster}/ann`, `later/${cluster}/bob`, `split/${cluster}/bob`])
      await eventually("each message is taken", () => expect(takenNow()).toEqual([byProgram, ...all]))
    })
  },
  { also: ["ElasticMQ"] }
)
