/**
 * Queues that an operator splits: two processes with the chart's rights, which share the queues, webhooks by TLS, and a
 * real server of queues. The story of the playground has one process, which forwards all messages.
 */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { boundMinutes } from "../../lab/client/bound.ts"
import { newUser, type User } from "../../lab/client/raw-session.ts"
import { openSessionClient } from "../../lab/client/session-client.ts"
import { deployments } from "../../lab/cluster/store/resource-refs.ts"
import { processesWith } from "../../lab/playground/branches/home-processes.ts"
import { freePort } from "../../lab/playground/free-ports.ts"
import type { Playground, RunningCluster } from "../../lab/playground/local-cluster.ts"
import { operatorNamespace, workloadNamespace as namespace } from "../../lab/playground/manifests.ts"
import { operatorProgram, startPlayground } from "../../lab/playground/playground.ts"
import { askSqs, putMessages, takeMessages } from "../../lab/playground/queues/ask-sqs.ts"
import {
  configureSplit,
  consumerImages,
  consumerPods,
  consumerTarget,
  sessionQueue,
  startConsumer,
  takenInto
} from "../../lab/playground/queues/consumer.ts"
import { startElasticMq } from "../../lab/playground/queues/elasticmq.ts"
import { topology } from "../../lab/playground/topology.ts"
import { asArray, asObject } from "../../src/domain/json.ts"
import { protocolVersion } from "../../src/domain/protocol/version.ts"
import { queueRecords } from "../../src/domain/queues/stored-queue.ts"
import { splitSessions } from "../../src/domain/queues/stored-session.ts"
import { splitPatches } from "../../src/domain/queues/stored-split.ts"
import { mutatingWebhookConfigurations } from "../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../src/domain/resources/mirrord-cluster-session.ts"
import { subnetOf } from "../address-plan.ts"
import { Chart } from "../charts/chart.ts"
import { describeHelm } from "../charts/describe-helm.ts"
import { giveRights, rightsOf } from "../charts/give-rights.ts"
import { describeWith } from "../support/describe-with.ts"
import { eventually } from "../support/eventually.ts"
import { quietNode } from "../support/quiet-node.ts"
import { stagedProgram } from "../support/staged-image.ts"
import { until } from "../support/until.ts"
import { apiClient } from "./api-client.ts"
import { patchObject } from "./cluster-writes.ts"
import { processOf, queueOwner } from "./replicas.ts"

const boundMs = boundMinutes * 60_000

/** The users to whom messages go in turn, by their numbers. */
const recipients = ["ann", "bob", "nobody", "cleo"] as const
const recipient = (number: number): string => recipients[number % recipients.length] ?? ""
const numbers = (from: number, count: number): ReadonlyArray<number> =>
  Array.from({ length: count }, (_, i) => from + i)
const those = (all: ReadonlyArray<number>, ...names: ReadonlyArray<string>): ReadonlyArray<number> =>
  all.filter((number) => names.includes(recipient(number)))
const sorted = (bodies: ReadonlyArray<string>): ReadonlyArray<number> => bodies.map(Number).toSorted((a, b) => a - b)

