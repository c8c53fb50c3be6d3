/**
 * mirrord's own agent as an ephemeral container of its target's pod, under braid's operators and mirrord's own client:
 * in a fleet of a primary and two clusters, whose pods have network namespaces of their own.
 */

import { afterEach, expect, it } from "vitest"
import { asNumber, asObjects, asString, asStrings, at } from "../../src/domain/json.ts"
import { type RunningCommand, until } from "./harness.ts"
import { describePodNetworks } from "./namespaces/describe-pod-networks.ts"
import { machineNetwork } from "./namespaces/machine-network.ts"
import { agentRules } from "./namespaces/pod-rules.ts"
import { allGivenBack, answerOf, answers, beginSession, visit } from "./namespaces/pod-sessions.ts"
import { usePodWorld, type WebPod } from "./namespaces/pod-world.ts"
import { nothingLeft } from "./sessions.ts"

const podsRef = { group: "", version: "v1", resource: "pods" } as const
/** How long an agent waits for another client after its last one, in ms. */
const idleMs = 60_000

interface EphemeralAgent {
  readonly name: string
  readonly state: string
  readonly exitCode: number | undefined
}

const suite = (transport: string, agentTls: boolean): void =>
  describePodNetworks(
    `the real agent as an ephemeral container, ${transport}`,
    ["mirrord", "agent", "layerApp"],
    ({ agent, layerApp, mirrord }) => {
      const before = machineNetwork()
      const { pods, real, served } = usePodWorld(agent, {
        network: "real client, real agent as an ephemeral container",
        agentTls,
        ephemeralAgents: true
      })
      let app: RunningCommand | undefined
      afterEach(() => app?.stop())

      const podObject = ({ cluster, name }: WebPod) => real.cluster(cluster).cluster.store.get(podsRef, "default", name)
      /** The agents that a pod has had so far, in the order in which they were added. */
      const agentsOf = (pod: WebPod): ReadonlyArray<EphemeralAgent> =>
        asObjects(at(podObject(pod), "status", "ephemeralContainerStatuses")).map(({ name, state }) => ({
          name: asString(name) ?? "",
          state: Object.keys(state as object).join(),
          exitCode: asNumber(at(state, "terminated", "exitCode"))
        }))
      const logOf = async ({ cluster, name }: WebPod, container: string): Promise<string> => {
        const answer = real.cluster(cluster).kubelet.podLogs("default", name, container)
        return answer._tag === "Lines" ? (await Array.fromAsync(answer.lines)).join("\n") : answer.message
      }
      /** Whether a pod's agents are as expected; the log of its last agent says why they are not. */
      const expectAgents = async (pod: WebPod, expected: ReadonlyArray<object>): Promise<void> => {
        const agents = agentsOf(pod)
        const { name } = agents.at(-1) ?? { name: "" }
        expect(agents, `${pod.name}: ${name}`).toEqual(expected.map((fields) => expect.objectContaining(fields)))
      }

      /** A session that steals by header, seen from every pod. */
      const stealsByHeader = async (round: string): Promise<RunningCommand> => {
        const reads = ["--env", "CLUSTER", "--env", "MIRRORD_AGENT_IDLE_TTL", "--env", "AGENT_OPERATOR_CERT_ENV"]
        const steals = ["--read", "/mnt/pod.txt", "--steal", "80:^x-user: ann$", "--respond", "for ann"]
        app = await beginSession(real, mirrord, ["exec", "--", layerApp, ...reads, ...steals])
        const running = app
        expect(await running.waitForEvent("env", ({ name }) => name === "CLUSTER")).toMatchObject({
          value: "cluster-a"
        })
        // The agent itself answers these too; the operator takes them out.
        for (const variable of ["MIRRORD_AGENT_IDLE_TTL", "AGENT_OPERATOR_CERT_ENV"]) {
          expect(await running.waitForEvent("env", ({ name }) => name === variable)).toMatchObject({ value: null })
        }
        const { text } = await running.waitForEvent("file")
        expect(pods().map(({ name }) => `a file of ${name}\n`)).toContain(text)
        expect(await running.waitForEvent("subscribed")).toMatchObject({ mode: "steal", port: 80, ok: true })
        for (const pod of pods()) {
          const [match, other] = [`/match-${round}-${pod.name}`, `/other-${round}-${pod.name}`]
          await answers(pod, `for ann ${match}\n`, (signal) => visit(pod, match, { "x-user": "ann" }, signal))
          await running.waitForEvent("request", ({ path }) => path === match)
          expect(await visit(pod, other, { "x-user": "bob" })).toBe(answerOf(pod, other))
          const seen = await served(pod)
          expect(seen).toContain(`GET ${other}`)
          expect(seen).not.toContain(`GET ${match}`)
          expect(await agentRules(pod.pid)).not.toEqual([])
        }
        return running
      }

      it("steals by header in every pod of any cluster, from inside of the pod", async () => {
        const running = await stealsByHeader("first")
        for (const pod of pods()) {
          await expectAgents(pod, [{ name: expect.stringMatching(/^mirrord-agent-.*-1$/u), state: "running" }])
          const [container] = asObjects(at(podObject(pod), "spec", "ephemeralContainers"))
          expect(asStrings(container?.["args"]).at(-1)).toBe("ephemeral")
          expect(container?.["targetContainerName"]).toBe("web")
          const isOfTls = asObjects(container?.["env"]).some(({ name }) => name === "AGENT_OPERATOR_CERT_ENV")
          expect(isOfTls).toBe(agentTls)
        }
        running.stop()
        await allGivenBack(pods())
      })

      it("serves the next session as well, while it waits for one", async () => {
        const running = await stealsByHeader("second")
        for (const pod of pods()) await expectAgents(pod, [{ state: "running" }])
        running.stop()
        await allGivenBack(pods())
      })

      it("ends by itself after its last session, and leaves nothing but its entry in the pod", async () => {
        await nothingLeft(real)
        for (const pod of pods()) {
          await until(
            `the end of the agent of ${pod.name}`,
            () => (agentsOf(pod).every(({ state }) => state === "terminated") ? true : undefined),
            idleMs + 15_000
          )
          const [{ name } = { name: "" }] = agentsOf(pod)
          expect(agentsOf(pod), await logOf(pod, name)).toEqual([{ name, state: "terminated", exitCode: 0 }])
          expect(await agentRules(pod.pid)).toEqual([])
        }
      })

      it("is another one for a later session", async () => {
        const running = await stealsByHeader("third")
        for (const pod of pods()) {
          await expectAgents(pod, [
            { state: "terminated" },
            { name: expect.stringMatching(/^mirrord-agent-.*-2$/u), state: "running" }
          ])
        }
        running.stop()
        await allGivenBack(pods())
        await nothingLeft(real)
        expect(machineNetwork()).toEqual(before)
      })
    }
  )

suite("over TLS", true)
suite("in clear text", false)