describeHelm("queues of a workload with the chart's rights", (helm) => {
  describeWith(["ElasticMQ"], "and ElasticMQ", () => {
    const scope = Scope.makeUnsafe()
    const run = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>, within = scope): Promise<A> =>
      Effect.runPromise(Scope.provide(effect, within))
    let [directory, endpoint, taken] = ["", "", ""]
    /** How many calls there were before the operators had the chart's rights, by cluster. */
    const before = new Map<string, number>()
    let playground: Playground
    /** The cluster of the workload, whose users come to itself. */
    let member: RunningCluster
    let user: User

    beforeAll(async () => {
      directory = mkdtempSync(join(tmpdir(), "braid-splits-"))
      taken = join(directory, "taken")
      endpoint = await run(startElasticMq({ port: await freePort() }))
      await askSqs(endpoint, "CreateQueue", { QueueName: "orders" })
      playground = await run(
        startPlayground({
          operator: operatorProgram(await stagedProgram(), {
            OPERATOR_OWN_CERTIFICATE: "true",
            OPERATOR_SQS_SPLITTING_SHARDING: "true"
          }),
          images: consumerImages,
          sqsEndpoint: endpoint,
          topology: topology("primary-default", subnetOf("splits of queues")),
          directory,
          sessionTtlSecs: 5,
          remoteSessionTimeoutSecs: 60,
          progress: () => Effect.void
        }).pipe(Effect.provide(quietNode))
      )
      const chart = new Chart(helm)
      const [primaryRights, memberRights] = await Promise.all(
        [{ multiCluster: { enabled: true, managementOnly: false } }, { multiClusterMember: true }].map((values) =>
          rightsOf(chart, { operator: { ...values, sqsSplitting: true, sqsSplittingSharding: true, replicas: 2 } })
        )
      )

      for (const running of playground.clusters.toReversed())
        await run(giveRights(running, (running === playground.primary ? primaryRights : memberRights) ?? []))
      for (const { cluster } of playground.clusters) before.set(cluster.name, cluster.callers().length)
      const found = playground.clusters.find(({ description }) => !description.isPrimary)
      if (found === undefined) throw new Error("the playground has no member")
      member = found
      await patchObject(member.cluster, deployments, operatorNamespace, "mirrord-operator", { spec: { replicas: 2 } })
      // The API server may not know the new operator's pod at once, and answers 503 until then.
      const own = join(directory, "ann.kubeconfig")
      user = await eventually("a certificate of the operator", () => run(newUser(member.cluster, "ann", own)))
      await startConsumer(member.cluster, { endpoint, name: "orders" }, taken)
      await configureSplit(member.cluster)
      await eventually("a consumer", () => expect(podsOf()).toMatchObject([original]))
    })
    afterAll(async () => {
      const refused = (playground?.clusters ?? []).flatMap(({ cluster }) =>
        cluster
          .callers()
          .slice(before.get(cluster.name))
          .filter(({ status, user: account }) => status === 403 && account.startsWith("system:serviceaccount:mirrord:"))
          .map(({ method, path, user: account }) => `${cluster.name}: ${account} was refused ${method} ${path}`)
      )
      await Effect.runPromise(Scope.close(scope, Exit.void))
      rmSync(directory, { recursive: true, force: true })
      expect(refused).toEqual([])
    })

    const podsOf = () => consumerPods(member.cluster)
    const original = { isReady: true, isPatched: false, queue: "orders" }

    const urlOf = async (name: string) => (await askSqs(endpoint, "GetQueueUrl", { QueueName: name }))["QueueUrl"]
    const put = (sent: ReadonlyArray<number>): Promise<void> => {
      const messages = sent.map((number) => ({ body: String(number), to: recipient(number) }))
      return putMessages({ endpoint, name: "orders" }, messages)
    }
    const byWorkload = (): ReadonlyArray<string> => takenInto(taken)

    const open = (sessionId: bigint, parameters: Readonly<Record<string, string>>, target = consumerTarget) => {
      const patience = { pingInterval: 10_000, maxSilence: boundMs, startIdleTimeout: boundMs }
      const client = { kind: "intproxy", version: protocolVersion, reconnect: false, ...patience } as const
      return openSessionClient({ ...user, namespace, target, sessionId, parameters, client })
    }
    const connected = async (id: bigint, parameters: Readonly<Record<string, string>>) => {
      const own = await run(Scope.fork(scope))
      return {
        client: await run(open(id, parameters), own),
        close: () => Effect.runPromise(Scope.close(own, Exit.void))
      }
    }
    /** A session, and a program in it that takes the messages of its queue. */
    const session = async (id: bigint, parameters: Readonly<Record<string, string>>) => {
      const { client, close } = await connected(id, parameters)
      const name = await Effect.runPromise(sessionQueue(client))
      const bodies: Array<string> = []
      const over = new AbortController()
      const program = takeMessages({ endpoint, name }, (body) => void bodies.push(body), over.signal)
      return {
        name,
        bodies,
        /** The program stops, and its user ends the session, as with `mirrord operator session kill`. */
        end: async () => {
          over.abort()
          await program
          await close()
          const path = `/apis/operator.metalbear.co/v1/sessions/${id.toString(16).toUpperCase().padStart(16, "0")}`
          expect(await apiClient(user.kubeconfigPath).call("DELETE", path)).toMatchObject({ status: 200 })
        }
      }
    }

    /** Waits until nothing is left of splits: queues, objects, pods. */
    const nothingLeft = () =>
      eventually("the end of the split", async () => {
        const { QueueUrls } = await askSqs(endpoint, "ListQueues", {})
        const kinds = [mutatingWebhookConfigurations, splitPatches, queueRecords, splitSessions, mirrordClusterSessions]
        const objects = kinds.flatMap((kind) => member.cluster.store.list({ ...kind, resource: kind.plural }).items)
        expect(asArray(QueueUrls)).toEqual([await urlOf("orders")])
        expect(objects.map(({ metadata: { name } }) => name)).toEqual([])
        expect(podsOf()).toMatchObject([original])
      })

    /** Waits until a queue has no message, also none that was received and not deleted by a process that was killed. */
    const emptied = (name: string) =>
      eventually(`an empty queue ${name}`, async () => {
        const asked = { QueueUrl: await urlOf(name), AttributeNames: ["All"] }
        const { Attributes } = await askSqs(endpoint, "GetQueueAttributes", asked)
        const { ApproximateNumberOfMessages: visible, ApproximateNumberOfMessagesNotVisible: hidden } =
          asObject(Attributes)
        expect([visible, hidden]).toEqual(["0", "0"])
      })

    /** Waits until the workload's one pod reads its main queue; an older one may still read the original until then. */
    const patchedPod = () =>
      eventually("one pod with the name of the main queue", () => {
        const [pod, ...others] = podsOf()
        expect(others).toEqual([])
        expect(pod?.isPatched).toBe(true)
        expect(pod?.queue).toMatch(/^mirrord-tmp-.*-main-orders$/u)
        return pod?.uid
      })
    const toAnn = { sqs_splits: JSON.stringify({ orders: { to: "^ann$" } }) }

    it.each([
      ["without a configuration", toAnn, "deployment.myapp", "404.*there is .*consumer .Deployment consumer"],
      ["of an unknown id", { sqs_splits: '{"none":{"to":"a"}}' }, undefined, "400.*none.*orders"],
      ["with a bad pattern", { sqs_splits: '{"orders":{"to":"("}}' }, undefined, "400.*orders"],
      ["with a bad program", { sqs_jq_filters: '{"orders":"}"}' }, undefined, "400.*orders.*jq filter"],
      ["of another broker", { kafka_splits: '{"orders":{"to":"a"}}' }, undefined, "400.*queue splitting for Kafka"]
    ])("are refused %s, before there is a session", async (_how, parameters, target, why) => {
      const refused = await run(Effect.flip(Effect.scoped(open(3n, parameters, target))))
      expect(refused.message.replaceAll(String.raw`\"`, '"')).toMatch(new RegExp(why, "u"))
      await nothingLeft()
    })

    it("give each session its messages, and the workload all others, also after the operator was killed", async () => {
      const ann = await session(1n, toAnn)
      expect(ann.name).toMatch(/^mirrord-tmp-[^-]+-orders$/u)
      const pod = await patchedPod()
      const first = numbers(0, 200)
      await put(first)
      const takenFirst = () => [sorted(ann.bodies), sorted(byWorkload())]
      const wantedFirst = [those(first, "ann"), those(first, "bob", "nobody", "cleo")]
      await eventually("each message is taken", () => expect(takenFirst()).toEqual(wantedFirst))

      const filter = '.MessageAttributes.to.StringValue == "bob"'
      const modes = JSON.stringify({ orders: "steal" })
      const bob = await session(2n, { sqs_jq_filters: JSON.stringify({ orders: filter }), queue_modes: modes })
      expect(await patchedPod()).toBe(pod)
      const second = numbers(200, 100)
      await put(second)
      const byOthers = [...those(first, "bob"), ...those([...first, ...second], "nobody", "cleo")]
      const taken = () => [ann.bodies, bob.bodies, byWorkload()].map(sorted)
      const wanted = [those([...first, ...second], "ann"), those(second, "bob"), sorted(byOthers.map(String))]
      await eventually("each message is taken", () => expect(taken()).toEqual(wanted))

      const third = numbers(1000, 300)
      const putting = put(third)
      await until("some messages", () => (ann.bodies.length > 85 ? true : undefined))
      const replica = await until("the owner of the queue", () => queueOwner(member.cluster))
      const { uid } = replica
      const killed = processOf(replica)
      process.kill(killed, "SIGKILL")
      await putting
      await until("the next process", () => processesWith("OPERATOR_POD_UID", uid).find((pid) => pid !== killed))
      const again = await eventually("the client's return", () => connected(1n, toAnn))
      // The end of a process between sending and deleting brings messages twice, as SQS itself may do.
      const takenOnce = () => taken().map((numbers) => [...new Set(numbers)])
      const after = [those(third, "ann"), those(third, "bob"), those(third, "nobody", "cleo")]
      const wantedAfter = wanted.map((numbers, reader) => [...numbers, ...(after[reader] ?? [])])
      await eventually("each message is taken", () => expect(takenOnce()).toEqual(wantedAfter))
      // While the sessions read: what they have had and is in a queue again would come to the workload at their end.
      for (const queue of ["orders", ann.name, bob.name]) await emptied(queue)

      await again.close()
      await Promise.all([ann.end(), bob.end()])
      const fourth = numbers(2000, 40)
      await put(fourth)
      await nothingLeft()
      await put(numbers(2040, 10))
      const [annAll = [], bobAll = [], othersAll = []] = wantedAfter
      const inTheEnd = [annAll, bobAll, [...othersAll, ...fourth, ...numbers(2040, 10)]]
      await eventually("each message is taken", () => expect(takenOnce()).toEqual(inTheEnd))
    })
  })
})
